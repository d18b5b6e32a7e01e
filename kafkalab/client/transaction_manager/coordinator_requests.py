"""The requests of a transaction manager: one at a time, retried as the table of reactions says
(docs/protocol.md#producer-reactions)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kafkalab.client.connection import RETRY_BACKOFF_MS, Connection, CoordinatorAnswer
from kafkalab.client.exceptions import (
    ClusterAuthorizationError,
    KafkaError,
    TransactionalIdAuthorizationError,
)
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata, Offsets, offset_fields
from kafkalab.client.transaction_manager.coordinator_errors import coordinator_error, partitions_error
from kafkalab.client.transaction_manager.error_reactions import Reaction, reaction
from kafkalab.client.transaction_manager.transaction_manager import TransactionManager
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.find_coordinator import GROUP, TRANSACTION
from kafkalab.protocol.messages.init_producer_id import InitProducerId, InitProducerIdResponse
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.transition_tables.producer import ProducerState, SenderEvent

FIRST_PARTITION_BACKOFF_MS = 20
NO_TIMEOUT_MS = 2**31 - 1
"""The time-out in the InitProducerId of an idempotent producer, which has no transactions."""
ASKED_AGAIN = (TransactionalIdAuthorizationError, ClusterAuthorizationError)
"""After these errors of InitProducerId the producer is UNINITIALIZED once more (`shouldHandleAuthorizationError`)."""


class CoordinatorRequests:
    """Send requests to the transaction and group coordinators, each after the answer to the one before it.

    A request either succeeds, or puts the manager into an error state and raises the exception.
    """

    def __init__(self, manager: TransactionManager, connection: Connection) -> None:
        self.manager, self.connection = manager, connection
        self._adding: Promise[Any] | None = None
        self._last: Promise[Any] | None = None

    async def finish(self) -> None:
        """Wait until the last request has its answer, and partitions that are to be added have been."""
        if self._adding is not None:
            with suppress(KafkaError):
                await self._adding
        if self._last is not None:
            await self._last

    async def _ask(
        self,
        body: object,
        error_of: Callable[[Any], Error],
        group: str | None = None,
        first_backoff_ms: int = 0,
        retrying: Callable[[Error], object] = lambda error: None,
        version: int | None = None,
    ) -> CoordinatorAnswer:
        """Return the final answer; call `retrying` before each back-off.

        Nothing is sent once the producer has failed or was closed: that error is raised.
        """
        manager = self.manager
        before, mine = self._last, manager.port.promise()
        self._last = mine
        if before is not None:
            await before
        key_type, key = (TRANSACTION, self._id()) if group is None else (GROUP, group)
        try:
            answer = await self.connection.ask_coordinator(
                key_type,
                key,
                body,
                error_of,
                lambda: manager.failed or manager.closed,
                first_backoff_ms,
                retrying,
                version,
            )
        finally:
            mine.resolve(None)
        if answer.stopped:
            raise manager.error or KafkaError("The producer closed forcefully")
        return answer

    def _check(self, answer: CoordinatorAnswer, group_id: str = "") -> None:
        """Raise what went wrong, after the manager has entered the state that the table says."""
        if answer.error is Error.NONE:
            return
        exception = coordinator_error(answer, group_id)
        self.manager.fail(exception, answer.reaction)
        raise exception

    def add_new_partitions(self) -> None:
        """Begin to add the new partitions to the transaction, unless such a request is under way."""
        if self._adding is None or self._adding.done:
            self._add_all()

    def _add_all(self, _error: Error = Error.NONE) -> None:
        """Ask for the new partitions, together with those that an earlier request is to be sent again for."""
        if self.manager.new_partitions:
            partitions = self.manager.take_new_partitions()
            self._adding = self.manager.port.spawn(self._add_partitions(partitions))

    async def _add_partitions(self, partitions: tuple[str, ...]) -> None:
        manager = self.manager
        request = AddPartitionsToTxn(
            transactional_id=self._id(),
            producer_id=manager.producer_id,
            producer_epoch=manager.producer_epoch,
            partitions=partitions,
        )
        backoff = 0 if manager.partitions else FIRST_PARTITION_BACKOFF_MS
        answer = await self._ask(request, _of_partitions, first_backoff_ms=backoff, retrying=self._add_all)
        manager.answered_partitions(partitions)
        if answer.error is Error.NONE:
            manager.begin_at_coordinator(partitions)
        elif answer.response is not None and _definite(answer.response.errors) is Error.NONE:
            manager.fail(partitions_error(answer.response.errors), Reaction.ABORTABLE)
        else:
            manager.fail(coordinator_error(answer), answer.reaction)
        manager.wake_sender()

    async def initialise(self, expect: bool = False) -> None:
        """Become READY with a producer id and an epoch; `expect` names the identity held at present (KIP-360).

        After an error of authorization the state is UNINITIALIZED: `init_transactions` may be called again.
        """
        try:
            await self._init_producer_id(expect)
        except ASKED_AGAIN:
            if self.manager.state is ProducerState.ABORTABLE_ERROR:
                self.manager.apply_event(SenderEvent.INIT_REFUSED)
            raise
        self.manager.apply_event(SenderEvent.INITIALIZED)

    async def _init_producer_id(self, expect: bool) -> None:
        """Take a producer id and an epoch from the coordinator.

        Two-phase commit is requested only where the coordinator knows InitProducerId 6 (KIP-939). Elsewhere the setting
        changes nothing, as in Java 4.3.1 and 4.4.0: version 5 goes out, with the ordinary timeout.
        """
        manager = self.manager
        request = InitProducerId(
            transactional_id=self._id(),
            transaction_timeout_ms=manager.config.transaction_timeout_ms,
            producer_id=manager.producer_id if expect else -1,
            producer_epoch=manager.producer_epoch if expect else -1,
            enable_2pc=manager.config.transaction_two_phase_commit_enable and manager.port.two_phase_commit,
        )
        answer = await self._ask(request, lambda r: r.error)
        self._check(answer)
        manager.adopt(answer.response.producer_id, answer.response.producer_epoch)

    async def initialise_idempotent(self) -> None:
        """Take a producer id from any broker, for a producer without a transactional id.

        Raise an error that the table calls abortable: the waiting batches fail, and the next one asks again. The state
        becomes READY; a producer older than KIP-360 has none.
        """
        manager = self.manager
        if not manager.config.legacy:
            manager.apply_event(SenderEvent.ID_NEEDED)
        while manager.producer_id == -1 and not manager.fatal:
            body = InitProducerId(transactional_id=None, transaction_timeout_ms=NO_TIMEOUT_MS)
            response: InitProducerIdResponse | None = await self.connection.call(self.connection.any_broker(), body)
            if response is None:
                self.connection.ask_another()
            elif response.error is Error.NONE:
                manager.adopt(response.producer_id, response.producer_epoch)
                if not manager.config.legacy:
                    manager.apply_event(SenderEvent.INITIALIZED)
                return
            elif (what := reaction("InitProducerId", response.error)) not in (Reaction.RETRY, Reaction.LOOKUP):
                exception = coordinator_error(CoordinatorAnswer(response, "InitProducerId", response.error, what))
                manager.fail(exception, what)
                if what is Reaction.FATAL:
                    return
                if isinstance(exception, ASKED_AGAIN):
                    manager.apply_event(SenderEvent.INIT_REFUSED)
                raise exception
            await self.connection.sleep(RETRY_BACKOFF_MS)

    async def add_offsets(self, offsets: Offsets, group: GroupMetadata) -> None:
        """Add the group's partition to the transaction, then write the offsets to it, pending."""
        manager, found, version = self.manager, offset_fields(offsets), self.manager.transaction_version
        if not manager.brokers_add_partitions:
            add = AddOffsetsToTxn(
                transactional_id=self._id(),
                producer_id=manager.producer_id,
                producer_epoch=manager.producer_epoch,
                group_id=group.group_id,
            )
            self._check(await self._ask(add, lambda r: r.error), group.group_id)
        manager.begin_at_coordinator()
        commit = TxnOffsetCommit(
            transactional_id=self._id(),
            group_id=group.group_id,
            producer_id=manager.producer_id,
            producer_epoch=manager.producer_epoch,
            offsets=found.offsets,
            metadata=found.metadata,
            leader_epochs=found.leader_epochs,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
        )
        self._check(await self._ask(commit, _of_offsets, group.group_id, version=version), group.group_id)

    async def end(self, committed: bool) -> None:
        """Commit or abort and become READY.

        No EndTxn is sent if the coordinator knows of no transaction. A new epoch is taken if an error asked for one.
        Without a producer id (initTransactions failed) there is no epoch to raise: as in Java, InitProducerId then goes
        before EndTxn, and READY does not lead to INITIALIZING, so that the producer ends in FATAL_ERROR.
        """
        manager = self.manager
        if manager.failed and manager.error is not None:
            raise manager.error  # the call that waited gets the error itself
        if manager.bump_needed and manager.producer_id == -1:
            manager.apply_event(SenderEvent.EPOCH_NEEDED)
            await self.initialise()
            manager.complete()
            return
        if manager.started:
            await self._end_txn(committed)
        if manager.complete():
            await self.initialise(expect=True)

    async def _end_txn(self, committed: bool) -> None:
        """Wait until the decision is replicated; from version 5 on the answer carries the next transaction's epoch."""
        manager = self.manager
        request = EndTxn(
            transactional_id=self._id(),
            producer_id=manager.producer_id,
            producer_epoch=manager.producer_epoch,
            committed=committed,
        )
        answer = await self._ask(request, lambda r: r.error, version=manager.ending_version)
        if answer.api == "EndTxn" and answer.error is not Error.NONE:
            answer = replace(answer, reaction=reaction("EndTxn", answer.error, aborting=not committed))
        self._check(answer)
        if answer.response.producer_id != -1:
            manager.adopt(answer.response.producer_id, answer.response.producer_epoch)

    def _id(self) -> str:
        assert self.manager.config.transactional_id is not None
        return self.manager.config.transactional_id


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
