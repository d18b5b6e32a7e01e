"""What a new metadata image changes for a broker: partitions to lead, to follow, to load, to leave (facts 6.1, 6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.broker.effects import Effect, Note, Then
from kafkalab.broker.group_coordinator.group import loaded_group
from kafkalab.broker.group_coordinator.offset_expiration import expire_offsets
from kafkalab.broker.group_coordinator.offsets import GroupOffsets
from kafkalab.broker.group_coordinator.rebalance import heard_of, resigned
from kafkalab.broker.handlers.delete_records import apply_retention
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.expiration import abort_timed_out, remove_expired
from kafkalab.broker.transaction_coordinator.loading import load_transactions
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, offsets_partition, topic_of
from kafkalab.protocol.rules import LEADER_EPOCH, NEWEST_OFFSET

if TYPE_CHECKING:
    from kafkalab.broker.broker import Broker, Context


class Leadership:
    """Reacts to metadata, and runs the periodic scans of a coordinator."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def start(self, cause: int) -> None:
        """Follow every leader that is known, and begin the scans."""
        from kafkalab.broker.broker import Context

        state = self.broker.state
        for leader in state.metadata.leaders:
            if leader != state.name:
                self.broker.replication.follow(leader, cause)
        context = Context(None, cause)
        self._every(state.config.transaction_abort_cleanup_interval_ms, Then(abort_timed_out), context)
        self._every(state.config.transaction_remove_expired_cleanup_interval_ms, Then(remove_expired), context)
        self._every(state.config.offsets_retention_check_interval_ms, Then(expire_offsets), context)
        check_ms = state.config.producer_id_expiration_check_interval_ms
        self._every(check_ms, Then(expire_producer_ids), context)
        self._every(state.config.log_retention_check_interval_ms, Then(apply_retention), context)
        self._every_lag_check(state.config.replica_lag_time_max_ms // 2)

    def _every(self, interval_ms: int, then: Then, context: Context) -> None:
        life = self.broker.life

        def due() -> None:
            if self.broker.life == life:
                self._every(interval_ms, then, context)
                self.broker.go_on(then, None, context)

        self.broker.port.timer(self.broker.name, interval_ms, due, True)

    def _every_lag_check(self, interval_ms: int) -> None:
        life = self.broker.life

        def due() -> None:
            if self.broker.life == life:
                self._every_lag_check(interval_ms)
                self.broker.replication.shrink()

        self.broker.port.timer(self.broker.name, interval_ms, due, True)

    def forget_metadata(self) -> None:
        """A restarted broker believes nothing of who leads until the controller tells it."""
        self.broker.state.metadata = ClusterMetadata()

    def update(self, image: ClusterMetadata, context: Context) -> None:
        """Take a newer image: resign, lead, follow. An older one changes nothing."""
        state, replication = self.broker.state, self.broker.replication
        old = state.metadata
        if image.version <= old.version:
            return
        state.metadata = image
        moved = [p for p, info in image.partitions.items() if self._changed(old, p, info.leader_epoch)]
        for partition in moved:
            if old.leader(partition) == state.name:
                self._resign(partition, context)
            if image.leader(partition) == state.name:
                self._lead(partition, image, context)
            elif image.leader(partition) and not state.rules.on(LEADER_EPOCH) and self._has_more(partition):
                replication.truncate(partition, state.logs[partition].high_watermark, context.cause)
        leaders = {image.leader(p) for p in moved} - {"", state.name}
        for gone in [x for x in replication.fetching if x not in image.leaders]:
            replication.unfollow(gone)
        for leader in sorted(leaders):
            replication.follow(leader, context.cause)
        for partition in list(state.logs):
            replication.advance(partition, context.cause)

    @staticmethod
    def _changed(old: ClusterMetadata, partition: str, leader_epoch: int) -> bool:
        before = old.partitions.get(partition)
        return before is None or before.leader_epoch != leader_epoch

    def _has_more(self, partition: str) -> bool:
        """Whether the local log goes on beyond its high watermark: before KIP-101 a new follower dropped that."""
        log = self.broker.state.logs.get(partition)
        return log is not None and log.log_end_offset > log.high_watermark

    def _resign(self, partition: str, context: Context) -> None:
        state = self.broker.state
        if topic_of(partition) == OFFSETS_TOPIC:
            groups = [state.groups.pop(g) for g in list(state.groups) if offsets_partition(g) == partition]
            self.broker.perform([effect for group in groups for effect in resigned(group)], context)
        state.transactions.pop(partition, None)
        state.marker_queues.drop(partition)
        state.offsets.pop(partition, None)
        if partition in state.offsets_loading:
            state.offsets_loading.remove(partition)
        for session in state.sessions.values():
            session.positions.pop(partition, None)
        self.broker.fail_waiters(partition)
        self.broker.wake(partition, -1)

    def _lead(self, partition: str, image: ClusterMetadata, context: Context) -> None:
        state = self.broker.state
        info = image.partitions[partition]
        self.broker.replication.led_since[partition] = image.version
        for session in state.sessions.values():
            session.positions.pop(partition, None)
            session.behind[partition] = None
            session.caught_up_ms[partition] = self.broker.port.now
        if partition not in state.logs:
            return
        state.epoch_start[partition] = state.logs[partition].log_end_offset
        led = {"partition": partition, "leader_epoch": info.leader_epoch}
        self.broker.port.record(state.name, "state", "leader", context.cause, led)
        delay = state.config.coordinator_load_ms
        if topic_of(partition) == TRANSACTION_TOPIC:
            state.transactions[partition] = TxnPartition(info.leader_epoch, loading=True)
            self.broker.timer(delay, Then(load_transactions, (partition, info.leader_epoch)), context)
        elif topic_of(partition) == OFFSETS_TOPIC:
            state.offsets_loading.append(partition)
            self.broker.timer(delay, Then(load_offsets, (partition, info.leader_epoch)), context)


def load_offsets(broker: BrokerState, result: None, now: int, partition: str, epoch: int) -> list[Effect]:
    """Read `__consumer_offsets` back, pending offsets and groups included; every member's session begins anew."""
    info = broker.metadata.partitions.get(partition)
    if partition not in broker.offsets_loading or info is None or info.leader_epoch != epoch:
        return []
    offsets = broker.offsets[partition] = GroupOffsets(broker.rules.on(NEWEST_OFFSET))
    log = broker.log(partition)
    for batch in log.read(0, max(log.high_watermark, 1)):
        if batch.base_offset < log.high_watermark:
            offsets.apply(batch)
    broker.offsets_loading.remove(partition)
    effects: list[Effect] = [Note("coordinator loaded", {"partition": partition, "coordinator_epoch": epoch})]
    whole = GroupOffsets()  # a group is what its last record says, be it replicated already or not
    for batch in log.batches:
        whole.apply(batch)
    for name, entry in whole.groups.items():
        if entry is not None:
            group = broker.groups[name] = loaded_group(entry, epoch)
            for member in group.members.values():
                effects += heard_of(group, member, now)
    return effects


def expire_producer_ids(broker: BrokerState, result: None, now: int) -> list[Effect]:
    """Forget producer ids that have written nothing for producer.id.expiration.ms (facts 3.7)."""
    effects: list[Effect] = []
    for partition, log in broker.logs.items():
        gone = log.producers.remove_expired(now)
        if gone:
            effects.append(Note("producer ids expired", {"partition": partition, "producer_ids": gone}))
    return effects
