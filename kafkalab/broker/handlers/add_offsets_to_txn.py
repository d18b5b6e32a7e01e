"""AddOffsetsToTxn: the group's `__consumer_offsets` partition joins the transaction (TV0/TV1 clients only)."""

from __future__ import annotations

from kafkalab.broker.effects import Effect, Respond, Then
from kafkalab.broker.handlers.add_partitions_to_txn import add
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.error_translation import as_told
from kafkalab.protocol.acls import GROUP, READ, TRANSACTIONAL_ID, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn, AddOffsetsToTxnResponse
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.partitions import offsets_partition


def handle(broker: BrokerState, request: AddOffsetsToTxn, now: int, header: Header) -> list[Effect]:
    """The same as AddPartitionsToTxn with the one partition that owns the group; always under version 0."""
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return [Respond(AddOffsetsToTxnResponse(error=Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))]
    if broker.denies(header.sender, READ, GROUP, request.group_id):
        return [Respond(AddOffsetsToTxnResponse(error=Error.GROUP_AUTHORIZATION_FAILED))]
    as_partition = AddPartitionsToTxn(
        transactional_id=request.transactional_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        partitions=(offsets_partition(request.group_id),),
    )
    return add(broker, as_partition, 0, now, Then(_added, (header.version,)))


def _added(broker: BrokerState, error: Error, now: int, version: int) -> list[Effect]:
    return [Respond(AddOffsetsToTxnResponse(error=as_told(broker, error, version)))]
