"""The outcome of a run's transactions, read from the logs as a read_committed consumer reads them."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.log.aborted_filter import deliver
from kafkalab.log.group_offsets import GroupOffsets
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, topic_of
from kafkalab.protocol.records import ControlType
from kafkalab.protocol.transaction_metadata import PREPARED, Txn, TxnState

GONE = "gone"
NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`committed` holds the values that read_committed sees, `offsets` the committed offsets of all groups.

    `txn_states` is each transactional id's state in the transaction log. `verdict` is about the last transaction of
    every id: "committed", "aborted", "open", "torn" (partitions differ), or "nothing" where none was ever begun.
    """

    committed: dict[str, tuple[str, ...]]
    offsets: dict[str, int]
    txn_states: dict[str, str]
    verdict: str


def outcome_of(logs: dict[str, PartitionLog], topics: dict[str, int]) -> Outcome:
    """Read the leaders' logs, by partition; `topics` are those that hold data, with their numbers of partitions."""
    data = {f"{t}-{i}" for t, n in topics.items() for i in range(n)}
    committed = {p: _visible(logs[p]) if p in logs else () for p in sorted(data)}
    offsets: dict[str, int] = {}
    for partition, log in logs.items():
        if topic_of(partition) == OFFSETS_TOPIC:
            known = GroupOffsets()
            for batch in log.batches:
                known.apply(batch)
            offsets.update({key[1]: stored.offset for key, stored in known.committed.items()})
    history = [t for p in logs if topic_of(p) == TRANSACTION_TOPIC for t in _entries(logs[p])]
    last = {t.transactional_id: t for t in history}
    return Outcome(
        committed=committed,
        offsets=offsets,
        txn_states={tid: t.state.label for tid, t in last.items()},
        verdict=_verdict(history, last, logs),
    )


def _visible(log: PartitionLog) -> tuple[str, ...]:
    start, upper = log.log_start_offset, log.last_stable_offset
    if upper <= start:
        return ()
    records, _ = deliver(log.partition, start, log.read(start, upper), log.aborted_between(start, upper))
    return tuple(r.value for r in records)


def _entries(log: PartitionLog) -> list[Txn]:
    return [record.value for batch in log.batches for record in batch.records if record.value is not None]


def _verdict(history: list[Txn], last: dict[str, Txn], logs: dict[str, PartitionLog]) -> str:
    """One word for all ids: the worst of theirs, "torn" before "open" before what was decided."""
    words = [_word(tid, history, last[tid], logs) for tid in sorted(last)]
    for word in ("torn", "open"):
        if word in words:
            return word
    begun = [w for w in words if w != NOTHING]
    if not begun:
        return NOTHING
    return begun[0] if len(set(begun)) == 1 else "some committed, some aborted"


def _word(tid: str, history: list[Txn], last: Txn, logs: dict[str, PartitionLog]) -> str:
    if last.state is TxnState.ONGOING:
        return "open"
    prepared = [t for t in history if t.transactional_id == tid and t.state in PREPARED]
    if not prepared:  # never, or compaction has left the last entry only
        return {TxnState.COMPLETE_COMMIT: "committed", TxnState.COMPLETE_ABORT: "aborted"}.get(last.state, NOTHING)
    decision = prepared[-1]
    wanted = ControlType.COMMIT if decision.state is TxnState.PREPARE_COMMIT else ControlType.ABORT
    ends = [_last_end(logs[p], decision.producer_id) for p in decision.partitions if p in logs]
    if any(end is None for end in ends) or last.state in PREPARED:
        return "open"
    if any(end not in (wanted, GONE) for end in ends):
        return "torn"
    return "committed" if wanted is ControlType.COMMIT else "aborted"


def _last_end(log: PartitionLog, producer_id: int) -> ControlType | str | None:
    """Return how the producer's last transaction here ended; None while open, GONE if that was cleaned or deleted."""
    cleaned = log.log_start_offset > 0 or log.checkpoint.first_dirty_offset > 0
    end: ControlType | str | None = GONE if cleaned else ControlType.ABORT
    for batch in log.batches:
        if batch.producer_id == producer_id and batch.transactional:
            end = batch.control
    return end
