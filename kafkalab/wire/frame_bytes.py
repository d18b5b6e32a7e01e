"""The length of a run's frame on the wire, in bytes, by the codec that speaks with real clients."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.run.source import Source, run_of
from kafkalab.trace import Frame
from kafkalab.wire.codec import ReadRequest, read_request, request_bytes, response_bytes
from kafkalab.wire.names import Names

UNKNOWN, PORT = -1, 9092


def frame_bytes(source: Source, frame: Frame) -> int:
    """Return the length of this frame in the version in which it was sent, with its header and its length field.

    The client id is the sender's name. It is -1 for what only brokers and the controller send each other, except the
    verification of partitions.
    """
    run = run_of(source)
    request = run.trace.frames[frame.of] if frame.kind == "response" else frame
    verifies = request.category == "verification"
    if not verifies and request.version not in BY_NAME[request.name].offered_by(run.cast.rules.kafka):
        return UNKNOWN
    names = Names({broker: (broker, PORT) for broker in run.cast.brokers}, kafka=run.cast.rules.kafka)
    names.learn(run.cast.metadata)
    body, known = request.body, (request.name, request.version, request.correlation_id, request.sender)
    data = request_bytes(*known, body, names)
    if frame.kind == "request":
        return len(data)
    if not verifies:
        return len(response_bytes(read_request(data[4:], names), (frame.body,), names))
    answers = [replace(frame.body, errors=errors) for errors in (frame.body.errors, *frame.body.further)]
    return len(response_bytes(ReadRequest(*known, (body, *body.further)), answers, names))
