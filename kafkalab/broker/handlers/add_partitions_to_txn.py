"""AddPartitionsToTxn: from a client (up to version 3) or from a leader on a client's behalf (4 and later, KIP-890)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, all_of
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.guards import (
    check_add,
    check_batch,
    check_partitions,
    check_verify,
    translate_error,
)
from kafkalab.broker.transaction_coordinator.log import append_txn
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error, InvariantError
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kafkalab.protocol.rules import EPOCH_PER_TRANSACTION
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.protocol.transition_tables.outcomes import Refuse, Same
from kafkalab.protocol.transition_tables.transaction import Ask, table_of


def handle(broker: BrokerState, request: AddPartitionsToTxn, header: Header) -> Effects[AddPartitionsToTxnResponse]:
    """Of each transaction all partitions are added and replicated, or none; the response waits for the last one.

    With UNSUPPORTED_VERSION Kafka throws: it is the error of the whole request, and what follows is not looked at.
    """
    error = check_batch(broker, header)
    if error is not Error.NONE:
        return AddPartitionsToTxnResponse(errors={}, error=error)
    thrown: list[Error] = []

    def one_of(one: AddPartitionsToTxn) -> Effects[dict[str, Error]]:
        errors = {} if thrown else (yield from _add_or_verify(broker, one, header))
        if Error.UNSUPPORTED_VERSION in errors.values():
            thrown.append(Error.UNSUPPORTED_VERSION)
        return errors

    answers = yield from all_of(*[one_of(one) for one in (request, *request.further)])
    if thrown:
        return AddPartitionsToTxnResponse(errors={}, error=thrown[0])
    return AddPartitionsToTxnResponse(errors=answers[0], further=tuple(answers[1:]))


def _add_or_verify(broker: BrokerState, request: AddPartitionsToTxn, header: Header) -> Effects[dict[str, Error]]:
    refused = check_partitions(broker, request, header)
    if refused:
        return refused
    if request.verify_only:
        return check_verify(broker, request)
    version = 2 if header.version > 3 and broker.rules.on(EPOCH_PER_TRANSACTION) else 0
    error = yield from add(broker, request, version)
    return dict.fromkeys(request.partitions, translate_error(broker, error, header.version))


def add(broker: BrokerState, request: AddPartitionsToTxn, version: int) -> Effects[Error]:
    """Guards, table, append; return the one error for all partitions."""
    found = check_add(broker, request)
    if isinstance(found, Error):
        return found
    owned, txn = found
    outcome = table_of(version)[txn.state][Ask.ADD]
    if isinstance(outcome, Refuse):
        return outcome.error
    if isinstance(outcome, Same):
        return Error.NONE
    if outcome.state is not TxnState.ONGOING:
        raise InvariantError(f"partitions are added to a transaction that is {outcome.state.label}")
    if txn.state is TxnState.ONGOING and set(request.partitions) <= set(txn.partitions):
        return Error.NONE
    return (yield from append_txn(broker, owned, txn.with_partitions(request.partitions, version, broker.now)))
