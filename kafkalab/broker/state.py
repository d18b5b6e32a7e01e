"""Everything that one broker knows. Facts follow from its logs; the rest is forgotten in a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kafkalab.broker.effects import Effects, Suspension
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.log.batch_list import SpillFile
from kafkalab.log.group_offsets import GroupOffsets
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.acls import Deny, is_denied
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, topic_of, transaction_partition
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch
from kafkalab.protocol.rules import EFFECTIVE_MIN_ISR, NEWEST_OFFSET
from kafkalab.protocol.transaction_metadata import Txn, TxnState


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """Broker settings, with Kafka 4.4's defaults (docs/protocol.md#defaults)."""

    transaction_max_timeout_ms: int = 900_000
    transaction_abort_cleanup_interval_ms: int = 10_000
    transaction_remove_expired_cleanup_interval_ms: int = 3_600_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_state_log_max_message_bytes: int = 1_048_588
    transaction_state_log_min_isr: int = 2
    transaction_state_log_replication_factor: int = 0
    """Kafka's default is 3; 0: 3, or as many as there are brokers, so that a smaller cluster works as it is."""
    num_partitions: int = 1
    min_insync_replicas: int = 1
    message_max_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    add_partitions_retry_backoff_ms: int = 20
    add_partitions_retry_backoff_max_ms: int = 100
    offsets_commit_timeout_ms: int = 5_000
    offset_metadata_max_bytes: int = 4096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2**31 - 1
    group_new_member_join_timeout_ms: int = 300_000
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_max_size: int = 2**31 - 1
    group_consumer_assignment_interval_ms: int = 1_000
    request_timeout_ms: int = 30_000
    replica_lag_time_max_ms: int = 30_000
    coordinator_load_ms: int = 5
    replica_fetch_backoff_ms: int = 1_000
    producer_id_block_size: int = 1000
    producer_id_expiration_ms: int = 86_400_000
    delete_retention_ms: int = 86_400_000
    log_retention_ms: int = 604_800_000
    log_retention_bytes: int = -1
    log_retention_check_interval_ms: int = 300_000
    producer_id_expiration_check_interval_ms: int = 600_000
    transaction_two_phase_commit_enable: bool = False
    unstable_api_versions_enable: bool = False
    """True if InitProducerId version 6 is offered, which KIP-939 needs; Kafka's own setting is internal."""
    transaction_version: int | None = None
    """The cluster's finalized `transaction.version`, 0 to 2; None: the profile's."""


@dataclass(slots=True)
class Waiter:
    """A generator that waits for an append: the high watermark must reach `offset`, by `deadline_ms`."""

    offset: int
    effects: Effects[Any]
    context: Any
    appended: Any
    deadline_ms: int


@dataclass(slots=True)
class FetchSession:
    """A follower as its leader sees it: what it has of each partition, and its parked request (KIP-227).

    While nothing is new, the follower is taken to repeat its request every `replica.fetch.wait.max.ms`, until
    `silent_since_ms` if that is not -1. `opened` is the number of the request that began the session; a fetch with a
    smaller one belongs to an earlier session, perhaps of the follower's process before its crash. Kafka compares
    session ids instead.
    """

    opened: int = -1
    epoch: int = 0
    positions: dict[str, int] = field(default_factory=dict)
    behind: dict[str, None] = field(default_factory=dict)  # partitions of which the follower may lack something
    caught_up_ms: dict[str, int] = field(default_factory=dict)
    log_starts: dict[str, int] = field(default_factory=dict)  # as the follower said; 0 is not said
    told_starts: dict[str, int] = field(default_factory=dict)  # as it was told
    parked: Any = None
    answered_ms: int = 0  # when the request that was parked last was answered
    silent_since_ms: int = -1

    def heard_ms(self, now: int) -> int:
        """Return when the follower has last repeated its parked request, to replica.fetch.wait.max.ms, or did."""
        if self.parked is None:
            return self.answered_ms
        return now if self.silent_since_ms < 0 else self.silent_since_ms


