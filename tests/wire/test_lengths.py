"""Lengths that go beyond a message's end are refused before kio's reader sees them; whole messages pass."""

from __future__ import annotations

import struct
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.wire.codec import read_request, read_response, request_bytes, version_of
from kafkalab.wire.lengths import walk_of
from kafkalab.wire.rules import BadMessageError
from kafkalab.wire.special import OFFERED
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
    assert walk_of(spoken.request.theirs)(sent, place) == len(sent)


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
