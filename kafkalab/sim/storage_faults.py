"""Carries out the faults of storage: compaction, a new segment, deletion of the oldest segment."""

from __future__ import annotations

from kafkalab.broker.broker import Broker
from kafkalab.broker.controller import Controller
from kafkalab.broker.handlers.delete_records import log_start_moved
from kafkalab.broker.services import Context
from kafkalab.log.cleaner import Cleaning, clean, is_dirty, would_clean
from kafkalab.log.partition_log import PartitionLog
from kafkalab.sim.faults import Compact, DeleteSegment, Roll
from kafkalab.sim.kernel.kernel import Kernel


class StorageFaults:
    """Each `can_…` reads only; `apply` returns whether anything is different now, and then has left an event."""

    def __init__(self, kernel: Kernel, controller: Controller, brokers: dict[str, Broker]) -> None:
        self.kernel = kernel
        self.controller = controller
        self.brokers = brokers

    def apply(self, fault: Compact | DeleteSegment | Roll, cause: int) -> bool:
        """Let it happen, because of event `cause`."""
        match fault:
            case Compact():
                return self._compact(fault, cause)
            case DeleteSegment():
                return self._delete_segment(fault, cause)
            case Roll():
                return self._roll(fault, cause)

    def _note(self, node: str, fault: Compact | DeleteSegment | Roll, cause: int, data: dict[str, object]) -> int:
        return self.kernel.record(node, "fault", type(fault).__name__, cause, {"fault": repr(fault), **data})

    def _replicas(self, partition: str) -> list[Broker]:
        """The live brokers that have the partition, its leader first."""
        info = self.controller.metadata.partitions.get(partition)
        replicas = sorted(info.replicas, key=lambda r: r != info.leader) if info else []
        return [self.brokers[r] for r in replicas if self._works(r) and self._has(r, partition)]

    def _works(self, broker: str) -> bool:
        node = self.kernel.nodes[broker]
        return node.alive and not node.paused

    def _has(self, broker: str, partition: str) -> bool:
        return partition in self.brokers[broker].state.logs

    def can_compact(self, partition: str) -> bool:
        """Return True if compacting the partition now would change a replica's log."""
        logs = [(b.state.logs[partition], b.state.config) for b in self._replicas(partition)]
        return any(would_clean(log, self.kernel.now, config.delete_retention_ms) for log, config in logs)

    def can_roll(self, partition: str) -> bool:
        """Return True if any replica's active segment has records, so that a new one can begin."""
        return any(log.segments[-1] < log.log_end_offset for log in self._logs(partition))

    def can_delete_segment(self, partition: str) -> bool:
        """Return True if the leader's oldest segment is replicated, and is not empty or has one behind it."""
        leader = self.controller.metadata.leader(partition)
        if not leader or not self._works(leader) or not self._has(leader, partition):
            return False
        log = self.brokers[leader].state.logs[partition]
        end = log.segments[1] if len(log.segments) > 1 else log.log_end_offset
        return log.segments[0] < end <= log.high_watermark

    def _logs(self, partition: str) -> list[PartitionLog]:
        return [broker.state.logs[partition] for broker in self._replicas(partition)]

    def _compact(self, fault: Compact, cause: int) -> bool:
        done: list[tuple[str, Cleaning]] = []
        told = []
        for broker in self._replicas(fault.partition):
            log, retention_ms = broker.state.logs[fault.partition], broker.state.config.delete_retention_ms
            if done and self._knows_the_mark(done[0][0], broker.name, log):
                told.append(broker)
            log.roll(self.kernel.now)
            if not is_dirty(log):
                continue
            cleaning = clean(log, self.kernel.now, retention_ms)
            if cleaning.changed:
                done.append((broker.name, cleaning))
        if not done:
            return False
        step = self._note(done[0][0], fault, cause, {"partition": fault.partition})
        for broker in told:
            broker.replication.note_marks(broker.state.logs[fault.partition], step)
        for name, cleaning in done:
            data = {
                "partition": fault.partition,
                "end": cleaning.end,
                "batches_removed": cleaning.batches_removed,
                "records_removed": cleaning.records_removed,
                "horizons_set": cleaning.horizons_set,
                "left": [o for b in self.brokers[name].state.logs[fault.partition].batches for o in b.offsets],
            }
            self.kernel.record(name, "state", "compacted", step, data)
        return True

    def _knows_the_mark(self, leader: str, follower: str, log: PartitionLog) -> bool:
        """Raise the high watermark of an idle follower, as the empty answers to its fetches do; whether it moved."""
        state = self.brokers[leader].state
        session = state.sessions.get(follower)
        idle = session is not None and session.parked is not None and session.silent_since_ms < 0
        return idle and state.leads(log.partition) and log.advance(state.logs[log.partition].high_watermark)

    def _roll(self, fault: Roll, cause: int) -> bool:
        rolled = [b for b in self._replicas(fault.partition) if b.state.logs[fault.partition].roll(self.kernel.now)]
        if rolled:
            bases = {b.name: b.state.logs[fault.partition].segments[-1] for b in rolled}
            self._note(rolled[0].name, fault, cause, {"partition": fault.partition, "base_offsets": bases})
        return bool(rolled)

    def _delete_segment(self, fault: DeleteSegment, cause: int) -> bool:
        partition = fault.partition
        leader = self.controller.metadata.leader(partition)
        if not leader or not self._works(leader) or not self._has(leader, partition):
            return False
        broker = self.brokers[leader]
        if not broker.state.leads(partition):
            return False  # it has not heard yet that it leads
        log = broker.state.logs[partition]
        if len(log.segments) == 1:
            log.roll(self.kernel.now)
        if len(log.segments) == 1 or log.segments[1] > log.high_watermark:
            return False
        base = log.segments[0]
        log.drop_segments(log.segments[1])
        step = self._note(leader, fault, cause, {"partition": partition, "base_offset": base})
        broker.run(log_start_moved(broker.state, partition), Context(None, step))
        return True
