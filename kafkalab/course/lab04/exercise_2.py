"""L4.E2: a reader that stops at the end of a log; run over logs that end in every way, and audited."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from kafkalab.course.lab05.logs import (
    ABORT,
    COMMIT,
    PARTITION,
    RECORD,
    Row,
    aborted_of,
    deliver_values,
    rows,
    stable_offset,
)
from kafkalab.course.lab05.picture import STEP_MS, scenario
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.faults.storage import DeleteSegment, Roll
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongType, describe
from kafkalab.grading.schedules import AuditFinding, over_scenarios
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.steps import Step, later, sleep
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

FORM = "an async function drained(app, partition) that returns a list of values"
TOOL, TILL = "tool", "busy till"
PATIENCE_MS, PAUSE_MS = 20_000, 2_500
BUSY_MS, EVERY_MS = 3_000, 50
"""For how long somebody goes on writing, and how often."""
ENDS = ("COMMIT", "ABORT", "empty transaction", "plain", "open", "nothing", "start", "slow", "busy")
"""The last entry of the log, or what else is special about it."""
LOGS = 4 * len(ENDS)
Drained = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Night:
    """A log, how it ends, when the tool begins to read it, and what happens meanwhile."""

    log: list[Row]
    end: str
    begin_ms: int
    faults: tuple[Fault, ...]


def _end_log(log: list[Row], end: str) -> list[Row]:
    """The log with its last row as `end` says."""
    offset = len(log)
    if end in (COMMIT, ABORT, "open"):
        more = [{"offset": offset, "producer": 5, "kind": RECORD, "value": f"v{offset}"}]
        if end != "open":
            more.append({"offset": offset + 1, "producer": 5, "kind": end, "value": ""})
        return [*log, *more]
    if end == "empty transaction":
        return [*log, {"offset": offset, "producer": 5, "kind": ABORT, "value": ""}]
    return [*log, {"offset": offset, "producer": None, "kind": RECORD, "value": f"v{offset}"}]


@cache
def nights(of_seed: int) -> tuple[Night, ...]:
    """Logs of two to nine rows that end in each way, four of each."""
    random, found = random_for("L4.E2", of_seed), []
    for number in range(LOGS):
        end = ENDS[number % len(ENDS)]
        log = [] if end == "nothing" else _end_log(rows(random, random.randint(1, 7), all_end=True), end)
        begin_ms = (len(log) + 5) * STEP_MS
        patience_ms = BUSY_MS if end == "busy" else PATIENCE_MS
        faults: tuple[Fault, ...] = (Crash(TOOL, at_ms=begin_ms + patience_ms),)
        if end == "slow":
            pause_ms = begin_ms + 5 + 2 * (number // len(ENDS))  # from its second request on
            faults += (Pause("b1", at_ms=pause_ms), Resume("b1", at_ms=pause_ms + PAUSE_MS))
        if end == "start":
            cut_ms = STEP_MS * random.randint(1, len(log)) + STEP_MS // 2
            faults += (Roll(PARTITION, at_ms=cut_ms), DeleteSegment(PARTITION, at_ms=begin_ms - STEP_MS))
        found.append(Night(log, end, begin_ms, faults))
    return tuple(found)


def readable(night: Night) -> list[str]:
    """Return what a read_committed consumer can read when the tool begins, of a log with its first segment."""
    upper = stable_offset(night.log, len(night.log))
    return deliver_values(night.log[:upper], aborted_of(night.log, 0, upper))


def run_of(night: Night, answer: Drained) -> Scenario:
    """The run: the log is written by hand, then the tool begins; a busy till goes on writing if there is one."""

    async def start_late(app: App) -> Any:
        await app.sleep(night.begin_ms)
        return await answer(app, PARTITION)

    by_hand = scenario(night.log)
    programs = [*by_hand.programs, Program(TOOL, start_late)]
    if night.end == "busy":
        programs.append(Program(TILL, "raw_requests", {"steps": list(_late(night.begin_ms))}))
    title = f"The log of the case: {night.end}"
    return replace(by_hand, title=title, programs=tuple(programs), faults=(*by_hand.faults, *night.faults))


def _late(begin_ms: int) -> Iterator[Step]:
    """One record after the other, without waiting for an answer, until the tool's time is over."""
    yield {"at": begin_ms - EVERY_MS}
    for number in range(BUSY_MS // EVERY_MS + 1):
        batch = {PARTITION: {"values": [f"late-{number}"]}}
        given = {"transactional_id": None, "acks": 1, "timeout_ms": STEP_MS, "batches": batch}
        ask: Step = {"ask": "Produce", "to": f"leader of {PARTITION}", "version": 3, "with": given}
        yield later(ask, f"late{number}")
        yield sleep(EVERY_MS)


def audit(night: Night, cluster: Cluster) -> AuditFinding | None:
    """The tool has ended in time, with what could be read when it began, in order, and nothing else."""
    given, wanted = cluster.results.get(TOOL), readable(night)
    if any(e.kind == "crash" and e.node == TOOL for e in cluster.trace.events) and not isinstance(given, list):
        miss = "the end moves" if night.end == "busy" else "waits for a record"
        where = "Somebody goes on writing" if night.end == "busy" else f"The log ends like this: {_last(night)}"
        seconds = (BUSY_MS if night.end == "busy" else PATIENCE_MS) // 1000
        return AuditFinding(says=f"{where}. Your function has not ended after {seconds} seconds.", miss=miss)
    if isinstance(given, Exception):
        return AuditFinding(says=f"Your function stops with {type(given).__name__}: {given}.", miss="stops")
    if not isinstance(given, list) or any(not isinstance(value, str) for value in given):
        return AuditFinding(says=f"Your function returns {describe(given)}, not a list of values.", miss="form")
    start = cluster.log_of(PARTITION).log_start_offset
    wanted = [value for value in wanted if int(value[1:]) >= start]
    later = [value for value in given if value.startswith("late-")]
    if given[: len(wanted)] == wanted and given[len(wanted) :] == later:
        return None
    foreign = [value for value in given if value not in wanted and value not in later]
    if foreign:
        return AuditFinding(says=f"It returns {foreign[0]!r}, which is not committed.", miss="not committed")
    if sorted(set(given)) != sorted(given):
        return AuditFinding(says="It returns a value twice.", miss="twice")
    missing = next(value for value in wanted if value not in given)
    miss = "an empty poll" if night.end == "slow" else "too early"
    slow = " The leader was slow to answer here." if night.end == "slow" else ""
    return AuditFinding(says=f"It does not return {missing!r}, which could be read when it began.{slow}", miss=miss)


def _last(night: Night) -> str:
    if not night.log:
        return "it is empty"
    what = {"start": "its beginning was deleted"}.get(night.end, night.end)
    return f"offset {night.log[-1]['offset']}, {what}"


def check(answer: object) -> str:
    """ "36 of 36 schedules" if the function ends in each run with what could be read."""
    if answer is ... or answer is None:
        raise BlankAnswer(f"The function is still blank. Give {FORM}.")
    if not inspect.iscoroutinefunction(answer):
        raise WrongType(f"Give {FORM}: a function defined with `async def`, not {describe(answer)}.")
    every = nights(seed())
    first = Cluster(run_of(every[0], answer))
    with suppress(Exception):  # it is run again below, where its errors are told
        first.run()
    asked = any(f.sender == TOOL for f in first.trace.frames.values())
    if not asked and first.results.get(TOOL) in (None, ...):
        raise BlankAnswer(f"The function is still blank: it asks no broker. Give {FORM}.")
    current: list[Night] = []

    def runs() -> Iterator[Scenario]:
        for night in every:
            current[:] = [night]
            yield run_of(night, answer)

    return over_scenarios(runs(), (lambda cluster: audit(current[0], cluster),), len(every))


EXERCISE = Exercise(
    "L4.E2",
    check,
    (
        "Find out first where the end is, and remember it: `await consumer.end_offset(partition)`.",
        "The position tells you whether you have reached the end: `await consumer.position(partition)`. It moves past "
        "markers and aborted records.",
        "A consumer with isolation_level=\"read_committed\" and auto_offset_reset=\"earliest\"; assign; the end, once; "
        "then `while` the position is lower than the end: poll, and keep the values.",
    ),
    points=9,
    misses={
        "waits for a record": 1,
        "the end moves": 0,
        "too early": 1,
        "an empty poll": "A poll also returns nothing if no answer came in time. What tells you that this is the end?",
        "not committed": "Which isolation level does your consumer have? Java's default is read_uncommitted.",
        "twice": "Do you go back to a place where you have been? Let poll() move the position by itself.",
        "stops": "Look at the error's name. Is the log empty, or does it begin after offset 0?",
        "form": "Return the values of the records, record.value, in a list.",
        "does not end": 1,
    },
    questions=(3,),
    afterwards=(
        "Why: the end and the position are both places in the log, so you can compare them. You asked for the end "
        "once, so later records do not move it. Java's endOffsets() and position() do the same. Next: how many records "
        "are there?"
    ),
)
