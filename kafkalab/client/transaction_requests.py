"""What a transactional producer asks of coordinators: one request at a time, retried as the table says (facts 7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkalab.api.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.api.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.api.end_txn import EndTxn
from kafkalab.api.find_coordinator import GROUP, TRANSACTION
from kafkalab.api.init_producer_id import InitProducerId
from kafkalab.api.txn_offset_commit import TxnOffsetCommit
from kafkalab.client.promise import Promise
from kafkalab.client.reactions import Reaction
from kafkalab.core.errors import Error

if TYPE_CHECKING:
    from kafkalab.client.producer import GroupMetadata, Producer

FIRST_PARTITION_BACKOFF_MS = 20


class TransactionRequests:
    """The coordinator's side of a producer. Under transaction version 2 partitions and offsets are added by brokers."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.in_transaction: set[str] = set()  # order never matters: only membership is asked
        self._new: list[str] = []
        self._adding: Promise[Any] | None = None

    @property
    def implicit(self) -> bool:
        """KIP-890 part 2: no AddPartitionsToTxn and no AddOffsetsToTxn from the client."""
        return self.producer.port.transaction_version >= 2

    def reach(self, partition: str) -> None:
        """The transaction writes to this partition."""
        if self.implicit:
            self.producer.started = True
            self.in_transaction.add(partition)
        elif partition not in self.in_transaction and partition not in self._new:
            self._new.append(partition)

    def may_send_to(self, partition: str) -> bool:
        """Whether the coordinator knows of the partition, or needs not."""
        return partition in self.in_transaction

    def begin_adding(self) -> None:
        """Add what is new, one request at a time."""
        if self._new and (self._adding is None or self._adding.done):
            self._adding = self.producer.spawn(self._add_partitions())

    async def _add_partitions(self) -> None:
        partitions, self._new = tuple(self._new), []
        producer = self.producer
        request = AddPartitionsToTxn(
            transactional_id=self._id(),
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            partitions=partitions,
        )
        backoff = 0 if self.in_transaction else FIRST_PARTITION_BACKOFF_MS
        _, error, what = await producer.connection.ask_coordinator(
            TRANSACTION, self._id(), request, _worst, first_backoff_ms=backoff
        )
        if error is Error.NONE:
            producer.started = True
            self.in_transaction.update(partitions)
        else:
            producer.fail(error, what, "AddPartitionsToTxn")
            producer.sender.drop_unsent()
        producer.sender.wake()

    async def init_producer_id(self, expect: bool) -> None:
        """A producer id and an epoch; `expect` says which ones this producer holds (KIP-360)."""
        producer = self.producer
        request = InitProducerId(
            transactional_id=self._id(),
            transaction_timeout_ms=producer.config.transaction_timeout_ms,
            producer_id=producer.producer_id if expect else -1,
            producer_epoch=producer.producer_epoch if expect else -1,
        )
        reply, error, what = await producer.connection.ask_coordinator(
            TRANSACTION, self._id(), request, lambda r: r.error
        )
        if error is Error.NONE:
            producer.adopt(reply.producer_id, reply.producer_epoch)
        else:
            producer.fail(error, what, "InitProducerId")

    async def add_offsets(self, offsets: dict[str, int], group: GroupMetadata) -> None:
        """The group's partition joins the transaction, then the offsets are written to it, pending."""
        producer = self.producer
        if not self.implicit:
            add = AddOffsetsToTxn(
                transactional_id=self._id(),
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                group_id=group.group_id,
            )
            _, error, what = await producer.connection.ask_coordinator(TRANSACTION, self._id(), add, lambda r: r.error)
            if error is not Error.NONE:
                self._raise(error, what, "AddOffsetsToTxn")
        producer.started = True
        commit = TxnOffsetCommit(
            transactional_id=self._id(),
            group_id=group.group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            offsets=offsets,
            generation_id=group.generation_id,
            member_id=group.member_id,
        )
        _, error, what = await producer.connection.ask_coordinator(GROUP, group.group_id, commit, _worst)
        if error is not Error.NONE:
            self._raise(error, what, "TxnOffsetCommit")

    async def end(self, committed: bool) -> None:
        """The decision is replicated; under version 2 the answer carries the epoch of the next transaction."""
        producer = self.producer
        request = EndTxn(
            transactional_id=self._id(),
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=committed,
        )
        reply, error, what = await producer.connection.ask_coordinator(
            TRANSACTION, self._id(), request, lambda r: r.error
        )
        self.in_transaction.clear()
        self._new.clear()
        if error is not Error.NONE:
            if error is Error.TRANSACTION_ABORTABLE and not committed:
                what = Reaction.FATAL  # KAFKA-19250
            producer.fail(error, what, "EndTxn")
        elif self.implicit:
            producer.adopt(reply.producer_id, reply.producer_epoch)

    def _raise(self, error: Error, what: Reaction, where: str) -> None:
        self.producer.fail(error, what, where)
        if self.producer.error is not None:
            raise self.producer.error

    def _id(self) -> str:
        assert self.producer.config.transactional_id is not None
        return self.producer.config.transactional_id


def _worst(reply: Any) -> Error:
    """The error that decides about a reply with one error per partition: the first real one."""
    errors: list[Error] = [e for e in reply.errors.values() if e is not Error.NONE]
    telling = [e for e in errors if e is not Error.OPERATION_NOT_ATTEMPTED]
    return (telling or errors or [Error.NONE])[0]
