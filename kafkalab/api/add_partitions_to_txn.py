"""AddPartitionsToTxn: from a client (up to version 3) or from a leader on a client's behalf (4 and later, KIP-890)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.api.authorisation import refused_partitions
from kafkalab.api.transaction_log import append_txn
from kafkalab.core.acls import CLUSTER, CLUSTER_ACTION, TRANSACTIONAL_ID, WRITE
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.core.transaction import PREPARED, Txn, TxnState
from kafkalab.core.txn_table import TABLES, Ask, Refuse
from kafkalab.rules import COORDINATOR_EPOCH_CHECK


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxn:
    """`verify_only` asks whether the partitions are in the transaction and adds none."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnReply:
    """`error` is about the whole request (from version 4 on), `errors` about each partition."""

    errors: dict[str, Error]
    error: Error = Error.NONE


def handle(broker: BrokerState, request: AddPartitionsToTxn, now: int, header: Header) -> list[Effect]:
    """All partitions added and replicated, or none: the innocent ones get OPERATION_NOT_ATTEMPTED."""
    if (refused := _refused(broker, request, header)) is not Error.NONE:
        return [Reply(AddPartitionsToTxnReply(errors=dict.fromkeys(request.partitions, refused)))]
    denied = _denied(broker, request, header)
    unknown = [p for p in request.partitions if p not in broker.metadata.partitions]
    if (denied or unknown) and not request.verify_only:
        errors = dict.fromkeys(request.partitions, Error.OPERATION_NOT_ATTEMPTED)
        errors.update(dict.fromkeys(unknown, Error.UNKNOWN_TOPIC_OR_PARTITION))
        errors.update(dict.fromkeys(denied, Error.TOPIC_AUTHORIZATION_FAILED))
        return [Reply(AddPartitionsToTxnReply(errors=errors))]
    if request.verify_only:
        return [Reply(AddPartitionsToTxnReply(errors=_verified(broker, request)))]
    version = 2 if header.version > 3 else 0
    return add(broker, request, version, now, Then(_added, (request.partitions,)))


def _refused(broker: BrokerState, request: AddPartitionsToTxn, header: Header) -> Error:
    """From version 4 on only brokers may ask."""
    if header.version > 3:
        denied = broker.denies(header.sender, CLUSTER_ACTION, CLUSTER)
        return Error.CLUSTER_AUTHORIZATION_FAILED if denied else Error.NONE
    denied = broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id)
    return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if denied else Error.NONE


def _denied(broker: BrokerState, request: AddPartitionsToTxn, header: Header) -> tuple[str, ...]:
    """Clients write to topics that they may write to, and never to an internal one."""
    if header.version > 3:
        return ()
    internal = tuple(p for p in request.partitions if topic_of(p) in INTERNAL_TOPICS)
    return (*internal, *refused_partitions(broker, header, WRITE, request.partitions))


def add(broker: BrokerState, request: AddPartitionsToTxn, version: int, now: int, then: Then) -> list[Effect]:
    """The checks in today's order (facts 1.6), then the table; `then` gets the one error for all partitions."""

    def answer(error: Error) -> list[Effect]:
        return then.function(broker, error, now, *then.args)

    owned = broker.coordinates(request.transactional_id)
    if isinstance(owned, Error):
        return answer(owned)
    txn = owned.txns.get(request.transactional_id)
    if txn is None:
        return answer(Error.INVALID_PRODUCER_ID_MAPPING)
    if txn.transactional_id in owned.pending:
        return answer(Error.CONCURRENT_TRANSACTIONS)
    error = _identity(broker, txn, request)
    if error is not Error.NONE:
        return answer(error)
    outcome = TABLES["TV2" if version else "TV1"][txn.state][Ask.ADD]
    if isinstance(outcome, Refuse):
        return answer(outcome.error)
    if txn.state is TxnState.ONGOING and set(request.partitions) <= set(txn.partitions):
        return answer(Error.NONE)
    return append_txn(broker, owned, txn.with_partitions(request.partitions, version, now), now, then)


def _identity(broker: BrokerState, txn: Txn, request: AddPartitionsToTxn) -> Error:
    if txn.producer_id != request.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if txn.producer_epoch != request.producer_epoch and broker.rules.on(COORDINATOR_EPOCH_CHECK):
        return Error.PRODUCER_FENCED
    return Error.NONE


def _verified(broker: BrokerState, request: AddPartitionsToTxn) -> dict[str, Error]:
    """Pending states are ignored here (KAFKA-14904)."""
    owned = broker.coordinates(request.transactional_id)
    if isinstance(owned, Error):
        return dict.fromkeys(request.partitions, owned)
    txn = owned.txns.get(request.transactional_id)
    error = Error.INVALID_PRODUCER_ID_MAPPING if txn is None else _identity(broker, txn, request)
    if error is Error.NONE and txn is not None and txn.state in PREPARED:
        error = Error.CONCURRENT_TRANSACTIONS
    if error is not Error.NONE or txn is None:
        return dict.fromkeys(request.partitions, error)
    return {p: Error.NONE if p in txn.partitions else Error.TRANSACTION_ABORTABLE for p in request.partitions}


def _added(broker: BrokerState, error: Error, now: int, partitions: tuple[str, ...]) -> list[Effect]:
    return [Reply(AddPartitionsToTxnReply(errors=dict.fromkeys(partitions, error)))]


API = Api(
    24,
    range(0, 6),
    AddPartitionsToTxn,
    AddPartitionsToTxnReply,
    handle,
    "transaction",
    "Tells the coordinator that the transaction reaches these partitions, before anything is written to them.",
)
