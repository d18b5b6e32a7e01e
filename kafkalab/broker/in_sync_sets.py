"""The in-sync sets of the partitions that a broker leads, which the controller shrinks and grows for it (KIP-497)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.broker.services import Services
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.alter_partition import AlterPartition


class InSyncSets:
    """Shrink and grow the in-sync sets. `altering` holds what is asked for, `maximal` the set with those wanted back.

    `advance(partition, cause)` is called where the high watermark may move.
    """

    def __init__(self, broker: Services, advance: Callable[[str, int], None]) -> None:
        self.broker, self._advance = broker, advance
        self.forget()

    def forget(self) -> None:
        """Forget what was asked for: the broker has crashed."""
        self.altering: dict[str, tuple[str, ...]] = {}
        self.maximal: dict[str, tuple[str, ...]] = {}

    def take_image(self) -> None:
        """Forget what was asked of the controller and answered: the image has the in-sync sets that it granted."""
        self.maximal = {p: isr for p, isr in self.maximal.items() if p in self.altering and self.broker.state.leads(p)}

    def shrink(self) -> None:
        """Ask the controller to drop in-sync replicas that lag for longer than replica.lag.time.max.ms."""
        state, now = self.broker.state, self.broker.port.now
        for partition, log in state.logs.items():
            info = state.metadata.partitions.get(partition)
            if info is None or info.leader != self.broker.name or log.high_watermark == log.log_end_offset:
                continue
            kept = tuple(r for r in info.isr if r == self.broker.name or not self._lags(r, partition, now))
            if kept != info.isr:
                self._alter(partition, info.leader_epoch, kept)

    def _lags(self, replica: str, partition: str, now: int) -> bool:
        session = self.broker.state.sessions.get(replica)
        if (
            session is not None
            and session.positions.get(partition, 0) >= self.broker.state.log(partition).log_end_offset
        ):
            return False
        since = session.caught_up_ms.get(partition, 0) if session else 0
        return now - since > self.broker.state.config.replica_lag_time_max_ms

    def readmit(self, partition: str) -> None:
        """Let followers back in that have all there is but had nothing to report: of a log without records, say."""
        state = self.broker.state
        for replica in state.metadata.partitions[partition].replicas:
            if replica in state.sessions:
                self.maybe_expand(partition, replica)

    def maybe_expand(self, partition: str, replica: str) -> None:
        """Ask the controller to let a replica back in that fetches, and has reached the high watermark."""
        state = self.broker.state
        info = state.metadata.partitions.get(partition)
        if info is None or info.leader != self.broker.name or replica in info.isr or replica not in info.replicas:
            return
        session, reached = state.sessions[replica], max(state.log(partition).high_watermark, 0)
        fetches = replica in state.metadata.alive and session.silent_since_ms < 0
        if fetches and session.positions.get(partition, 0) >= reached:
            isr = tuple(r for r in info.replicas if r in info.isr or r == replica)
            self._alter(partition, info.leader_epoch, isr)

    def _alter(self, partition: str, leader_epoch: int, isr: tuple[str, ...]) -> None:
        if self.altering.get(partition) == isr:
            return
        self.altering[partition] = isr
        known = self.maximal.get(partition) or self.broker.state.metadata.partitions[partition].isr
        self.maximal[partition] = tuple(dict.fromkeys((*known, *isr)))
        request = AlterPartition(partition=partition, leader_epoch=leader_epoch, isr=isr)

        def on_response(response: Any, cause: int) -> None:
            if self.altering.get(partition) != isr:
                return
            del self.altering[partition]
            image = self.broker.state.metadata
            granted = image.partitions[partition].isr == tuple(r for r in isr if r in image.alive)
            if response is None or response.error is not Error.NONE or granted:
                self.maximal.pop(partition, None)
                self._advance(partition, cause)

        self.broker.port.request(self.broker.name, "controller", request, on_response, -1)
