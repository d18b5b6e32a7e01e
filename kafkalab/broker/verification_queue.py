"""A leader's questions to coordinators, one at a time per coordinator (`AddPartitionsToTxnManager`,
docs/protocol.md#verification).

While one is under way, others are queued, one per transactional id. When the answer is here, all that is queued goes
out together (Kafka: in one request; here one frame for each transactional id).
"""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Resume, Send, Spawn, Suspend, Suspension
from kafkalab.broker.state import BrokerState, CoordinatorLink
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse


def ask(
    broker: BrokerState, coordinator: str, request: AddPartitionsToTxn, old_errors: bool
) -> Effects[dict[str, Error]]:
    """An error for each partition: the coordinator's own, or NETWORK_EXCEPTION after a disconnect.

    A question that is queued gives way to a newer one for the same id: it gets NETWORK_EXCEPTION, so that its client
    tries again, or INVALID_PRODUCER_EPOCH if the newer one has a higher epoch. One with a lower epoch than the queued
    one gets INVALID_PRODUCER_EPOCH itself.

    `old_errors`: the client does not know TRANSACTION_ABORTABLE. What is queued goes out in one request in Kafka, and
    is answered as the question asks that was queued first.
    """
    link = broker.coordinator_links.setdefault(coordinator, CoordinatorLink())
    place = Suspension()
    if link.in_flight == 0:
        yield Spawn(_send(coordinator, link, request, place, old_errors))
    else:
        if not link.queued:
            link.old_errors = old_errors
        older, waiting = link.queued.get(request.transactional_id, (request, place))
        if older.producer_epoch > request.producer_epoch:
            return dict.fromkeys(request.partitions, Error.INVALID_PRODUCER_EPOCH)
        link.queued[request.transactional_id] = (request, place)
        same = older.producer_epoch == request.producer_epoch
        error = Error.NETWORK_EXCEPTION if same else Error.INVALID_PRODUCER_EPOCH
        yield Resume(waiting, dict.fromkeys(older.partitions, error))
    errors: dict[str, Error] = yield Suspend(place)
    return errors


def _send(
    coordinator: str, link: CoordinatorLink, request: AddPartitionsToTxn, place: Suspension, old_errors: bool
) -> Effects[None]:
    """Whoever asked goes on; with the last response of its kind everything that is queued is sent."""
    link.in_flight += 1
    response: AddPartitionsToTxnResponse | None = yield Send(coordinator, request)
    link.in_flight -= 1
    errors = _errors(response, request.partitions, request.verify_only)
    yield Resume(place, {p: _as_leader_says(e, old_errors) for p, e in errors.items()})
    if link.in_flight == 0:
        queued, link.queued = link.queued, {}
        for waiting_request, waiting in queued.values():
            yield Spawn(_send(coordinator, link, waiting_request, waiting, link.old_errors))


def _errors(
    response: AddPartitionsToTxnResponse | None, partitions: tuple[str, ...], verifies: bool
) -> dict[str, Error]:
    """An error of the whole answer counts for all partitions.

    A coordinator that is too old to verify counts as a yes; one that does not take this broker for a broker leaves
    the verification undone, which a client must not see as a matter of its own rights.
    """
    if response is None:
        return dict.fromkeys(partitions, Error.NETWORK_EXCEPTION)
    if response.error is Error.UNSUPPORTED_VERSION and verifies:
        return dict.fromkeys(partitions, Error.NONE)
    if response.error is Error.CLUSTER_AUTHORIZATION_FAILED:
        return dict.fromkeys(partitions, Error.INVALID_TXN_STATE)
    return dict.fromkeys(partitions, response.error) if response.error is not Error.NONE else response.errors


def _as_leader_says(error: Error, old_errors: bool) -> Error:
    if error is Error.PRODUCER_FENCED:
        return Error.INVALID_PRODUCER_EPOCH
    return Error.INVALID_TXN_STATE if error is Error.TRANSACTION_ABORTABLE and old_errors else error
