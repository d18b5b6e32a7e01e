"""L8.E1: make a transaction hang, find it, and end it; the presses are replayed, and the command is run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kafkalab.cli.transactions import transactions_of
from kafkalab.course.lab08.scenario import late_batch
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, described, is_blank
from kafkalab.grading.presses import Goal, Miss, presses_of, replayed, run_with
from kafkalab.grading.seeds import seed
from kafkalab.programs.failover import ACCOUNTS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import Delay, Hold
from kafkalab.sim.scenario import Scenario

FORM = 'a dict {"presses": [Delay(...)], "command": "abort --topic ..."}'
PARTITION = f"{ACCOUNTS}-0"
ALLOWED = ("Drop", "Duplicate", "Delay", "Hold", "Release", "Reorder")
SIXTEEN_MINUTES_MS = 16 * 60_000
"""Longer than any transaction may be open: `find-hanging` names nothing younger than 15 minutes."""
TYPED_BEFORE = re.compile(r"^\s*(kafkalab transactions|(bin/)?kafka-transactions\.sh( --bootstrap-server \S+)?)\s+")


def scenario(of_seed: int = 1) -> Scenario:
    """The debit that is aborted, nothing pressed yet; leaders ask no coordinator before they append."""
    return late_batch(of_seed, late_ms=0)


def hangs(cluster: Cluster) -> bool:
    """Whether the account has an open transaction though the run has ended: what a coordinator would end is ended."""
    log = cluster.log_of(PARTITION)
    return log.last_stable_offset < log.high_watermark


def sixteen_minutes_later(answer: Any) -> Cluster:
    """The run of these presses, 16 minutes after its end: what `transactions_of` is asked."""
    cluster = run_with(scenario(seed()), presses_of(answer, scenario(seed())))
    cluster.run_for(SIXTEEN_MINUTES_MS)
    return cluster


def _written(cluster: Cluster) -> list[str]:
    return [r.value for b in cluster.log_of(PARTITION).batches if b.control is None for r in b.records]


GOAL = Goal(
    says="transaction that hangs",
    reached=hangs,
    example=(Hold("Produce#1"), Delay("EndTxn#1", 100)),
    misses=(
        Miss(
            "never arrives",
            'The debit "a" is in no log: what never arrives leaves nothing open.',
            lambda cluster: "a" not in _written(cluster),
            hint="A batch that is lost is harmless: the abort ends what there is. Which batch is not harmless?",
        ),
        Miss(
            "in time",
            'The debit "a" was in the log before the ABORT marker came, and the marker ended it with the rest.',
            lambda cluster: True,
            hint=1,
        ),
    ),
)


def check(answer: Any) -> str:
    """ "1 press, the fewest there are; the last stable offset is 4 of 4" if it hangs, and the command ends it."""
    if not isinstance(answer, Mapping) or set(answer) != {"presses", "command"}:
        raise WrongType(f"Give {FORM}, not {described(answer)}.")
    presses, command = answer["presses"], answer["command"]
    if not is_blank(command) and not isinstance(command, str):
        raise WrongType(f'"command" is text, not {described(command)}. Give {FORM}.')
    if is_blank(command) and not presses_of(presses, scenario(seed()), GOAL.form):
        raise BlankAnswer(f"Presses and command are still blank. Give {FORM}.")
    pressed = replayed(presses, scenario(seed()), GOAL, most=2, par=1, allowed=ALLOWED)
    cluster = sixteen_minutes_later(presses)
    if is_blank(command):
        raise WrongAnswer(f"It hangs: {_marks(cluster)}. The command that ends it is still blank.", run=cluster,
                          step=_late(cluster), view="LogTape", miss="not ended", part=0.5)  # fmt: skip
    _end(cluster, TYPED_BEFORE.sub("", command))
    return f"{pressed}; {_marks(cluster)}"


def _end(cluster: Cluster, command: str) -> None:
    """Run the learner's command on the cluster; WrongAnswer if the transaction is open after it."""
    first = (command.split() or [""])[0]
    step = _late(cluster)
    try:
        transactions_of(cluster, command)
    except ValueError as error:
        miss = "another offset" if "could not find any open transaction" in str(error) else ""
        if not miss and first not in ("abort", "forceTerminateTransaction"):
            raise WrongValue(f"The command cannot be run: {error}.") from None
        raise WrongAnswer(f"It hangs, but the command fails: {error}.", run=cluster, step=step, view="LogTape",
                          miss=miss, part=0.5) from None  # fmt: skip
    if hangs(cluster):
        miss = "through the coordinator" if first == "forceTerminateTransaction" else "only looked"
        raise WrongAnswer(f"It hangs, and after your command it still does: {_marks(cluster)}.", run=cluster, step=step,
                          view="LogTape", miss=miss, part=0.5)  # fmt: skip


def _marks(cluster: Cluster) -> str:
    log = cluster.log_of(PARTITION)
    return f"the last stable offset is {log.last_stable_offset} of {log.high_watermark}"


def _late(cluster: Cluster) -> int:
    """The step at which the leader appends the batch that nobody will end."""
    leader = cluster.controller.metadata.leader(PARTITION)
    return [e for e in cluster.trace.of("append", PARTITION) if e.node == leader and e.data.control is None][-1].step


EXERCISE = Exercise(
    "L8.E1",
    check,
    (
        "A transaction hangs where a batch opens it and no marker follows. When has the coordinator sent its last "
        "marker? What would have to come after that?",
        'The producer gives "a" up after a second and aborts; the marker is there a few milliseconds later. '
        "Let the batch arrive after it. Then ask transactions_of(...) what is open in accounts-0, and where it begins.",
        "Delay Produce#2 by some seconds. 16 minutes later `find-hanging --topic accounts` names partition, producer "
        "and start offset; `abort` takes topic, partition and start offset.",
    ),
    points=4,
    misses={
        **GOAL.hints,
        "not ended": "Run `sixteen_minutes_later(presses)` and ask the cluster that it returns: "
        '`transactions_of(cluster, "find-hanging --topic accounts")`.',
        "another offset": "The transaction that hangs does not begin where the aborted one began. Which row of "
        "`describe-producers` has a CurrentTransactionStartOffset?",
        "only looked": "list, describe, describe-producers and find-hanging only look. Which command writes a marker?",
        "through the coordinator": "forceTerminateTransaction asks the coordinator, and for the coordinator this "
        "transaction was over long ago: it has no partition to send a marker to. Who can be asked instead?",
    },
    questions=(6, 38),
    afterwards=(
        "Why: the batch came after the only marker that its transaction would ever get, so it opened a new one that no "
        "coordinator knows. An administrator's marker goes straight to the leader. Next: what if such a marker hits a "
        "transaction that is alive?"
    ),
)
