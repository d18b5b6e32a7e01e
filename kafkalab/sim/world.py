"""Carries out the faults of the world: cuts, jumps of the clock, elections, compaction, deletion of segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.broker.broker import Broker
from kafkalab.broker.handlers.delete_records import log_start_moved
from kafkalab.broker.services import Context
from kafkalab.log.cleaner import clean, would_clean
from kafkalab.log.partition_log import PartitionLog
from kafkalab.sim.world_faults import (
    AdvanceClock,
    Compact,
    Cut,
    DeleteSegment,
    ElectLeader,
    Heal,
    Release,
    Roll,
    WorldFault,
    names,
)

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster

CONTROLLER = "controller"


class World:
    """Each method says whether anything is different now; if so, the trace has a fault event."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def apply(self, fault: WorldFault, cause: int) -> bool:
        """Let it happen, because of event `cause`."""
        match fault:
            case Cut():
                return self._cut(fault, cause)
            case Heal():
                return self._heal(fault, cause)
            case AdvanceClock():
                self.cluster.schedule.advance(fault.ms)
                self._note(CONTROLLER, fault, cause, {"ms": fault.ms})
                return True
            case ElectLeader():
                return self._elect(fault, cause)
            case Compact():
                return self._compact(fault, cause)
            case DeleteSegment():
                return self._delete_segment(fault, cause)
            case Roll():
                return self._roll(fault, cause)
            case Release():
                return self._release(fault, cause)

    def _note(self, node: str, fault: WorldFault, cause: int, data: dict[str, object], frame: str = "") -> int:
        data = {"fault": repr(fault), **data}
        return self.cluster.record(node, "fault", type(fault).__name__, cause, data, frame)

    # the network

    def _cut(self, fault: Cut, cause: int) -> bool:
        obstacles, failures = self.cluster.network.obstacles, self.cluster.failures
        new = [(a, b) for a in names(fault.a) for b in names(fault.b) if obstacles.cut(a, b)]
        if not new:
            return False
        step = self._note(new[0][0], fault, cause, {"pairs": new})
        for pair in new:
            for node in pair:
                if node in self.cluster.brokers and CONTROLLER in pair:
                    failures.watch_session(self.cluster.nodes[node], step)
        return True

    def _heal(self, fault: Heal, cause: int) -> bool:
        obstacles, controller = self.cluster.network.obstacles, self.cluster.controller
        healed = [(a, b) for a in names(fault.a) for b in names(fault.b) if obstacles.heal(a, b)]
        if not healed:
            return False
        step = self._note(healed[0][0], fault, cause, {"pairs": healed})
        for pair in healed:
            for node in pair:
                if node in self.cluster.brokers and CONTROLLER in pair:
                    self.cluster.failures.heard_again(self.cluster.nodes[node], step)
                    controller.tell_if_alive(node, step)
        return True

    def _release(self, fault: Release, cause: int) -> bool:
        frame = self.cluster.network.obstacles.kept(fault.frame)
        if frame is None:
            return False
        self.cluster.network.obstacles.release(fault.frame)
        self._note(frame.sender, fault, cause, {}, fault.frame)
        return True

    # leaders

    def _elect(self, fault: ElectLeader, cause: int) -> bool:
        controller = self.cluster.controller
        if not controller.can_lead(fault.partition, fault.broker, fault.unclean):
            return False
        step = self._note(CONTROLLER, fault, cause, {"partition": fault.partition, "broker": fault.broker})
        controller.elect(fault.partition, fault.broker, step)
        return True

    # storage

    def _replicas(self, partition: str) -> list[Broker]:
        """The live brokers that have the partition, its leader first."""
        info = self.cluster.controller.metadata.partitions.get(partition)
        replicas = sorted(info.replicas, key=lambda r: r != info.leader) if info else []
        return [self.cluster.brokers[r] for r in replicas if self._works(r) and self._has(r, partition)]

    def _works(self, broker: str) -> bool:
        node = self.cluster.nodes[broker]
        return node.alive and not node.paused

    def _has(self, broker: str, partition: str) -> bool:
        return partition in self.cluster.brokers[broker].state.logs

    def can_compact(self, partition: str) -> bool:
        """Whether compacting the partition now would change a replica's log."""
        logs = [(b.state.logs[partition], b.state.config) for b in self._replicas(partition)]
        return any(would_clean(log, self.cluster.now, config.delete_retention_ms) for log, config in logs)

    def can_roll(self, partition: str) -> bool:
        """Whether any replica's active segment has records, so that a new one can begin."""
        return any(log.segments[-1] < log.log_end_offset for log in self._logs(partition))

    def can_delete_segment(self, partition: str) -> bool:
        """Whether the leader's oldest segment is replicated, and is not empty or has one behind it."""
        leader = self.cluster.controller.metadata.leader(partition)
        if not leader or not self._works(leader) or not self._has(leader, partition):
            return False
        log = self.cluster.brokers[leader].state.logs[partition]
        end = log.segments[1] if len(log.segments) > 1 else log.log_end_offset
        return log.segments[0] < end <= log.high_watermark

    def _logs(self, partition: str) -> list[PartitionLog]:
        return [broker.state.logs[partition] for broker in self._replicas(partition)]

    def _compact(self, fault: Compact, cause: int) -> bool:
        done = []
        for broker in self._replicas(fault.partition):
            log, retention_ms = broker.state.logs[fault.partition], broker.state.config.delete_retention_ms
            log.roll(self.cluster.now)
            cleaning = clean(log, self.cluster.now, retention_ms)
            if cleaning.changed:
                done.append((broker.name, cleaning))
        if not done:
            return False
        step = self._note(done[0][0], fault, cause, {"partition": fault.partition})
        for name, cleaning in done:
            data = {
                "partition": fault.partition,
                "end": cleaning.end,
                "batches_removed": cleaning.batches_removed,
                "records_removed": cleaning.records_removed,
                "horizons_set": cleaning.horizons_set,
                "left": [o for b in self.cluster.brokers[name].state.logs[fault.partition].batches for o in b.offsets],
            }
            self.cluster.record(name, "state", "compacted", step, data)
        return True

    def _roll(self, fault: Roll, cause: int) -> bool:
        rolled = [b for b in self._replicas(fault.partition) if b.state.logs[fault.partition].roll(self.cluster.now)]
        if rolled:
            bases = {b.name: b.state.logs[fault.partition].segments[-1] for b in rolled}
            self._note(rolled[0].name, fault, cause, {"partition": fault.partition, "base_offsets": bases})
        return bool(rolled)

    def _delete_segment(self, fault: DeleteSegment, cause: int) -> bool:
        partition = fault.partition
        leader = self.cluster.controller.metadata.leader(partition)
        if not leader or not self._works(leader) or not self._has(leader, partition):
            return False
        broker = self.cluster.brokers[leader]
        if not broker.state.leads(partition):
            return False  # it has not heard yet that it leads
        log = broker.state.logs[partition]
        if len(log.segments) == 1:
            log.roll(self.cluster.now)
        if len(log.segments) == 1 or log.segments[1] > log.high_watermark:
            return False
        base = log.segments[0]
        log.drop_segments(log.segments[1])
        step = self._note(leader, fault, cause, {"partition": partition, "base_offset": base})
        broker.run(log_start_moved(broker.state, partition), Context(None, step))
        return True
