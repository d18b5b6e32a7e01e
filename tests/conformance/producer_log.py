"""Short names for batches, and a producer state that is fed by hand at any offset (cases PSM, LOG, LEG)."""

from __future__ import annotations

from typing import Any

from kafkalab.log.partition_log import PartitionLog
from kafkalab.log.producer_state.append import Origin
from kafkalab.log.producer_state.entry import CachedBatch, CompletedTxn, ProducerEntry
from kafkalab.log.producer_state.state import ProducerStates
from kafkalab.protocol.errors import Error
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType, Record
from kafkalab.protocol.records import marker as marker_batch
from kafkalab.protocol.rules import VERIFICATION, Rule

PID = 1
COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def rules(*off: Rule, profile: str = "4.x/TV2", verification: bool = False) -> Rules:
    """The rules of a profile without some; by default a leader asks nobody before an append."""
    without = off if verification else (*off, VERIFICATION)
    return Rules(profile, tuple(rule.name for rule in without))


def data(
    epoch: int, sequence: int, count: int = 1, txn: bool = False, pid: int = PID, at: int = -1, ms: int = 0
) -> Batch:
    """A data batch with `count` records; `at` is its base offset."""
    return Batch(
        records=tuple(Record(None, f"{sequence + i}") for i in range(count)),
        base_offset=at,
        timestamp_ms=ms,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=txn,
    )


def plain(count: int, at: int = -1) -> Batch:
    """Records of no producer id."""
    return Batch(records=tuple(Record(None, "v") for _ in range(count)), base_offset=at)


def end(
    control: ControlType, epoch: int, at: int = -1, coordinator_epoch: int = 0, pid: int = PID, ms: int = 0
) -> Batch:
    """A marker."""
    batch = marker_batch(pid, epoch, control, coordinator_epoch, ms)
    return (
        batch if at < 0 else Batch(**{n: getattr(batch, n) for n in Batch.__dataclass_fields__} | {"base_offset": at})
    )


class Fed:
    """A ProducerStates and the offset that is due."""

    def __init__(self, states: ProducerStates | None = None, **settings: Any) -> None:
        self.states = states or ProducerStates(rules(), **settings)
        self.completed: list[CompletedTxn] = []

    def replicate(self, *batches: Batch) -> Fed:
        """Take batches as a follower does; those without an offset follow the last one."""
        for batch in batches:
            if batch.base_offset < 0:
                fields = {n: getattr(batch, n) for n in Batch.__dataclass_fields__}
                batch = Batch(**fields | {"base_offset": self.states.map_end_offset})
            done = self.states.apply(batch)
            if done is not None:
                self.completed.append(done)
        return self

    def answer(self, batch: Batch, version: int = 0, guard: int = 0, origin: Origin = Origin.CLIENT) -> Error:
        """Return what a leader says to the batch, where no lookup of duplicates comes first."""
        if batch.control is not None:
            return self.states.marker_error(batch, Origin.COORDINATOR if origin is Origin.CLIENT else origin, version)
        return self.states.data_error(batch, origin, guard)

    def append(self, batch: Batch, version: int = 0, guard: int = 0, origin: Origin = Origin.CLIENT) -> Error:
        """The answer; what is not refused is appended."""
        error = self.answer(batch, version, guard, origin)
        if error is Error.NONE:
            self.replicate(batch)
        return error

    def entry(self, pid: int = PID) -> ProducerEntry:
        return self.states.entries[pid]

    def reload(self, log_start: int, log_end: int, now: int = 0) -> Fed:
        """A new process that finds the same snapshots."""
        old = self.states
        states = ProducerStates(old.rules, old.expiration_ms, old.snapshots)
        states.truncate_and_reload(log_start, log_end, now)
        return Fed(states)


def state_of(entry: ProducerEntry) -> tuple[int, int, int, int | None]:
    """Epoch, first and last remembered sequence, and where the open transaction begins."""
    return entry.producer_epoch, entry.first_sequence, entry.last_sequence, entry.txn_first_offset


def write(log: PartitionLog, batch: Batch, version: int = 0, guard: int = 0) -> Error | CachedBatch:
    """Return what a leader does with a batch: a client's data, a coordinator's marker; the answer."""
    origin = Origin.CLIENT if batch.control is None else Origin.COORDINATOR
    answer = log.producers.analyze(batch, origin, guard, version)
    if answer is Error.NONE:
        log.append(batch, 0)
    return answer