@dataclass(slots=True)
class TxnPartition:
    """The cache of a `__transaction_state` partition that this broker leads, at its leader epoch.

    `failed_fences` names the ids whose epoch was raised in memory for an abort that could not be written
    (`TransactionMetadata.hasFailedEpochFence`).
    """

    coordinator_epoch: int
    loading: bool
    txns: dict[str, Txn] = field(default_factory=dict)
    pending: dict[str, TxnState] = field(default_factory=dict)
    markers: dict[str, MarkerProgress] = field(default_factory=dict)
    failed_fences: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class MarkerProgress:
    """A decided transaction whose markers are being written: the partitions that still lack theirs.

    `completed` is the record to append after the last one; `logged` says that the decision itself is durable.
    """

    txn: Txn
    completed: Txn
    coordinator_epoch: int
    remaining: list[str]
    logged: bool = True


@dataclass(frozen=True, slots=True)
class QueuedMarkers:
    """The markers of one transaction that go to one broker."""

    progress: MarkerProgress
    partitions: tuple[str, ...]


@dataclass(slots=True)
class MarkerQueues:
    """The markers that a coordinator has to send: per broker, and there per `__transaction_state` partition.

    The broker "" stands for all whose leader is not known or not alive at the moment.
    """

    brokers: dict[str, dict[str, list[QueuedMarkers]]] = field(default_factory=dict)
    looks_up: bool = False

    def drop(self, partition: str) -> None:
        """Forget what was queued for transactions of this `__transaction_state` partition."""
        for queue in self.brokers.values():
            queue.pop(partition, None)


@dataclass(slots=True)
class CoordinatorLink:
    """A leader's questions to one coordinator: how many are unanswered, and what is queued per transactional id."""

    in_flight: int = 0
    old_errors: bool = False  # as the first question in the queue was asked; it counts for all of them
    queued: dict[str, tuple[Any, Suspension]] = field(default_factory=dict)


ConsumerTimer: TypeAlias = tuple[str, str, str]
"""A kind of deadline, a consumer group, and the member that must meet the deadline."""


