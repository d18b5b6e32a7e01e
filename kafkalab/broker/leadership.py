"""The changes that a new metadata image brings to a broker: partitions to lead, to follow, to load, to leave
(docs/protocol.md#loading)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafkalab.broker.effects import Effects, Note, Sleep
from kafkalab.broker.group_coordinator.consumer.timers import forget_members, watch_members
from kafkalab.broker.group_coordinator.group import loaded_group
from kafkalab.broker.group_coordinator.offset_expiration import expire_offsets
from kafkalab.broker.group_coordinator.rebalance import renew_session, resign
from kafkalab.broker.handlers.delete_records import apply_retention
from kafkalab.broker.replication import Replication
from kafkalab.broker.services import Context, Services
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.expiration import abort_timed_out, remove_expired
from kafkalab.broker.transaction_coordinator.loading import load_transactions
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, offsets_partition, topic_of
from kafkalab.protocol.rules import LEADER_EPOCH


class Leadership:
    """Reacts to metadata, and runs the periodic scans of a coordinator."""

    def __init__(self, broker: Services, replication: Replication) -> None:
        self.broker = broker
        self.replication = replication

    def start(self, cause: int) -> None:
        """Follow every leader that is known, and begin the scans."""
        state, config = self.broker.state, self.broker.state.config
        for leader in state.metadata.leaders:
            if leader != state.name:
                self.replication.follow(leader, cause)
        context = Context(None, cause)
        for interval_ms, scan in (
            (config.transaction_abort_cleanup_interval_ms, abort_timed_out),
            (config.transaction_remove_expired_cleanup_interval_ms, remove_expired),
            (config.offsets_retention_check_interval_ms, expire_offsets),
            (config.producer_id_expiration_check_interval_ms, expire_producer_ids),
            (config.log_retention_check_interval_ms, apply_retention),
        ):
            self._every(interval_ms, partial(self._scan, scan, context))
        self._every(config.replica_lag_time_max_ms // 2, self.replication.in_sync.shrink)

    def _scan(self, scan: Callable[[BrokerState], Effects[None]], context: Context) -> None:
        self.replication.settle()
        self.broker.run(scan(self.broker.state), context)

    def _every(self, interval_ms: int, scan: Callable[[], None]) -> None:
        incarnation = self.broker.incarnation

        def due() -> None:
            if self.broker.incarnation == incarnation:
                self._every(interval_ms, scan)
                scan()

        self.broker.port.timer(self.broker.name, interval_ms, due, True)

    def forget_metadata(self) -> None:
        """A restarted broker believes nothing of who leads until the controller tells it."""
        self.broker.state.metadata = ClusterMetadata()

    def update(self, image: ClusterMetadata, context: Context) -> tuple[str, ...]:
        """Take a newer image: resign, lead, follow. An older one changes nothing.

        Return the partitions of which a replica is back in sync without a fetch (`_empty`).
        """
        state, replication = self.broker.state, self.replication
        old = state.metadata
        if image.version <= old.version:
            return ()
        replication.settle()
        empty = self._empty(old, image)
        image = state.metadata = image.with_live_in_sync(empty)
        before = old.partitions
        moved = [p for p, info in image.partitions.items() if _has_changed(before.get(p), info)]
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
        replication.in_sync.take_image()
        for partition in list(state.logs):
            replication.advance(partition, context.cause)
        return empty

    def _empty(self, old: ClusterMetadata, image: ClusterMetadata) -> tuple[str, ...]:
        """Return the partitions without records that this broker goes on leading and of which a replica has come back.

        It has all there is, so its first fetch would let it back in (`Partition.maybeExpandIsr`); a follower without a
        log does not fetch here.
        """
        logs, name = self.broker.state.logs, self.broker.name
        back = [b for b in image.alive if b not in old.alive]
        if not back:
            return ()
        return tuple(
            p
            for p, info in image.partitions.items()
            if info.leader == name == old.leader(p)
            and any(b in info.replicas and b not in info.isr for b in back)
            and not (p in logs and logs[p].log_end_offset)
        )

    def _has_more(self, partition: str) -> bool:
        """Return True if the log goes on beyond its high watermark: before KIP-101 a new follower dropped that."""
        log = self.broker.state.logs.get(partition)
        return log is not None and log.log_end_offset > log.high_watermark

    def _resign(self, partition: str, context: Context) -> None:
        state = self.broker.state
        if topic_of(partition) == OFFSETS_TOPIC:
            groups = [state.groups.pop(g) for g in list(state.groups) if offsets_partition(g) == partition]
            self.broker.run(resign(state, groups), context)
            forget_members(state, partition)
        state.transactions.pop(partition, None)
        state.marker_queues.drop(partition)
        state.offsets.pop(partition, None)
        state.newest_offsets.pop(partition, None)
        if partition in state.offsets_loading:
            state.offsets_loading.remove(partition)
        for session in state.sessions.values():
            session.positions.pop(partition, None)
        self.broker.fail_waiters(partition)
        self.broker.wake(partition, -1)

    def _lead(self, partition: str, image: ClusterMetadata, context: Context) -> None:
        state = self.broker.state
        info = image.partitions[partition]
        self.replication.led_since[partition] = image.version
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
            self.broker.run(_after(delay, load_transactions(state, partition, info.leader_epoch)), context)
        elif topic_of(partition) == OFFSETS_TOPIC:
            state.offsets_loading.append(partition)
            self.broker.run(_after(delay, load_offsets(state, partition, info.leader_epoch)), context)


def _has_changed(before: PartitionInfo | None, now: PartitionInfo) -> bool:
    return before is not now and (before is None or before.leader_epoch != now.leader_epoch)


def _after(delay_ms: int, effects: Effects[None]) -> Effects[None]:
    yield Sleep(delay_ms)
    yield from effects


def load_offsets(broker: BrokerState, partition: str, epoch: int) -> Effects[None]:
    """Read `__consumer_offsets` back, pending offsets and groups included; every member's session begins anew."""
    info = broker.metadata.partitions.get(partition)
    if partition not in broker.offsets_loading or info is None or info.leader_epoch != epoch:
        return
    log = broker.log(partition)
    broker.offsets.pop(partition, None)
    broker.newest_offsets.pop(partition, None)
    broker.apply_offsets(broker.offsets, partition, log.stream(0, log.high_watermark))
    broker.apply_offsets(broker.newest_offsets, partition, log.batches)
    broker.offsets_loading.remove(partition)
    yield Note("coordinator loaded", {"partition": partition, "coordinator_epoch": epoch})
    for name, entry in list(broker.newest_offsets[partition].groups.items()):
        if entry is not None:
            group = broker.groups[name] = loaded_group(entry, epoch)
            for member in group.members.values():
                yield from renew_session(broker, group, member)
    for consumer_group in list(broker.newest_offsets[partition].consumer_groups.values()):
        yield from watch_members(broker, consumer_group)


def expire_producer_ids(broker: BrokerState) -> Effects[None]:
    """Forget producer ids that have written nothing for producer.id.expiration.ms
    (docs/protocol.md#producer-state-files)."""
    for partition, log in list(broker.logs.items()):
        gone = log.producers.remove_expired(broker.now)
        if gone:
            yield Note("producer ids expired", {"partition": partition, "producer_ids": gone})
