"""L15.E1: make a transaction hang and find it; the presses are replayed, and what was found is aborted by its ids."""

from __future__ import annotations

from collections.abc import Mapping

from kafkalab.course.lab15.scenario import late_batch
from kafkalab.faults.frame import Delay, Hold
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.presses import Goal, Miss, judge_presses, presses_of, run_with
from kafkalab.grading.seeds import seed
from kafkalab.programs.failover import ACCOUNTS
from kafkalab.programs.hanging_writer import abort_transaction
from kafkalab.protocol.records import Batch
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

FOUND = ("producer_id", "producer_epoch", "start_offset")
FORM = 'a dict {"presses": [Delay(...)], "producer_id": 7, "producer_epoch": 7, "start_offset": 7}'
PARTITION = f"{ACCOUNTS}-0"
ALLOWED = ("Drop", "Duplicate", "Delay", "Hold", "Release", "Reorder")
SIXTEEN_MINUTES_MS = 16 * 60_000
"""Longer than any transaction may be open: `find-hanging` names nothing younger than 15 minutes."""


def scenario(of_seed: int = 1) -> Scenario:
    """The debit that is aborted, nothing pressed yet; leaders ask no coordinator before they append."""
    return late_batch(of_seed, late_ms=0)


def hangs(cluster: Cluster) -> bool:
    """Return True if the account has an open transaction at the end: what a coordinator would end is ended by then."""
    log = cluster.log_of(PARTITION)
    return log.last_stable_offset < log.high_watermark


def sixteen_minutes_later(answer: object) -> Cluster:
    """The run of these presses, 16 minutes after its end: what `transactions_of` is asked."""
    cluster = run_with(scenario(seed()), presses_of(answer, scenario(seed())))
    cluster.run_for(SIXTEEN_MINUTES_MS)
    return cluster


def _list_written(cluster: Cluster) -> list[str]:
    return [r.value for b in cluster.log_of(PARTITION).batches if b.control is None for r in b.records]


GOAL = Goal(
    says="transaction that hangs",
    reached=hangs,
    example=(Hold("Produce#1"), Delay("EndTxn#1", 100)),
    misses=(
        Miss(
            "never arrives",
            'The debit "a" is in no log: a lost batch opens no transaction.',
            lambda cluster: "a" not in _list_written(cluster),
            hint="A lost batch does no harm: the abort ends the rest of the transaction. Which batch does harm?",
        ),
        Miss(
            "in time",
            'The debit "a" was in the log before the ABORT marker came, and the marker ended it with the rest.',
            lambda cluster: True,
            hint=1,
        ),
    ),
)


def check(answer: object) -> str:
    """ "1 press, the fewest there are; the last stable offset is 4 of 4" if it hangs, and an abort ends it."""
    if not isinstance(answer, Mapping) or set(answer) != {"presses", *FOUND}:
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    presses, found = answer["presses"], {name: answer[name] for name in FOUND}
    for name, value in found.items():
        if not is_blank(value) and (type(value) is not int or value < 0):
            raise WrongValue(f'"{name}" is a number from 0 on, not {describe(value)}. Give {FORM}.')
    blank = [name for name, value in found.items() if is_blank(value)]
    if len(blank) == len(FOUND) and not presses_of(presses, scenario(seed()), GOAL.form):
        raise BlankAnswer(f"Presses and ids are still blank. Give {FORM}.")
    pressed = judge_presses(presses, scenario(seed()), GOAL, most=2, par=1, allowed=ALLOWED)
    cluster = sixteen_minutes_later(presses)
    if blank:
        raise _wrong(cluster, f"{_marks(cluster)}. Still blank: {', '.join(blank)}", "not found")
    _end(cluster, **found)
    return f"{pressed}; {_marks(cluster)}"


def _end(cluster: Cluster, producer_id: int, producer_epoch: int, start_offset: int) -> None:
    """Abort as `kafka-transactions.sh abort` does; WrongAnswer if the transaction is open after it."""
    late = _late_batch(cluster)
    if start_offset != late.base_offset:
        said = f"Could not find any open transactions starting at offset {start_offset} on partition {PARTITION}"
        raise _wrong(cluster, f"abort says: {said}", "another offset")
    spec = {"partition": PARTITION, "producer_id": producer_id, "producer_epoch": producer_epoch}
    cluster.spawn("admin", abort_transaction, at_ms=cluster.now, coordinator_epoch=0, **spec)
    cluster.run_for(60_000)
    if producer_id != late.producer_id:
        raise _wrong(cluster, f"the leader takes the marker, and nothing ends: {_marks(cluster)}", "another producer")
    if producer_epoch != late.producer_epoch:
        said = f"{_marks(cluster)}, but the transaction was written under another epoch than {producer_epoch}"
        raise _wrong(cluster, said, "another epoch")


def _wrong(cluster: Cluster, says: str, miss: str) -> WrongAnswer:
    step = _find_append(cluster)
    return WrongAnswer(f"It hangs: {says}.", run=cluster, step=step, view="LogTape", miss=miss, part=0.5)


def _marks(cluster: Cluster) -> str:
    log = cluster.log_of(PARTITION)
    return f"the last stable offset is {log.last_stable_offset} of {log.high_watermark}"


def _late_batch(cluster: Cluster) -> Batch:
    """The batch that nobody will end."""
    return [b for b in cluster.log_of(PARTITION).batches if b.control is None][-1]


def _find_append(cluster: Cluster) -> int:
    """The step at which the leader appends that batch."""
    leader = cluster.controller.metadata.leader(PARTITION)
    return [e for e in cluster.trace.of("append", PARTITION) if e.node == leader and e.data.control is None][-1].step


EXERCISE = Exercise(
    "L15.E1",
    check,
    (
        "A transaction hangs where a batch opens it and no marker follows. When has the coordinator sent its last "
        "marker? What must arrive after that?",
        'The producer gives "a" up after a second and aborts; the marker is there a few milliseconds later. '
        "Let the batch arrive after it. Then ask transactions_of(...) what is open in accounts-0, and where it begins.",
        "Delay Produce#2 by some seconds. 16 minutes later `find-hanging --topic accounts` prints a row with all "
        "three: ProducerId, ProducerEpoch, StartOffset.",
    ),
    points=4,
    misses={
        **GOAL.hints,
        "not found": "Ask the run of your picture, 16 minutes later: "
        '`print(transactions_of(sixteen_minutes_later(tried), "find-hanging --topic accounts"))`.',
        "another offset": "The transaction that hangs does not begin where the aborted one began. Which row of "
        "`describe-producers` has a CurrentTransactionStartOffset?",
        "another producer": "A leader appends a marker of a producer id that it does not know, and the marker ends "
        "nothing. `describe-producers --topic accounts --partition 0` shows the ids that it knows.",
        "another epoch": "`describe` shows the epoch that payments-0 has now. `find-hanging` and `describe-producers` "
        "show the one under which the batch was written; a marker with a higher epoch fences a producer that still has "
        "that one.",
    },
    questions=(6, 38),
    afterwards=(
        "Why: the batch came after the only marker that its transaction would ever get, so it opened a new one that no "
        "coordinator knows. An administrator's marker goes straight to the leader. Next: what if such a marker hits a "
        "transaction that is alive?"
    ),
)
