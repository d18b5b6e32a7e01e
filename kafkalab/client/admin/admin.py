"""The admin client: methods named as those of Java's `Admin`, in snake_case, as coroutines (KIP-664).

Where Java returns a future per key, a method here returns a dict, and raises the first key's exception. What is
retried inside follows Java's handlers: `DescribeTransactionsHandler`, `AbortTransactionHandler`, and so on.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from kafkalab.client.admin.descriptions import (
    AbortTransactionSpec,
    ClusterDescription,
    HangingTransaction,
    ProducerIdAndEpoch,
    TransactionDescription,
    TransactionListing,
)
from kafkalab.client.connection import ClientPort, Connection
from kafkalab.client.exceptions import (
    InvalidMetadataError,
    KafkaTimeoutError,
    TopicAuthorizationError,
    TransactionalIdNotFoundError,
    exception_for,
)
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.describe_cluster import DescribeCluster
from kafkalab.protocol.messages.describe_producers import ActiveProducer, DescribeProducers
from kafkalab.protocol.messages.describe_transactions import DescribeTransactions
from kafkalab.protocol.messages.find_coordinator import TRANSACTION
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.list_transactions import ListTransactions
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers
from kafkalab.protocol.partitions import topic_of

MAX_TRANSACTION_TIMEOUT_MS = 900_000
LOOK_UP = (Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_TOPIC_OR_PARTITION)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConfig:
    """`request_timeout_ms` is also the transaction timeout under which `fence_producers` takes an id."""

    default_api_timeout_ms: int = 60_000
    request_timeout_ms: int = 30_000


class Admin:
    """One admin client. Every method raises KafkaTimeoutError after default.api.timeout.ms."""

    def __init__(self, port: ClientPort, config: AdminConfig | None = None) -> None:
        self.port = port
        self.config = config or AdminConfig()
        self.connection = Connection(port, self.config.request_timeout_ms)

    async def describe_cluster(self) -> ClusterDescription:
        """Return the live brokers, as some broker knows them."""
        response = await self._within("describe_cluster", self._ask_any(DescribeCluster()))
        return ClusterDescription(response.cluster_id, response.controller, response.brokers)

    async def create_topics(self, new_topics: Iterable[NewTopic], validate_only: bool = False) -> None:
        """Create topics, or only check them (`validate_only`). The first one that fails raises its exception."""
        request = CreateTopics(topics=tuple(new_topics), validate_only=validate_only)
        response = await self._within("create_topics", self._ask_any(request))
        for name, error in response.errors.items():
            _raise(error, f"create_topics({name!r})", name)

    async def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
        """Ask each id's coordinator for its state; TransactionalIdNotFoundError for an id that it does not know."""
        return {t: await self._within("describe_transactions", self._describe(t)) for t in transactional_ids}

    async def _describe(self, tid: str) -> TransactionDescription:
        body = DescribeTransactions(transactional_ids=(tid,))
        answer = await self.connection.ask_coordinator(TRANSACTION, tid, body, lambda response: response.error)
        _raise(answer.error, f"describe_transactions({tid!r})")
        (found,) = answer.response.transactions
        located = await self.connection.find_coordinator(TRANSACTION, tid, lambda: False)
        assert located is not None, "nothing stops the search"
        return TransactionDescription(
            located.node_id,
            found.state,
            found.producer_id,
            found.producer_epoch,
            found.timeout_ms,
            found.start_ms if found.start_ms >= 0 else None,
            found.partitions,
        )

    async def list_transactions(
        self,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        duration_ms: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> list[TransactionListing]:
        """List the ids of all brokers that pass the filters; InvalidRegularExpressionError for a bad pattern."""
        request = ListTransactions(
            state_filters=tuple(states),
            producer_id_filters=tuple(producer_ids),
            duration_filter_ms=duration_ms,
            transactional_id_pattern=transactional_id_pattern,
        )
        listings: list[TransactionListing] = await self._within("list_transactions", self._list(request))
        return listings

    async def _list(self, request: ListTransactions) -> list[TransactionListing]:
        cluster = await self._ask_any(DescribeCluster())
        found = []
        for broker in cluster.brokers:
            attempt = 0
            while (response := await self.connection.call(broker, request)) is None or response.error.retriable:
                await self.connection.back_off(attempt)
                attempt += 1
            _raise(response.error, "list_transactions")
            for one in response.transactions:
                found.append(TransactionListing(one.transactional_id, broker, one.producer_id, one.state))
        return found

    async def describe_producers(
        self, partitions: Iterable[str], broker: str = ""
    ) -> dict[str, tuple[ActiveProducer, ...]]:
        """Return the producers that each partition's leader, or the replica on `broker`, knows of."""
        return {p: await self._within("describe_producers", self._producers(p, broker)) for p in partitions}

    async def _producers(self, partition: str, broker: str) -> tuple[ActiveProducer, ...]:
        request = DescribeProducers(partitions=(partition,))
        if broker:
            response = await self.connection.call(broker, request)
            error = Error.NETWORK_EXCEPTION if response is None else response.partitions[partition].error
            _raise(error, f"describe_producers({partition!r}, broker={broker!r})", topic_of(partition))
        else:
            response = await self._ask_leader(partition, request, lambda response: response.partitions[partition].error)
        producers: tuple[ActiveProducer, ...] = response.partitions[partition].active_producers
        return producers

    async def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, ProducerIdAndEpoch]:
        """Fence the producers that hold these ids; what they left open is aborted."""
        return {t: await self._within("fence_producers", self._fence(t)) for t in transactional_ids}

    async def _fence(self, tid: str) -> ProducerIdAndEpoch:
        body = InitProducerId(transactional_id=tid, transaction_timeout_ms=self.config.request_timeout_ms)
        answer = await self.connection.ask_coordinator(TRANSACTION, tid, body, lambda response: response.error)
        _raise(answer.error, f"fence_producers({tid!r})")
        return ProducerIdAndEpoch(answer.response.producer_id, answer.response.producer_epoch)

    async def force_terminate_transaction(self, transactional_id: str) -> None:
        """End what is open under the id, through its coordinator, by fencing its producer (KAFKA-19003, 4.1)."""
        await self.fence_producers([transactional_id])

    async def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Write an ABORT marker with the given ids to the partition, which ends its hanging transaction.

        It is sent straight to the leader. Without a transaction version the rule of version 0 applies, "epoch not
        older", so that it also ends a transaction of version 2 (KIP-664).
        """
        await self._within("abort_transaction", self._abort(spec))

    async def _abort(self, spec: AbortTransactionSpec) -> None:
        request = _abort_marker(spec)
        await self._ask_leader(
            spec.partition, request, lambda response: response.markers[spec.producer_id][spec.partition]
        )

    async def find_hanging_transactions(
        self,
        topic: str = "",
        partition: int = -1,
        broker: str = "",
        max_transaction_timeout_ms: int = MAX_TRANSACTION_TIMEOUT_MS,
    ) -> list[HangingTransaction]:
        """Find open transactions that no coordinator will end, as `kafka-transactions.sh find-hanging` does.

        Search a topic (or one partition of it), or the replicas of a broker, or everything.
        """
        image = await self.connection.refresh()
        chosen = _partitions(image, topic, partition, broker)
        open_ones = await self.describe_producers(chosen, broker)
        candidates = [
            HangingTransaction(p, state, self.port.now - state.last_timestamp_ms)
            for p, states in open_ones.items()
            for state in states
            if state.current_txn_start_offset >= 0
            and self.port.now - state.last_timestamp_ms > max_transaction_timeout_ms
        ]
        if not candidates:
            return []
        listings = await self.list_transactions(producer_ids=sorted({c.producer.producer_id for c in candidates}))
        ids = {listing.producer_id: listing.transactional_id for listing in listings}
        described = {tid: await self._description_or_none(tid) for tid in ids.values()}
        return hanging_among(candidates, ids, described)

    async def _description_or_none(self, tid: str) -> TransactionDescription | None:
        try:
            return (await self.describe_transactions([tid]))[tid]
        except TransactionalIdNotFoundError:
            return None

    # asking

    async def _ask_any(self, body: Any) -> Any:
        """Return the first answer of some broker."""
        attempt = 0
        while (response := await self.connection.call(self.connection.any_broker(), body)) is None:
            self.connection.ask_another()
            await self.connection.back_off(attempt)
            attempt += 1
        return response

    async def _ask_leader(self, partition: str, body: Any, error_of: Any) -> Any:
        """Return the leader's answer; refresh the metadata if it does not lead, or does not know the partition."""
        attempt = 0
        image = await self.connection.require_metadata()
        while True:
            leader = image.leader(partition)
            response = await self.connection.call(leader, body) if leader else None
            error = Error.NETWORK_EXCEPTION if response is None else error_of(response)
            if error not in LOOK_UP and error is not Error.NETWORK_EXCEPTION:
                _raise(error, f"{type(body).__name__} on {partition}", topic_of(partition))
                return response
            await self.connection.back_off(attempt)
            attempt += 1
            image = await self.connection.refresh()

    async def _within(self, name: str, step: Coroutine[Any, Any, Any]) -> Any:
        promise, limit = self.port.spawn(step), self.config.default_api_timeout_ms
        if not await self.connection.done_within(promise, limit):
            raise KafkaTimeoutError(f"{name}() took longer than {limit} ms", Error.REQUEST_TIMED_OUT)
        return promise.result()


