"""Replication without frames, for brokers in real time whose frames no one records, holds or loses.

A follower's fetch and its answer take no time there, so an append is replicated when it returns. The follower's log is
a beginning of the leader's until `settle` brings it up: before anything reads it, and before a fault, an image or a
fetch that depends on it. From there replication by frames goes on as if it had never stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kafkalab.broker.services import Services
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.records import Batch


class Replica(Protocol):
    """A broker's `Replication`, as this module sees it."""

    broker: Services
    led_since: dict[str, int]


class DirectReplication:
    """Replication without frames. It is used while `on` and nothing is `planned` to strike a frame; with
    `eager` followers append at once, batch by batch, each with its event."""

    def __init__(self, brokers: Mapping[str, Replica], planned: Mapping[str, Any], eager: bool) -> None:
        self.on, self._brokers, self._planned, self._eager = True, brokers, planned, eager
        self._ahead: dict[str, tuple[Replica, PartitionLog]] = {}  # by partition: its followers were in step

    def replicates(self, leader: Replica, log: PartitionLog, batch: Batch, cause: int) -> bool:
        """Return whether every replica has the batch that the leader has just appended; its high watermark may rise.

        The first batch after something was planned is still brought to all; from the next on, frames bring them.
        """
        if not self.on or self._planned:
            self.settle()
            return False
        known = self._ahead.get(log.partition)
        if known is None or known[1] is not log:
            if not self._in_step(leader, log, batch.base_offset):
                return False
            self._ahead[log.partition] = (leader, log)
        if self._eager:
            self._replicate(leader, log, batch, cause)
        return True

    def _in_step(self, leader: Replica, log: PartitionLog, offset: int) -> bool:
        """Return True if all replicas are in sync, have all below `offset`, know the leader's image, and wait."""
        state, partition, name = leader.broker.state, log.partition, leader.broker.name
        info = state.metadata.partitions[partition]
        if len(info.isr) != len(info.replicas) or log.high_watermark != offset:
            return False
        for replica in info.replicas:
            if replica != name:
                if self._brokers[replica].broker.state.metadata.version != state.metadata.version:
                    return False
                session = state.sessions.get(replica)
                if session is None or session.parked is None or session.positions.get(partition, 0) != offset:
                    return False
                if leader.led_since.get(partition, 0) > session.parked[1]:
                    return False
        return True

    def _replicate(self, leader: Replica, log: PartitionLog, batch: Batch, cause: int) -> None:
        for replica in leader.broker.state.metadata.partitions[log.partition].replicas:
            if replica != leader.broker.name:
                follower = self._brokers[replica].broker
                held = follower.state.log(log.partition)
                held.replicate(batch)
                follower.port.record(replica, "append", log.partition, cause, batch)
                held.advance(log.high_watermark)

    def settle(self) -> None:
        """Let every follower have what its leader has, and every leader know it."""
        ahead, self._ahead = self._ahead, {}
        for partition, (leader, log) in ahead.items():
            state, now = leader.broker.state, leader.broker.port.now
            for replica in state.metadata.partitions[partition].replicas:
                if replica != state.name:
                    self._brokers[replica].broker.state.log(partition).take_over(log)
                    session = state.sessions[replica]
                    session.positions[partition] = log.log_end_offset
                    session.caught_up_ms[partition] = now
