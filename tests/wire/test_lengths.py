"""Lengths that go beyond a message's end, and counts beyond a limit, are refused before anything is made of them."""

from __future__ import annotations

import struct
import subprocess
import sys
import time

import pytest

from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.messages.metadata import Metadata, MetadataResponse
from kafkalab.wire.codec import read_request, read_response, request_bytes, response_bytes
from kafkalab.wire.primitives import BadMessageError, varint_bytes
from kafkalab.wire.request_cache import RequestCache
from kafkalab.wire.tap.addresses import with_doors
from kafkalab.wire.tap.frames import Answer, read_frame
from tests.wire.messages import NAMES

ANSWERED = "import sys; from tests.wire.test_lengths import not_read; not_read(bytes.fromhex(sys.argv[1]))"
READS = "import sys; from tests.wire.test_lengths import expect_refusal; expect_refusal(bytes.fromhex(sys.argv[1]))"


def expect_refusal(data: bytes) -> None:
    """Read the request, which is refused."""
    with pytest.raises(BadMessageError, match="too early"):
        read_request(data, NAMES)


def not_read(data: bytes) -> None:
    """Read the response, here and behind a tap."""
    with pytest.raises(BadMessageError, match="too early"):
        read_response("Metadata", 8, data, NAMES)
    asked = read_frame(request_bytes("Metadata", 8, 1, "app", Metadata(topics=("t",)), NAMES)[4:], NAMES)
    assert Answer(asked, data).values is None


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
    """A library asked for 256 GB for sixteen bytes, and the process ended."""
    run = subprocess.run([sys.executable, "-c", READS, data.hex()], capture_output=True, text=True, timeout=100)
    assert (run.returncode, run.stderr) == (0, "")


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


def test_a_known_tagged_field_that_is_longer_than_it_says_is_refused() -> None:
    """A Fetch 17 from a replica: its tag 1 holds a structure with tagged fields of its own."""
    replica = struct.pack(">iq", 3, 7) + b"\0"
    head = _flat(1, 17) + b"\0" + struct.pack(">iiibii", 500, 1, 1000, 0, 0, -1) + b"\x01\x01\x01\x01\x01"
    assert read_request(head + bytes([len(replica)]) + replica, NAMES).bodies[0].positions == {}
    with pytest.raises(BadMessageError, match="tagged field 1 is longer than it says"):
        read_request(head + bytes([len(replica) - 1]) + replica, NAMES)
    with pytest.raises(BadMessageError, match="too early"):
        read_request(head + bytes([len(replica) + 1]) + replica, NAMES)


def test_a_tap_rewrites_an_answer_with_unknown_tagged_fields() -> None:
    asked = read_frame(request_bytes("Metadata", 12, 1, "app", Metadata(topics=("t",)), NAMES)[4:], NAMES)
    image = ClusterMetadata(1, ("b1",), {})
    sound = response_bytes(asked, (MetadataResponse(metadata=image),), NAMES)[4:]
    assert sound.endswith(b"\0")
    answer = Answer(asked, sound[:-1] + b"\x02\x28\x02ab\xce\x10\x00")
    assert answer.values == Answer(asked, sound).values is not None
    moved = with_doors(answer, lambda node_id, host, port: ("door", 1))
    assert b"\x05door" in moved


def _flat(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 1, -1)


HUGE = {
    "ApiVersions, 4 million tags": _flat(18, 3) + b"\0\x02a\x02b" + varint_bytes(4_000_000) + b"\x28\0" * 4_000_000,
    "header, 4 million tags": _flat(18, 3) + varint_bytes(4_000_000) + b"\x28\0" * 4_000_000 + b"\x02a\x02b\0",
    "Metadata, 1.5 million names": _flat(3, 1) + struct.pack(">i", 1_500_000) + b"\0\0" * 1_500_000,
    "Metadata 12, names": _flat(3, 9) + b"\0" + varint_bytes(1_500_001) + b"\x01\0" * 1_500_000 + b"\0\0\0",
    "OffsetFetch, 3 million numbers": _flat(9, 1) + b"\0\x01g" + struct.pack(">ihci", 1, 1, b"t", 3_000_000)
    + bytes(12_000_000),
    "Produce, 3 million topics": _flat(0, 9) + b"\0\0" + struct.pack(">hi", 1, 1) + varint_bytes(3_000_001)
    + b"\x01\x01\0" * 3_000_000 + b"\0",
    "Produce, 1.5 million partitions": _flat(0, 3) + struct.pack(">hhiihci", -1, 1, 1, 1, 1, b"t", 1_500_000)
    + bytes(12_000_000),
    "Produce, 2 million tags": _flat(0, 9) + b"\0\0" + struct.pack(">hi", 1, 1) + b"\x01"
    + varint_bytes(2_000_000) + b"\x28\0" * 2_000_000,
}  # fmt: skip


@pytest.mark.parametrize("data", HUGE.values(), ids=HUGE)
def test_a_request_of_too_many_rows_or_tagged_fields_is_refused_before_it_is_read(data: bytes) -> None:
    """The slowest of them took four seconds, in which the server answered nobody."""
    known, began = RequestCache(NAMES), time.process_time()
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