def hanging_among(
    candidates: list[HangingTransaction],
    transactional_ids: dict[int, str],
    descriptions: dict[str, TransactionDescription | None],
) -> list[HangingTransaction]:
    """Return the candidates, open longer than any timeout, for which no coordinator will write a marker
    (docs/protocol.md#tools).

    The producer id has no transactional id, its coordinator does not know that id, or its description does not name
    the partition.
    """
    found = []
    for candidate in candidates:
        tid = transactional_ids.get(candidate.producer.producer_id)
        description = descriptions.get(tid) if tid is not None else None
        if description is None or candidate.partition not in description.partitions:
            found.append(candidate)
    return found


def _abort_marker(spec: AbortTransactionSpec) -> WriteTxnMarkers:
    """Return the request for one marker in one partition, without a transaction version."""
    aborted = TxnMarkers(
        producer_id=spec.producer_id,
        producer_epoch=spec.producer_epoch,
        coordinator_epoch=spec.coordinator_epoch,
        committed=False,
        partitions=(spec.partition,),
        transaction_version=0,
    )
    return WriteTxnMarkers(markers=(aborted,))


def _partitions(image: ClusterMetadata, topic: str, partition: int, broker: str) -> list[str]:
    """Return the partitions to search."""
    chosen = [p for p in image.partitions if topic in ("", topic_of(p))]
    if partition >= 0:
        chosen = [p for p in chosen if p == f"{topic}-{partition}"]
    if (topic or partition >= 0) and not chosen:
        where = topic if partition < 0 else f"{topic}-{partition}"
        raise InvalidMetadataError(f"there is no {where}", Error.UNKNOWN_TOPIC_OR_PARTITION)
    return [p for p in chosen if not broker or broker in image.partitions[p].replicas]


def _raise(error: Error, what: str, topic: str = "") -> None:
    if error is Error.TOPIC_AUTHORIZATION_FAILED:
        raise TopicAuthorizationError((topic,))
    if error is not Error.NONE:
        raise exception_for(error, f"{what}: {error.name}")
