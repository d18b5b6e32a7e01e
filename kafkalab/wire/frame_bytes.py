"""The length of a run's frame on the wire, in bytes, by the codec that speaks with real clients."""

from __future__ import annotations

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.partitions import index_of
from kafkalab.sim.cluster import Cluster
from kafkalab.trace import Frame
from kafkalab.wire.codec import read_request, request_bytes, response_bytes
from kafkalab.wire.names import Names
from kafkalab.wire.primitives import Sink
from kafkalab.wire.special import OFFERED
from kafkalab.wire.structs import Values, raw
from kafkalab.wire.values import by_topic

UNKNOWN, PORT = -1, 9092
BETWEEN_BROKERS = 5
"""The version of AddPartitionsToTxn in which leaders ask for producers."""
REQUEST_HEADER, RESPONSE_HEADER = 15, 9
"""Bytes before the content: length, key, version, correlation id, length of the client id, tags; of a response length,
correlation id, tags."""


def frame_bytes(cluster: Cluster, frame: Frame) -> int:
    """Return the length of this frame in the version in which it was sent, with its header and its length field.

    The client id is the sender's name. It is -1 for what only brokers and the controller send each other, except the
    verification of partitions.
    """
    request = cluster.trace.frames[frame.of] if frame.kind == "response" else frame
    if request.category == "verification":
        return _verification(request, frame)
    if request.version not in OFFERED.get(request.name, ()):
        return UNKNOWN
    names = Names({broker: (broker, PORT) for broker in cluster.broker_names})
    names.learn(cluster.controller.metadata)
    body, version = request.body, request.version
    asked = request_bytes(request.name, version, request.correlation_id, request.sender, body, names)
    if frame.kind == "request":
        return len(asked)
    return len(response_bytes(read_request(asked[4:], names), (frame.body,), names))


def _verification(request: Frame, frame: Frame) -> int:
    """AddPartitionsToTxn as a leader sends it for a producer, with one transaction or several, and its response."""
    transactions, sink = (request.body, *request.body.further), Sink()
    if frame is request:
        asked = {"transactions": [_asked(one) for one in transactions]}
        raw("AddPartitionsToTxnRequest", BETWEEN_BROKERS).write(sink, asked)
        return REQUEST_HEADER + len(request.sender.encode()) + len(sink)
    found = [frame.body.errors, *frame.body.further]
    results = [_answered(one.transactional_id, e) for one, e in zip(transactions, found, strict=False)]
    answer = {"error_code": frame.body.error.code, "results_by_transaction": results}
    raw("AddPartitionsToTxnResponse", BETWEEN_BROKERS).write(sink, answer)
    return RESPONSE_HEADER + len(sink)


def _asked(one: AddPartitionsToTxn) -> Values:
    return {
        "transactional_id": one.transactional_id, "producer_id": one.producer_id, "producer_epoch": one.producer_epoch,
        "verify_only": one.verify_only, "topics": by_topic(one.partitions, "name"),
    }  # fmt: skip


def _answered(transactional_id: str, errors: dict[str, Error]) -> Values:
    def row(partition: str) -> Values:
        return {"partition_index": index_of(partition), "partition_error_code": errors[partition].code}

    return {
        "transactional_id": transactional_id, "topic_results": by_topic(errors, "name", "results_by_partition", row),
    }  # fmt: skip
