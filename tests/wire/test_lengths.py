"""Lengths that go beyond a message's end are refused before kio's reader sees them; whole messages pass."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.messages.metadata import Metadata, MetadataResponse
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.wire.codec import read_request, read_response, request_bytes, response_bytes, version_of
from kafkalab.wire.lengths import ROWS, Bounds, check_message, unsigned_varint, walk_of
from kafkalab.wire.repeated import Repeated
from kafkalab.wire.rules import BadMessageError
from kafkalab.wire.special import OFFERED
from kafkalab.wire.tap.addresses import with_doors
from kafkalab.wire.tap.frames import Answer, read_frame
from tests.wire.messages import NAMES, carried, message

ANSWERED = "import sys; from tests.wire.test_lengths import not_read; not_read(bytes.fromhex(sys.argv[1]))"
READS = "import sys; from tests.wire.test_lengths import refused; refused(bytes.fromhex(sys.argv[1]))"


def refused(data: bytes) -> None:
    """Read the request, which is refused."""
    with pytest.raises(BadMessageError, match="too early"):
        read_request(data, NAMES)


def not_read(data: bytes) -> None:
    """Read the response, here and behind a tap."""
    with pytest.raises(BadMessageError, match="too early"):
        read_response("Metadata", 8, data, NAMES)
    asked = read_frame(request_bytes("Metadata", 8, 1, "app", Metadata(topics=("t",)), NAMES)[4:], NAMES)
    assert Answer(asked, data).message is None


def test_a_response_of_too_many_rows_is_refused_and_the_process_lives() -> None:
    data = struct.pack(">iii", 1, 0, 2**31 - 1)
    run = subprocess.run([sys.executable, "-c", ANSWERED, data.hex()], capture_output=True, text=True, timeout=100)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">hhihi", 3, 8, 1, -1, 2**31 - 1),
        struct.pack(">hhih", 3, 12, 1, -1) + b"\0\xff\xff\xff\xff\x7f",
        struct.pack(">hhih", 42, 2, 1, -1) + b"\0\xff\xff\xff\xff\x7f",
    ],
)
def test_a_request_of_too_many_rows_is_refused_and_the_process_lives(data: bytes) -> None:
    """Before, kio asked Rust for 256 GB for sixteen bytes, and Rust ended the process."""
    run = subprocess.run([sys.executable, "-c", READS, data.hex()], capture_output=True, text=True, timeout=100)
    assert (run.returncode, run.stderr) == (0, "")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whole_requests_of_every_api_and_version_pass(data: st.DataObject) -> None:
    api = data.draw(st.sampled_from(sorted(OFFERED)))
    version = data.draw(st.sampled_from(OFFERED[api]))
    body = carried(api, version, data.draw(message(BY_NAME[api].request)))
    if body is None:
        return
    sent = request_bytes(api, version, 1, "c", body, NAMES)[4:]
    spoken = version_of(api, version)
    place = 8 + 2 + 1 + spoken.tagged_request
    assert walk_of(spoken.request.theirs)(sent, place, Bounds(ROWS)) == len(sent)
    assert check_message(spoken.request.theirs, sent, place, Bounds(ROWS)) is sent


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [(15, 1, b"\xff\xff\xff\xff"), (42, 1, b"\xff\xff\xff\xff"), (15, 5, b"\0\0\0\0"), (3, 0, b"\xff\xff\xff\xff")],
    ids=["DescribeGroups", "DeleteGroups", "flexible", "Metadata 0"],
)
def test_an_array_that_must_not_be_null_is_refused(key: int, version: int, body: bytes) -> None:
    """A fuzzed DescribeGroups without groups came to its handler, which ended with a TypeError."""
    with pytest.raises(BadMessageError, match="an array that must not be null"):
        read_request(struct.pack(">hhih", key, version, 1, -1) + body, NAMES)


def test_topics_may_be_null_where_kafka_says_so() -> None:
    assert read_request(struct.pack(">hhih", 3, 1, 1, -1) + b"\xff\xff\xff\xff", NAMES).api == "Metadata"


UNKNOWN = b"\x02\x28\x02ab\xce\x10\x00"
"""Two tagged fields that no message has: tag 40 with two bytes, tag 2126 with none."""


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_unknown_tagged_fields_are_skipped_in_requests_and_responses_of_every_api_and_version(
    data: st.DataObject,
) -> None:
    api = data.draw(st.sampled_from(sorted(OFFERED)))
    version = data.draw(st.sampled_from(OFFERED[api]))
    spoken, body = version_of(api, version), data.draw(message(BY_NAME[api].request))
    carries = carried(api, version, body)
    theirs: Any = spoken.request.theirs
    if carries is None or not theirs.__flexible__:
        return
    sound = request_bytes(api, version, 1, "c", carries, NAMES)[4:]
    tagged = _with_tags(sound)
    assert read_request(tagged, NAMES) == read_request(sound, NAMES)
    assert Repeated(NAMES).read(tagged).bodies == Repeated(NAMES).read(sound).bodies
    assert read_frame(tagged, NAMES) == read_frame(sound, NAMES)
    response = carried(api, version, data.draw(message(BY_NAME[api].response)))
    if api in ("ApiVersions", "Fetch", "LeaveGroup", "Metadata"):  # it has tagged fields; these answer a request
        return
    asked = read_request(sound, NAMES)
    answer = response_bytes(asked, [response] * len(asked.bodies), NAMES)[4:]
    if asked.bodies and answer.endswith(b"\0"):
        assert read_response(api, version, _with_tags(answer), NAMES) == read_response(api, version, answer, NAMES)


def _with_tags(sound: bytes) -> bytes:
    """The message with two more tagged fields at its end, behind those that it has."""
    assert sound.endswith(b"\0")
    return sound[:-1] + UNKNOWN


def test_unknown_tagged_fields_in_rows_and_in_known_tagged_fields_are_cut_out() -> None:
    """A Fetch 17 from a replica: its tag 1 holds a structure with tagged fields of its own."""
    entity = version_of("Fetch", 17).request.theirs

    def fetch(inner: bytes, row: bytes, last: bytes) -> bytes:
        replica = struct.pack(">iq", 3, 7) + inner
        topic = bytes(range(16)) + b"\x02" + struct.pack(">iiqiqi", 0, -1, 5, -1, -1, 100) + b"\0" + row
        head = struct.pack(">iiib", 500, 1, 1000, 0) + struct.pack(">ii", 0, -1)
        return head + b"\x02" + topic + b"\x01" + b"\x01" + last + b"\x01" + bytes([len(replica)]) + replica

    sound = fetch(b"\0", b"\0", b"\x01")
    many = fetch(UNKNOWN, UNKNOWN, b"\x01")
    assert check_message(entity, sound, 0, Bounds(ROWS)) is sound
    assert check_message(entity, many, 0, Bounds(ROWS)) == sound
    assert check_message(entity, fetch(b"\x82\0" + UNKNOWN[1:], b"\0", b"\x01"), 0, Bounds(ROWS)) == sound
    with pytest.raises(BadMessageError, match="too early"):
        check_message(entity, sound[:-1] + b"\x01\x28\x7f", 0, Bounds(ROWS))


def test_a_tap_rewrites_an_answer_with_unknown_tagged_fields() -> None:
    asked = read_frame(request_bytes("Metadata", 12, 1, "app", Metadata(topics=("t",)), NAMES)[4:], NAMES)
    image = ClusterMetadata(1, ("b1",), {})
    sound = response_bytes(read_request(request_bytes("Metadata", 12, 1, "app", Metadata(), NAMES)[4:], NAMES),
                           (MetadataResponse(metadata=image),), NAMES)[4:]  # fmt: skip
    answer = Answer(asked, _with_tags(sound))
    assert answer.message == Answer(asked, sound).message is not None
    moved = with_doors(answer, lambda node_id, host, port: ("door", 1))
    assert b"\x05door" in moved


def _flat(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 1, -1)


HUGE = {
    "ApiVersions, 4 million tags": _flat(18, 3) + b"\0\x02a\x02b" + unsigned_varint(4_000_000) + b"\x28\0" * 4_000_000,
    "header, 4 million tags": _flat(18, 3) + unsigned_varint(4_000_000) + b"\x28\0" * 4_000_000 + b"\x02a\x02b\0",
    "Metadata, 1.5 million names": _flat(3, 1) + struct.pack(">i", 1_500_000) + b"\0\0" * 1_500_000,
    "Metadata 12, names": _flat(3, 9) + b"\0" + unsigned_varint(1_500_001) + b"\x01\0" * 1_500_000 + b"\0\0\0",
    "OffsetFetch, 3 million numbers": _flat(9, 1) + b"\0\x01g" + struct.pack(">ihci", 1, 1, b"t", 3_000_000)
    + bytes(12_000_000),
    "Produce, 3 million topics": _flat(0, 9) + b"\0\0" + struct.pack(">hi", 1, 1) + unsigned_varint(3_000_001)
    + b"\x01\x01\0" * 3_000_000 + b"\0",
    "Produce, 1.5 million partitions": _flat(0, 3) + struct.pack(">hhiihci", -1, 1, 1, 1, 1, b"t", 1_500_000)
    + bytes(12_000_000),
    "Produce, 2 million tags": _flat(0, 9) + b"\0\0" + struct.pack(">hi", 1, 1) + b"\x01"
    + unsigned_varint(2_000_000) + b"\x28\0" * 2_000_000,
}  # fmt: skip


@pytest.mark.parametrize("data", HUGE.values(), ids=HUGE)
def test_a_request_of_too_many_rows_or_tagged_fields_is_refused_before_it_is_read(data: bytes) -> None:
    """The slowest of them took four seconds, in which the server answered nobody."""
    known, began = Repeated(NAMES), time.process_time()
    with pytest.raises(BadMessageError, match="more than 30,000 rows and tagged fields"):
        known.read(data)
    assert time.process_time() - began < 0.2


def test_many_names_groups_and_times_cost_a_time_that_grows_with_their_number() -> None:
    """ListOffsets of 49,000 times took 56 s: the topics were searched again for each time."""
    rows = b"".join(struct.pack(">iq", n, n) for n in range(28_000))
    data = _flat(2, 1) + struct.pack(">iihci", -1, 1, 1, b"t", 28_000) + rows
    began = time.process_time()
    assert len(read_request(data, NAMES).bodies) == 28_000
    assert time.process_time() - began < 5
