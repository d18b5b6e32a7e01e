"""AddPartitionsToTxn: from a client (up to version 3) or from a leader on a client's behalf (4 and later, KIP-890)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.broker.authorization import refused_partitions
from kafkalab.broker.effects import Effect, Respond, Then
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.error_translation import as_told
from kafkalab.broker.transaction_coordinator.log import append_txn
from kafkalab.broker.transaction_coordinator.metadata import PREPARED, Txn, TxnState
from kafkalab.broker.transaction_coordinator.transition_table import Ask, Refuse, Same, table_of
from kafkalab.protocol.acls import CLUSTER, CLUSTER_ACTION, TRANSACTIONAL_ID, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error, IllegalStateError
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.protocol.rules import COORDINATOR_EPOCH_CHECK, EPOCH_PER_TRANSACTION, PENDING_FIRST, VERIFIED_AT_ONCE

CLIENTS_UP_TO = 3
"""The last version that clients speak; brokers speak later ones among themselves."""


Answers = dict[int, dict[str, Error]]


@dataclass(slots=True)
class Batched:
    """The transactions of one request, and the answers that are there, by their place in it."""

    version: int
    transactions: tuple[AddPartitionsToTxn, ...]
    answers: Answers = field(default_factory=dict)


def handle(broker: BrokerState, request: AddPartitionsToTxn, now: int, header: Header) -> list[Effect]:
    """Of each transaction all partitions are added and replicated, or none; the answer waits for the last one."""
    batch = Batched(header.version, (request, *request.further))
    if header.version > CLIENTS_UP_TO and broker.denies(header.sender, CLUSTER_ACTION, CLUSTER):
        return [Respond(AddPartitionsToTxnResponse(errors={}, error=Error.CLUSTER_AUTHORIZATION_FAILED))]
    effects: list[Effect] = []
    for place, one in enumerate(batch.transactions):
        refused = _refused(broker, one, header)
        if refused:
            effects += _answer(batch, place, dict.fromkeys(one.partitions, Error.OPERATION_NOT_ATTEMPTED) | refused)
        elif one.verify_only:
            effects += _answer(batch, place, verified(broker, one))
        else:
            version = 2 if header.version > 3 and broker.rules.on(EPOCH_PER_TRANSACTION) else 0
            effects += add(broker, one, version, now, Then(_added, (batch, place)))
    return effects


def _refused(broker: BrokerState, request: AddPartitionsToTxn, header: Header) -> dict[str, Error]:
    """The partitions that cannot be added, each with its reason; clients need rights and keep off internal topics."""
    unknown = [p for p in request.partitions if p not in broker.metadata.partitions]
    refused = dict.fromkeys(unknown, Error.UNKNOWN_TOPIC_OR_PARTITION)
    if header.version > CLIENTS_UP_TO:
        return refused
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return dict.fromkeys(request.partitions, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    internal = tuple(p for p in request.partitions if topic_of(p) in INTERNAL_TOPICS)
    denied = (*internal, *refused_partitions(broker, header, WRITE, request.partitions))
    return refused | dict.fromkeys(denied, Error.TOPIC_AUTHORIZATION_FAILED)


def _added(broker: BrokerState, error: Error, now: int, batch: Batched, place: int) -> list[Effect]:
    told = as_told(broker, error, batch.version)
    return _answer(batch, place, dict.fromkeys(batch.transactions[place].partitions, told))


def _answer(batch: Batched, place: int, errors: dict[str, Error]) -> list[Effect]:
    batch.answers[place] = errors
    if len(batch.answers) < len(batch.transactions):
        return []
    first, *further = (batch.answers[i] for i in range(len(batch.transactions)))
    return [Respond(AddPartitionsToTxnResponse(errors=first, further=tuple(further)))]


def add(broker: BrokerState, request: AddPartitionsToTxn, version: int, now: int, then: Then) -> list[Effect]:
    """The checks in today's order (facts 1.6), then the table; `then` gets the one error for all partitions."""

    def answer(error: Error) -> list[Effect]:
        return then.function(broker, error, now, *then.args)

    tid = request.transactional_id
    if not tid:
        return answer(Error.INVALID_REQUEST)
    owned = broker.coordinates(tid)
    if isinstance(owned, Error):
        return answer(owned)
    txn = owned.txns.get(tid)
    if txn is None:
        return answer(Error.INVALID_PRODUCER_ID_MAPPING)
    if tid in owned.pending and broker.rules.on(PENDING_FIRST):
        return answer(Error.CONCURRENT_TRANSACTIONS)
    error = _identity(broker, txn, request)
    if error is Error.NONE and tid in owned.pending:
        error = Error.CONCURRENT_TRANSACTIONS
    if error is not Error.NONE:
        return answer(error)
    outcome = table_of(version)[txn.state][Ask.ADD]
    if isinstance(outcome, Refuse):
        return answer(outcome.error)
    if isinstance(outcome, Same):
        return answer(Error.NONE)
    if outcome.state is not TxnState.ONGOING:
        raise IllegalStateError(f"partitions are added to a transaction that is {outcome.state.label}")
    if txn.state is TxnState.ONGOING and set(request.partitions) <= set(txn.partitions):
        return answer(Error.NONE)
    return append_txn(broker, owned, txn.with_partitions(request.partitions, version, now), now, then)


def _identity(broker: BrokerState, txn: Txn, request: AddPartitionsToTxn) -> Error:
    if txn.producer_id != request.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if txn.producer_epoch != request.producer_epoch and broker.rules.on(COORDINATOR_EPOCH_CHECK):
        return Error.PRODUCER_FENCED
    return Error.NONE


def verified(broker: BrokerState, request: AddPartitionsToTxn) -> dict[str, Error]:
    """For each partition whether it is in the transaction; pending states are ignored (KAFKA-14904)."""

    def answer(error: Error) -> dict[str, Error]:
        return dict.fromkeys(request.partitions, error)

    if not request.transactional_id:
        return answer(Error.INVALID_REQUEST)
    owned = broker.coordinates(request.transactional_id)
    if isinstance(owned, Error):
        return answer(owned)
    txn = owned.txns.get(request.transactional_id)
    if txn is None:
        return answer(Error.INVALID_PRODUCER_ID_MAPPING)
    error = _identity(broker, txn, request)
    waits = request.transactional_id in owned.pending and not broker.rules.on(VERIFIED_AT_ONCE)
    if error is Error.NONE and (waits or txn.state in PREPARED):
        error = Error.CONCURRENT_TRANSACTIONS
    if error is not Error.NONE:
        return answer(error)
    return {p: Error.NONE if p in txn.partitions else Error.TRANSACTION_ABORTABLE for p in request.partitions}
