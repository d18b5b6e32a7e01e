"""AddOffsetsToTxn: the group's `__consumer_offsets` partition joins the transaction (TV0/TV1 clients only)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.add_partitions_to_txn import AddPartitionsToTxn, add
from kafkalab.api.api import Api, Header
from kafkalab.api.fenced_code import as_told
from kafkalab.core.acls import GROUP, READ, TRANSACTIONAL_ID, WRITE
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.partitions import offsets_partition


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxn:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxnReply:
    error: Error = Error.NONE


def handle(broker: BrokerState, request: AddOffsetsToTxn, now: int, header: Header) -> list[Effect]:
    """The same as AddPartitionsToTxn with the one partition that owns the group; always under version 0."""
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return [Reply(AddOffsetsToTxnReply(error=Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))]
    if broker.denies(header.sender, READ, GROUP, request.group_id):
        return [Reply(AddOffsetsToTxnReply(error=Error.GROUP_AUTHORIZATION_FAILED))]
    as_partition = AddPartitionsToTxn(
        transactional_id=request.transactional_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        partitions=(offsets_partition(request.group_id),),
    )
    return add(broker, as_partition, 0, now, Then(_added, (header.version,)))


def _added(broker: BrokerState, error: Error, now: int, version: int) -> list[Effect]:
    return [Reply(AddOffsetsToTxnReply(error=as_told(broker, error, version)))]


API = Api(
    25,
    range(0, 5),
    AddOffsetsToTxn,
    AddOffsetsToTxnReply,
    handle,
    "transaction",
    "Tells the coordinator that the consumed offsets of a group belong to the transaction.",
)