@dataclass(slots=True)
class BrokerState:
    """One broker. `logs` survive a crash; all other mutable fields are volatile.

    `now` is the time of the event that is being handled, in ms; the broker sets it before it runs a handler.
    """

    name: str
    config: BrokerConfig
    rules: Rules
    now: int = 0
    logs: dict[str, PartitionLog] = field(default_factory=dict)
    metadata: ClusterMetadata = field(default_factory=ClusterMetadata)
    transactions: dict[str, TxnPartition] = field(default_factory=dict)
    marker_queues: MarkerQueues = field(default_factory=MarkerQueues)
    coordinator_links: dict[str, CoordinatorLink] = field(default_factory=dict)
    offsets: dict[str, GroupOffsets] = field(default_factory=dict)  # as far as they are replicated
    newest_offsets: dict[str, GroupOffsets] = field(default_factory=dict)  # as far as they are appended
    offsets_loading: list[str] = field(default_factory=list)
    groups: dict[str, ClassicGroup] = field(default_factory=dict)
    consumer_deadlines: dict[ConsumerTimer, int] = field(default_factory=dict)
    held: dict[str, Suspension] = field(default_factory=dict)  # where requests wait for a group
    sessions: dict[str, FetchSession] = field(default_factory=dict)
    waiters: dict[str, list[Waiter]] = field(default_factory=dict)
    parked_fetches: dict[str, list[Any]] = field(default_factory=dict)
    producer_ids: list[int] = field(default_factory=list)  # next id, end of the block
    next_producer_ids: list[int] = field(default_factory=list)  # the block after it, fetched in advance
    allocating: bool = False
    epoch_start: dict[str, int] = field(default_factory=dict)  # partition led -> log end when elected
    acls: tuple[Deny, ...] = ()
    stalls: dict[tuple[str, str], Callable[[], int]] = field(default_factory=dict)
    """By request and window: a function that returns for how long the thread stands still there (`Stall`)."""
    spill_file: SpillFile | None = None
    """The store to which logs that are made from now on move older batches."""

    def log(self, partition: str) -> PartitionLog:
        """The local replica, made when first used."""
        log = self.logs.get(partition)
        if log is None:
            log = PartitionLog(partition, self.rules, self.config.producer_id_expiration_ms, self.spill_file)
            self.logs[partition] = log
        return log

    def apply_offsets(self, views: dict[str, GroupOffsets], partition: str, batches: Iterable[Batch]) -> None:
        """Replay batches of a `__consumer_offsets` partition into one of the two views of it."""
        offsets = views.get(partition)
        if offsets is None:
            offsets = views[partition] = GroupOffsets(self.rules.on(NEWEST_OFFSET))
        for batch in batches:
            offsets.apply(batch)

    def holds(self, partition: str) -> bool:
        """Return True if this broker has a replica of the partition."""
        info = self.metadata.partitions.get(partition)
        return info is not None and self.name in info.replicas

    def leads(self, partition: str) -> bool:
        """Return True if this broker believes that it leads the partition."""
        info = self.metadata.partitions.get(partition)
        return info is not None and info.leader == self.name

    @property
    def transaction_version(self) -> int:
        """The cluster's transaction version: 0, 1 or 2."""
        configured = self.config.transaction_version
        return self.rules.cluster_level if configured is None else configured

    def min_isr(self, partition: str) -> int:
        """Return min.insync.replicas of the partition's topic, but not more than it has replicas
        (`Partition.effectiveMinIsr`)."""
        logged = topic_of(partition) == TRANSACTION_TOPIC
        configured = self.config.transaction_state_log_min_isr if logged else self.config.min_insync_replicas
        replicas = len(self.metadata.partitions[partition].replicas)
        return replicas if replicas < configured and self.rules.on(EFFECTIVE_MIN_ISR) else configured

    def denies(self, principal: str, operation: str, kind: str, name: str = "") -> bool:
        """Return True if a client may not do this: `denies("app", WRITE, TOPIC, "out")`; the cluster has no name."""
        return bool(self.acls) and is_denied(self.acls, principal, operation, f"{kind}:{name}" if name else kind)

    def is_under_min_isr(self, partition: str) -> bool:
        """Return whether fewer replicas are in sync than min.insync.replicas requires, which is never more than there
        are (`Partition.effectiveMinIsr`)."""
        info = self.metadata.partitions.get(partition)
        return info is not None and len(info.isr) < self.min_isr(partition)

    def high_watermark_stands(self, partition: str) -> bool:
        """Return whether too few replicas are in sync for the high watermark to move."""
        info = self.metadata.partitions.get(partition)
        lacks = info is not None and len(info.isr) < len(info.replicas)
        return lacks and self.rules.on(EFFECTIVE_MIN_ISR) and self.is_under_min_isr(partition)

    def coordinates(self, transactional_id: str) -> TxnPartition | Error:
        """The loaded cache that owns the id, or NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS
        (docs/protocol.md#coordinator-checks)."""
        partition = transaction_partition(transactional_id)
        owned = self.transactions.get(partition)
        if owned is None:
            if not self.leads(partition):
                return Error.NOT_COORDINATOR
            epoch = self.metadata.partitions[partition].leader_epoch
            owned = self.transactions[partition] = TxnPartition(epoch, loading=False)
        return Error.COORDINATOR_LOAD_IN_PROGRESS if owned.loading else owned

    def park(self, partitions: Iterable[str], wake: object) -> None:
        """Remember a Fetch that waits for these partitions; `wake` lets it look again."""
        for partition in partitions:
            self.parked_fetches.setdefault(partition, []).append(wake)

    def unpark(self, partitions: Iterable[str], wake: object) -> None:
        """Forget a parked Fetch; on partitions where nothing new comes, it would stay for ever."""
        for partition in partitions:
            if wake in (parked := self.parked_fetches.get(partition, [])):
                parked.remove(wake)

    def forget(self) -> None:
        """A crash: all that is not in a log is gone."""
        self.logs = {p: log.reload() for p, log in self.logs.items()}
        self.transactions, self.marker_queues, self.coordinator_links = {}, MarkerQueues(), {}
        self.offsets, self.newest_offsets, self.offsets_loading = {}, {}, []
        self.groups, self.consumer_deadlines, self.held = {}, {}, {}
        self.sessions, self.waiters, self.parked_fetches = {}, {}, {}
        self.producer_ids, self.next_producer_ids, self.allocating, self.epoch_start = [], [], False, {}
