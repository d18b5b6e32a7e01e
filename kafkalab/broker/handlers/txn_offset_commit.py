"""TxnOffsetCommit: consumed offsets as records of the transaction, pending until its marker
(docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.authorization import unreadable
from kafkalab.broker.effects import Effects
from kafkalab.broker.group_coordinator.consumer.guards import check_commit
from kafkalab.broker.group_coordinator.guards import commit_error, group_error
from kafkalab.broker.group_coordinator.log import append_batch, find_consumer_group, find_group, translate_write_error
from kafkalab.broker.group_coordinator.offset_records import offsets_batch, too_large, unknown_partitions
from kafkalab.broker.state import BrokerState
from kafkalab.broker.verification import ADD, OLD_VERIFY, VERIFY, ask_coordinator, guards_for
from kafkalab.log.producer_state.append import NO_GUARD, Origin
from kafkalab.protocol.acls import GROUP, READ, TRANSACTIONAL_ID, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.txn_offset_commit import BY_TOPIC_ID, TxnOffsetCommit, TxnOffsetCommitResponse
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.rules import GENERATION_CHECK, GROUP_SEEN_AGAIN

KNOWS_LOADING = 2


def handle(broker: BrokerState, request: TxnOffsetCommit, header: Header) -> Effects[TxnOffsetCommitResponse]:
    """One transactional batch in the group's partition, answered when it is replicated."""
    if (denied := _find_denial(broker, request, header)) is not Error.NONE:
        return TxnOffsetCommitResponse(errors=dict.fromkeys(request.offsets, denied))
    refused = {**unknown_partitions(broker, request), **unreadable(broker, header, request.offsets)}
    if len(refused) == len(request.offsets):
        return TxnOffsetCommitResponse(errors=refused)
    error = yield from _commit(broker, request, refused, header.version)
    if error is Error.COORDINATOR_LOAD_IN_PROGRESS and header.version < KNOWS_LOADING:
        error = Error.COORDINATOR_NOT_AVAILABLE  # older clients take the other for fatal (KAFKA-7296)
    return TxnOffsetCommitResponse(errors={p: refused.get(p, error) for p in request.offsets})


def _find_denial(broker: BrokerState, request: TxnOffsetCommit, header: Header) -> Error:
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    denied = broker.denies(header.sender, READ, GROUP, request.group_id)
    return Error.GROUP_AUTHORIZATION_FAILED if denied else Error.NONE


def _commit(
    broker: BrokerState, request: TxnOffsetCommit, refused: dict[str, Error], version: int
) -> Effects[Error]:
    """Verify, check the member, append; return one error for every partition that is not in `refused`.

    The group is looked at after the transaction coordinator has answered: it may have moved on meanwhile
    (KAFKA-15784).
    """
    partition = offsets_partition(request.group_id)
    error = group_error(broker, request.group_id)
    if error is not Error.NONE and error is not Error.COORDINATOR_LOAD_IN_PROGRESS:
        return error
    batch = offsets_batch(request, refused, broker.now, request.producer_id, request.producer_epoch)
    mode = ADD if version >= 5 else VERIFY if version == 4 else OLD_VERIFY
    verified_as = batch if batch.transactional else replace(batch, transactional=True)  # of producer id -1
    guards, stopped = guards_for(broker, {partition: verified_as}, mode)
    if stopped:
        return stopped[partition]
    looks = not guards or broker.rules.on(GROUP_SEEN_AGAIN)
    if not looks and (error := _member_error(broker, request, version)) is not Error.NONE:
        return error
    if guards:
        errors = yield from ask_coordinator(broker, request.transactional_id, batch, (partition,), mode)
        error = errors[partition]
        if error is not Error.NONE:
            return translate_write_error(error)
    error = group_error(broker, request.group_id)
    if error is Error.NONE and looks:
        error = _member_error(broker, request, version)
    if error is not Error.NONE:
        return error
    refused.update(too_large(broker, request))
    batch = offsets_batch(request, refused, broker.now, request.producer_id, request.producer_epoch)
    if not batch.records:
        return Error.NONE
    guard = guards.get(partition, NO_GUARD)
    error = broker.log(partition).producers.data_error(batch, Origin.COORDINATOR, guard)
    return error if error is not Error.NONE else (yield from append_batch(broker, request.group_id, batch))


def _member_error(broker: BrokerState, request: TxnOffsetCommit, version: int) -> Error:
    """KIP-447: whoever names a member must be it; who names none is taken at its word, as all were before."""
    if not broker.rules.on(GENERATION_CHECK):
        return Error.NONE
    consumers = find_consumer_group(broker, request.group_id)
    if consumers is not None:
        return check_commit(consumers, request, too_large(broker, request), version, transactional=True)
    generation, member_id, instance = request.generation_id, request.member_id, request.group_instance_id
    group = find_group(broker, request.group_id)
    return commit_error(group, member_id, instance, generation, transactional=True, old=version < BY_TOPIC_ID)
