"""A field that Kafka adds to a message has one place: the message's class. Here only this test defines it."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.messages.heartbeat import Heartbeat
from kafkalab.trace import plain
from kafkalab.wire.definitions import Field, message
from kafkalab.wire.primitives import BadMessageError, Codec, Sink, Source
from kafkalab.wire.shapes import Shape
from tests.wire.messages import NAMES

NEW = Field("assigned_rack", "string", array=False, nullable=True, tag=-1, default=None, fields=())
"""What a later version of Kafka's definition would have."""
BEAT: dict[str, Any] = {"group_id": "g", "generation_id": 3, "member_id": "m"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterHeartbeat:
    """The one place: the message as this test defines it."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    assigned_rack: str | None = None


def codec_of(ours: type) -> Codec:
    fields, flexible = message("HeartbeatRequest", 4)
    return Shape((*fields, NEW), flexible, ours).messages()


def write(ours: type, body: object) -> bytes:
    sink = Sink()
    codec_of(ours).write(sink, body)
    return bytes(sink)


def test_a_new_field_is_written_read_and_traced_by_its_name_alone() -> None:
    body = LaterHeartbeat(**BEAT, assigned_rack="r1")
    data = write(LaterHeartbeat, body)
    assert b"r1" in data
    assert codec_of(LaterHeartbeat).read(Source(data, 0, NAMES)) == body
    assert plain(body)["assigned_rack"] == "r1"


def test_a_class_that_lacks_the_field_writes_its_default_and_does_not_read_it() -> None:
    data = write(Heartbeat, Heartbeat(**BEAT))
    assert codec_of(LaterHeartbeat).read(Source(data, 0, NAMES)) == LaterHeartbeat(**BEAT)
    later = write(LaterHeartbeat, LaterHeartbeat(**BEAT, assigned_rack="r1"))
    assert codec_of(Heartbeat).read(Source(later, 0, NAMES)) == Heartbeat(**BEAT)


def test_bytes_that_end_before_the_field_are_refused() -> None:
    data = write(LaterHeartbeat, LaterHeartbeat(**BEAT, assigned_rack="r1"))
    with pytest.raises(BadMessageError):
        codec_of(LaterHeartbeat).read(Source(data[:-3], 0, NAMES))
