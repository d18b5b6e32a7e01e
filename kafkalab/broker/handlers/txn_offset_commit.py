"""TxnOffsetCommit: consumed offsets as records of the transaction, pending until its marker (facts 6.5)."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.authorization import unreadable
from kafkalab.broker.effects import Append, Appended, Effect, Respond, Then
from kafkalab.broker.group_coordinator.guards import commit_error, find_group, group_error, offsets_append_error
from kafkalab.broker.group_coordinator.offset_records import offsets_batch, too_large, unknown_partitions
from kafkalab.broker.state import BrokerState
from kafkalab.broker.verification import ADD, OLD_VERIFY, VERIFY, ask_coordinator, guards_for
from kafkalab.log.producer_state.append import Origin
from kafkalab.protocol.acls import GROUP, READ, TRANSACTIONAL_ID, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit, TxnOffsetCommitResponse
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch
from kafkalab.protocol.rules import GENERATION_CHECK, GROUP_SEEN_AGAIN

MEMBER_FIELDS, GROUP_NOT_FOUND, KNOWS_LOADING = 3, 6, 2


Refused = dict[str, Error]


def handle(broker: BrokerState, request: TxnOffsetCommit, now: int, header: Header) -> list[Effect]:
    """One transactional batch in the group's partition, answered when it is replicated.

    The group is looked at after the transaction coordinator has answered: it may have moved on meanwhile
    (KAFKA-15784).
    """
    if (denied := _denied(broker, request, header)) is not Error.NONE:
        return [Respond(TxnOffsetCommitResponse(errors=dict.fromkeys(request.offsets, denied)))]
    refused = {**unknown_partitions(broker, request), **unreadable(broker, header, request.offsets)}
    if len(refused) == len(request.offsets):
        return [Respond(TxnOffsetCommitResponse(errors=refused))]
    partition = offsets_partition(request.group_id)
    error = group_error(broker, request.group_id)
    if error is not Error.NONE and error is not Error.COORDINATOR_LOAD_IN_PROGRESS:
        return _answer(request, refused, error, header.version)
    batch = offsets_batch(request, refused, now, request.producer_id, request.producer_epoch)
    mode = ADD if header.version >= 5 else VERIFY if header.version == 4 else OLD_VERIFY
    verified_as = batch if batch.transactional else replace(batch, transactional=True)  # of producer id -1
    guards, stopped = guards_for(broker, {partition: verified_as}, mode, now)
    if stopped:
        return _answer(request, refused, stopped[partition], header.version)
    if not guards:
        return _append(broker, request, refused, 0, now, header.version)
    if not broker.rules.on(GROUP_SEEN_AGAIN):
        error = _member_error(broker, request, header.version)
        if error is not Error.NONE:
            return _answer(request, refused, error, header.version)
    then = Then(_verified, (request, refused, guards[partition], header.version))
    return ask_coordinator(broker, request.transactional_id, batch, (partition,), mode, then)


def _denied(broker: BrokerState, request: TxnOffsetCommit, header: Header) -> Error:
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    denied = broker.denies(header.sender, READ, GROUP, request.group_id)
    return Error.GROUP_AUTHORIZATION_FAILED if denied else Error.NONE


def _verified(
    broker: BrokerState,
    errors: dict[str, Error],
    now: int,
    request: TxnOffsetCommit,
    refused: Refused,
    guard: int,
    version: int,
) -> list[Effect]:
    error = next(iter(errors.values()))
    if error is Error.NETWORK_EXCEPTION:
        error = Error.COORDINATOR_LOAD_IN_PROGRESS
    if error is not Error.NONE:
        return _answer(request, refused, error, version)
    return _append(broker, request, refused, guard, now, version, broker.rules.on(GROUP_SEEN_AGAIN))


def _append(
    broker: BrokerState, request: TxnOffsetCommit, refused: Refused, guard: int, now: int, version: int,
    looks: bool = True,
) -> list[Effect]:  # fmt: skip
    partition = offsets_partition(request.group_id)
    error = group_error(broker, request.group_id)
    if error is Error.NONE and looks:
        error = _member_error(broker, request, version)
    if error is not Error.NONE:
        return _answer(request, refused, error, version)
    refused = {**refused, **too_large(broker, request)}
    batch = offsets_batch(request, refused, now, request.producer_id, request.producer_epoch)
    if not batch.records:
        return _answer(request, refused, Error.NONE, version)
    error = broker.log(partition).producers.data_error(batch, Origin.COORDINATOR, guard)
    if error is not Error.NONE:
        return _answer(request, refused, error, version)
    return _append_batch(broker, partition, batch, Then(_appended, (request, refused, version)))


def _append_batch(broker: BrokerState, partition: str, batch: Batch, then: Then) -> list[Effect]:
    return [Append(partition, batch, broker.config.offsets_commit_timeout_ms, then)]


def _member_error(broker: BrokerState, request: TxnOffsetCommit, version: int) -> Error:
    """KIP-447: whoever names a member must be it; who names none is taken at its word, as all were before."""
    if not broker.rules.on(GENERATION_CHECK):
        return Error.NONE
    generation, member_id, instance = request.generation_id, request.member_id, request.group_instance_id
    if version < MEMBER_FIELDS:
        generation, member_id, instance = -1, "", None
    group = find_group(broker, request.group_id)
    return commit_error(group, member_id, instance, generation, transactional=True, old=version < GROUP_NOT_FOUND)


def _appended(
    broker: BrokerState, result: Appended, now: int, request: TxnOffsetCommit, refused: Refused, version: int
) -> list[Effect]:
    return _answer(request, refused, offsets_append_error(result.error), version)


def _answer(request: TxnOffsetCommit, refused: Refused, error: Error, version: int) -> list[Effect]:
    if error is Error.COORDINATOR_LOAD_IN_PROGRESS and version < KNOWS_LOADING:
        error = Error.COORDINATOR_NOT_AVAILABLE  # clients of then take the other for fatal (KAFKA-7296)
    return [Respond(TxnOffsetCommitResponse(errors={p: refused.get(p, error) for p in request.offsets}))]
