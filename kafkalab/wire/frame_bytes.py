"""The length of a run's frame on the wire, in bytes, by the codec that speaks with real clients."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from kio.schema.add_partitions_to_txn.v5 import request as asking
from kio.schema.add_partitions_to_txn.v5 import response as answering
from kio.schema.types import TransactionalId
from kio.serial import entity_writer

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.sim.cluster import Cluster
from kafkalab.trace import Frame
from kafkalab.wire.codec import read_request, request_bytes, response_bytes
from kafkalab.wire.names import Names
from kafkalab.wire.special import OFFERED
from kafkalab.wire.values import CODES, milliseconds

_a_topic: Any = asking.AddPartitionsToTxnTopic
_a_transaction: Any = asking.AddPartitionsToTxnTransaction
_its_topic: Any = answering.AddPartitionsToTxnTopicResult
_its_partition: Any = answering.AddPartitionsToTxnPartitionResult

UNKNOWN, PORT = -1, 9092
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
    transactions = (request.body, *request.body.further)
    out = io.BytesIO()
    if frame is request:
        message = asking.AddPartitionsToTxnRequest(transactions=tuple(_find_request(one) for one in transactions))
        entity_writer(asking.AddPartitionsToTxnRequest)(out, message)
        return REQUEST_HEADER + len(request.sender.encode()) + len(out.getvalue())
    found = [frame.body.errors, *frame.body.further]
    results = tuple(_answered(one.transactional_id, e) for one, e in zip(transactions, found, strict=False))
    kind: Any = answering.AddPartitionsToTxnResponse
    message = kind(throttle_time=milliseconds(0), error_code=CODES[frame.body.error], results_by_transaction=results)
    entity_writer(kind)(out, message)
    return RESPONSE_HEADER + len(out.getvalue())


def _by_topic(partitions: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for partition in partitions:
        found.setdefault(topic_of(partition), []).append(partition)
    return found


def _find_request(one: AddPartitionsToTxn) -> Any:
    topics: Any = tuple(
        _a_topic(name=name, partitions=tuple(index_of(p) for p in partitions))
        for name, partitions in _by_topic(one.partitions).items()
    )
    return _a_transaction(
        transactional_id=one.transactional_id, producer_id=one.producer_id, producer_epoch=one.producer_epoch,
        verify_only=one.verify_only, topics=topics,
    )  # fmt: skip


def _answered(transactional_id: str, errors: dict[str, Error]) -> Any:
    topics: Any = tuple(
        _its_topic(
            name=name,
            results_by_partition=tuple(
                _its_partition(partition_index=index_of(p), partition_error_code=CODES[errors[p]]) for p in partitions
            ),
        )
        for name, partitions in _by_topic(errors).items()
    )
    return answering.AddPartitionsToTxnResult(transactional_id=TransactionalId(transactional_id), topic_results=topics)
