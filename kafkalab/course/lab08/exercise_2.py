"""L8.E2: be the next coordinator; the learner's function beside the markers that it sent in runs, and mutants of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

from kafkalab.faults.frame import Delay
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.failover import ACCOUNTS, PAYMENTS
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Event

FORM = 'a function to_send(entries) that returns a sorted list of (producer id, partition, "COMMIT" or "ABORT")'
COORDINATOR = "b3"
LOG = f"{TRANSACTION_TOPIC}-{partition_for(PAYMENTS)}"
NAMES = ("till-37", "till-82", "till-116", "till-161")
"""Names that live in the same partition of the coordinator's log; a test compares."""
PARTITIONS = 3
RUNS = 24
Entry = dict[str, Any]
Marker = tuple[int, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """Hold the entries that the next coordinator read, the markers that it sent at once, and the run."""

    entries: list[Entry]
    sent: list[Marker]
    scenario: Scenario
    loaded_step: int


def scenario(random: Random) -> Scenario:
    """Some tills, each with a transaction or two; markers are slow, and the coordinator crashes among them."""
    programs = tuple(
        Program(f"app-{n}", "operations", {"transactional_id": name, "steps": _calls(random)})
        for n, name in enumerate(random.sample(NAMES, random.randint(1, 3)), 1)
    )
    slow = random.sample(range(1, 7), random.randint(2, 4))
    return Scenario(
        title="A coordinator dies among its markers",
        seed=random.randint(1, 10_000),
        topics={ACCOUNTS: PARTITIONS},
        programs=programs,
        faults=(*(Delay(f"WriteTxnMarkers#{n}", 8_000) for n in slow), Crash(COORDINATOR, at_ms=_crash_ms(random))),
    )


def _crash_ms(random: Random) -> int:
    return random.randint(250, 1_300)


def _calls(random: Random) -> list[list[Any]]:
    calls: list[list[Any]] = [["init_transactions"]]
    for _ in range(2):
        calls += [["begin_transaction"]]
        places = sorted(random.sample(range(PARTITIONS), random.randint(1, 2)))
        calls += [["send", ACCOUNTS, "x", None, place] for place in places]
        calls += [["flush"], ["sleep", random.randint(20, 500)]]
        calls += [["commit_transaction" if random.random() < 0.6 else "abort_transaction"]]
    return calls


def _watch(of: Scenario) -> Failover | None:
    """Run it; None if the coordinator died before it had written anything, or the run has no failover."""
    cluster = ran(of)
    loads = [e for e in cluster.trace.events if _is_load(e)]
    if not loads:
        return None
    loaded = loads[0]
    appends = [e for e in cluster.trace.of("append", LOG) if e.node == loaded.node and e.step < loaded.step]
    entries = [_entry(record) for e in appends for record in e.data.records if record.value is not None]
    frames = [f for f in cluster.trace.frames.values() if f.name == "WriteTxnMarkers" and f.sender == loaded.node]
    sent = sorted(
        (marker.producer_id, partition, "COMMIT" if marker.committed else "ABORT")
        for frame in frames
        if frame.sent_ms == loaded.at_ms
        for marker in frame.body.markers
        for partition in marker.partitions
    )
    return Failover(entries=entries, sent=sent, scenario=of, loaded_step=loaded.step) if entries else None


def _is_load(event: Event) -> bool:
    what = (event.kind, event.name) == ("state", "coordinator loaded")
    return what and event.at_ms > 1_000 and event.data["partition"] == LOG


def _entry(record: Any) -> Entry:
    value = record.value
    return {
        "transactional_id": record.key,
        "state": value.state.label,
        "producer_id": value.producer_id,
        "partitions": list(value.partitions),
    }


@cache
def failovers(of_seed: int) -> tuple[Failover, ...]:
    """Failovers of this seed; in some nothing is decided, in most something is."""
    random = random_for("L8.E2", of_seed)
    found: list[Failover] = []
    while len(found) < RUNS:
        seen = _watch(scenario(random))
        if seen is not None and (seen.sent or random.random() < 0.3):
            found.append(seen)
    return tuple(found)


def markers(
    entries: list[Entry],
    *,
    newest: bool = True,
    aborts: bool = True,
    open_too: bool = False,
    one_only: bool = False,
) -> list[Marker]:
    """Return the markers of what is decided and not complete, with some of the rules switched."""
    last = list({entry["transactional_id"]: entry for entry in entries}.values()) if newest else entries
    found: set[Marker] = set()
    for entry in last:
        commits, stops = entry["state"] == "PrepareCommit", entry["state"] == "PrepareAbort"
        if open_too and entry["state"] == "Ongoing":
            stops = True
        if commits or (stops and aborts):
            chosen = entry["partitions"][-1:] if one_only else entry["partitions"]
            found |= {(entry["producer_id"], partition, "COMMIT" if commits else "ABORT") for partition in chosen}
    return sorted(found)


MUTANTS = (
    Mutant(
        "every entry", "each entry of the log were the state now, and not only the newest of its name",
        partial(markers, newest=False),
        hint="The log is a history. Which of a name's entries is its state now?",
    ),
    Mutant(
        "only commits", "a decided abort needed no markers", partial(markers, aborts=False),
        hint="Readers wait at an aborted record, too, until something says that it is aborted.",
    ),
    Mutant(
        "what is open is aborted", "the new coordinator aborted what is Ongoing", partial(markers, open_too=True),
        hint="The application is alive, and may still commit. Who decides about an Ongoing transaction?",
    ),
    Mutant(
        "one is enough", "it knew which markers are missing", partial(markers, one_only=True), hint=1,
    ),
)  # fmt: skip


def cases(of_seed: int) -> tuple[Case, ...]:
    """The entries as the argument of the learner's function."""
    return tuple((one.entries,) for one in failovers(of_seed))


def _find(entries: list[Entry]) -> Failover:
    return next(one for one in failovers(seed()) if one.entries == entries)


def _run_of(entries: list[Entry]) -> Counterexample:
    found = _find(entries)
    return {"run": found.scenario, "step": found.loaded_step}


EXERCISE = Exercise(
    "L8.E2",
    lambda answer: against_mutants(answer, lambda entries: _find(entries).sent, MUTANTS, cases(seed()), FORM, _run_of),
    (
        "Find each name's newest entry first. Its state says whether something is decided and not finished yet.",
        "PrepareCommit and PrepareAbort are decided and not complete. The entry has all partitions, and nothing says "
        "which of them have their marker already.",
        "Make a dict from transactional id to entry, in the order of the log: the last one stays. For each one in "
        'PrepareCommit or PrepareAbort give (producer_id, partition, "COMMIT" or "ABORT") for all its partitions; '
        "sort them.",
    ),
    points=6,
    misses=hints_of(MUTANTS),
    question=lambda of_seed: cases(of_seed)[0][0],
    afterwards=(
        "Why: a coordinator needs only the newest entry of each name. It finishes a decided transaction in every "
        "partition, and leaves an Ongoing one to the application or to the timeout. Next: lab 15, where a coordinator "
        "drops a marker."
    ),
)
