"""AddOffsetsToTxn: the group's `__consumer_offsets` partition joins the transaction (TV0/TV1 clients only)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects
from kafkalab.broker.handlers.add_partitions_to_txn import add
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.guards import check_add_offsets, translate_error
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn, AddOffsetsToTxnResponse
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.partitions import offsets_partition


def handle(broker: BrokerState, request: AddOffsetsToTxn, header: Header) -> Effects[AddOffsetsToTxnResponse]:
    """The same as AddPartitionsToTxn with the one partition that owns the group; always under version 0."""
    error = check_add_offsets(broker, request, header)
    if error is Error.NONE:
        as_partition = AddPartitionsToTxn(
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            partitions=(offsets_partition(request.group_id),),
        )
        error = yield from add(broker, as_partition, 0)
    return AddOffsetsToTxnResponse(error=translate_error(broker, error, header.version))
