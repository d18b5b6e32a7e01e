"""Producer state as bytes: what a snapshot stores of a producer, and which bytes are refused
(docs/protocol.md#producer-state-files)."""

from __future__ import annotations

from struct import pack, unpack

import pytest

from kafkalab.log.producer_state.entry import CachedBatch, ProducerEntry
from kafkalab.log.producer_state.snapshot import CorruptSnapshotError, decode, encode
from kafkalab.protocol.crc32c import crc32c

HEAD, ENTRY = 10, 54


def test_a_snapshot_without_producers_is_its_head() -> None:
    assert len(encode({})) == HEAD
    assert decode(encode({})) == {}


def test_of_a_producer_the_last_batch_is_stored() -> None:
    batches = [CachedBatch(3, 3, 0, 50), CachedBatch(7, 9, 3, 60)]
    stored = decode(encode({4: ProducerEntry(2, 5, batches, 6, 70)}))
    # The file has one timestamp a producer, and its only batch gets that.
    assert stored == {4: ProducerEntry(2, 5, [CachedBatch(7, 9, 3, 70)], 6, 70)}


def test_a_producer_without_batches_has_no_sequence_no_offset_and_no_delta() -> None:
    data = encode({4: ProducerEntry(2, 5, [], None, 70)})
    assert unpack(">qhiqiqiq", data[HEAD:]) == (4, 2, -1, -1, 0, 70, 5, -1)
    assert decode(data) == {4: ProducerEntry(2, 5, [], None, 70)}


def with_checksum(body: bytes, version: int = 1) -> bytes:
    return pack(">hI", version, crc32c(body)) + body


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes are too few"),
        (b"\0\1\0", "3 bytes are too few"),
        (encode({})[:-1], "9 bytes are too few"),
        (with_checksum(pack(">i", 0), 2), "version 2 is unknown"),
        (encode({})[:-1] + b"\1", "the checksum is wrong"),
        (with_checksum(pack(">i", 2) + bytes(ENTRY)), "2 entries do not take 54 bytes"),
    ],
)
def test_other_bytes_are_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(CorruptSnapshotError) as caught:
        decode(data)
    assert str(caught.value) == message
