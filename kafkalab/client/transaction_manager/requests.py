"""What a transactional producer asks of coordinators: one request at a time, retried as the table says (facts 7.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafkalab.client.connection import Answer
from kafkalab.client.exceptions import KafkaError, UnsupportedVersionError
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata, Offsets, offset_fields
from kafkalab.client.transaction_manager.error_reactions import Reaction, reaction
from kafkalab.client.transaction_manager.failures import failure, partitions_failure
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.find_coordinator import GROUP, TRANSACTION
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit

if TYPE_CHECKING:
    from kafkalab.client.producer.producer import Producer

FIRST_PARTITION_BACKOFF_MS = 20
TWO_PHASE_UNKNOWN = "The broker does not know two-phase commit: it takes InitProducerId version 6 (KIP-939)"


class TransactionRequests:
    """The coordinator's side of a producer. Under transaction version 2 partitions and offsets are added by brokers.

    Each request either succeeds, or puts the producer into an error state and raises the error that it met.
    """

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.in_transaction: set[str] = set()  # order never matters: only membership is asked
        self._new: list[str] = []
        self._adding: Promise[Any] | None = None
        self._last: Promise[Any] | None = None

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

    def forget_new(self) -> None:
        """An abort needs no further partitions."""
        self._new.clear()

    def clear(self) -> None:
        """The transaction is over."""
        self._new.clear()
        self.in_transaction.clear()

    async def quiet(self) -> None:
        """The request under way, if there is one, has its answer."""
        if self._last is not None:
            await self._last

    async def _ask(
        self, body: Any, error_of: Callable[[Any], Error], group: str | None = None, first_backoff_ms: int = 0
    ) -> Answer:
        """The final answer; a request waits for the one before it, and is not sent once the producer has failed."""
        producer = self.producer
        before, mine = self._last, producer.port.promise()
        self._last = mine
        if before is not None:
            await before
        key_type, key = (TRANSACTION, self._id()) if group is None else (GROUP, group)
        try:
            answer = await producer.connection.ask_coordinator(
                key_type, key, body, error_of, lambda: producer.failed or producer.forced, first_backoff_ms
            )
        finally:
            mine.resolve(None)
        if answer.stopped:
            raise producer.error or KafkaError("Producer is closed forcefully.")
        return answer

    def _check(self, answer: Answer) -> None:
        """Raise what went wrong, after the producer has gone into the state that the table says."""
        if answer.error is Error.NONE:
            return
        exception = failure(answer.api, answer.error, answer.reaction)
        self.producer.fail(exception, answer.reaction)
        raise exception

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
        answer = await self._ask(request, _of_partitions, first_backoff_ms=backoff)
        if answer.error is Error.NONE:
            producer.started = True
            self.in_transaction.update(partitions)
        elif answer.response is not None and _definite(answer.response.errors) is Error.NONE:
            producer.fail(partitions_failure(answer.response.errors), Reaction.ABORTABLE)
        else:
            producer.fail(failure(answer.api, answer.error, answer.reaction), answer.reaction)
        producer.sender.wake()

    async def init_producer_id(self, expect: bool) -> None:
        """A producer id and an epoch; `expect` says which ones this producer holds (KIP-360)."""
        producer = self.producer
        if producer.config.transaction_two_phase_commit_enable and not producer.port.two_phase_commit:
            refusal = UnsupportedVersionError(TWO_PHASE_UNKNOWN, Error.UNSUPPORTED_VERSION)
            producer.fail(refusal, Reaction.FATAL)
            raise refusal
        request = InitProducerId(
            transactional_id=self._id(),
            transaction_timeout_ms=producer.config.transaction_timeout_ms,
            producer_id=producer.producer_id if expect else -1,
            producer_epoch=producer.producer_epoch if expect else -1,
        )
        answer = await self._ask(request, lambda r: r.error)
        self._check(answer)
        producer.adopt(answer.response.producer_id, answer.response.producer_epoch)

    async def add_offsets(self, offsets: Offsets, group: GroupMetadata) -> None:
        """The group's partition joins the transaction, then the offsets are written to it, pending."""
        producer, found = self.producer, offset_fields(offsets)
        if not self.implicit:
            add = AddOffsetsToTxn(
                transactional_id=self._id(),
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                group_id=group.group_id,
            )
            self._check(await self._ask(add, lambda r: r.error))
        producer.started = True
        commit = TxnOffsetCommit(
            transactional_id=self._id(),
            group_id=group.group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            offsets=found.offsets,
            metadata=found.metadata,
            leader_epochs=found.leader_epochs,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
        )
        self._check(await self._ask(commit, _of_offsets, group=group.group_id))

    async def end(self, committed: bool) -> None:
        """The decision is replicated; from version 5 on the answer carries the epoch of the next transaction."""
        producer = self.producer
        request = EndTxn(
            transactional_id=self._id(),
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            committed=committed,
        )
        answer = await self._ask(request, lambda r: r.error)
        if answer.api == "EndTxn" and answer.error is not Error.NONE:
            answer = replace(answer, reaction=reaction("EndTxn", answer.error, aborting=not committed))
        self._check(answer)
        if answer.response.producer_id != -1:
            producer.adopt(answer.response.producer_id, answer.response.producer_epoch)

    def _id(self) -> str:
        assert self.producer.config.transactional_id is not None
        return self.producer.config.transactional_id


_OF_ONE_PARTITION = (Error.NONE, Error.TOPIC_AUTHORIZATION_FAILED)


def _definite(errors: dict[str, Error]) -> Error:
    """The first error that decides about the whole request; NONE if all concern single partitions."""
    for error in errors.values():
        if error in _OF_ONE_PARTITION or error is Error.OPERATION_NOT_ATTEMPTED:
            continue
        what = reaction("AddPartitionsToTxn", error)
        if what is not Reaction.ABORTABLE or error is Error.TRANSACTION_ABORTABLE:
            return error
    return Error.NONE


def _of_partitions(response: Any) -> Error:
    """The error that decides: a definite one, else the first of a single partition."""
    return next((e for e in (_definite(response.errors), *response.errors.values()) if e is not Error.NONE), Error.NONE)


def _of_offsets(response: Any) -> Error:
    """The first error that is final, else the first; offsets that were taken are sent again with the others."""
    errors: list[Error] = [e for e in response.errors.values() if e is not Error.NONE]
    again = (Reaction.RETRY, Reaction.LOOKUP)
    final = [e for e in errors if reaction("TxnOffsetCommit", e) not in again]
    return (final or errors or [Error.NONE])[0]
