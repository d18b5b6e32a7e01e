"""Batches as bytes, against vectors that an independent reader has checked (docs/protocol.md#record-batch)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.protocol.batch_bytes import CorruptBatchError, decode, encode, varint
from kafkalab.protocol.records import Batch, ControlType, Record, marker

TIME = 1_700_000_000_000
DATA = Batch(
    records=(Record("k1", "v1"), Record("k2", "v2")),
    base_offset=0,
    leader_epoch=0,
    timestamp_ms=TIME,
    producer_id=1234,
    producer_epoch=5,
    base_sequence=0,
    transactional=True,
)
COMMIT = replace(marker(1234, 5, ControlType.COMMIT, 7, TIME), base_offset=2, leader_epoch=0)
ABORT = replace(marker(1234, 6, ControlType.ABORT, 7, TIME), base_offset=2, leader_epoch=0)
VECTORS = (
    (
        DATA,
        "00000000000000000000004700000000024a2d48210010000000010000018bcfe568000000018bcfe5680000000000000004d2"
        "0005000000000000000214000000046b310476310014000002046b3204763200",
    ),
    (
        COMMIT,
        "0000000000000002000000420000000002c11c27820030000000000000018bcfe568000000018bcfe5680000000000000004d2"
        "0005ffffffff000000012000000008000000010c00000000000700",
    ),
    (
        ABORT,
        "000000000000000200000042000000000243d17ddb0030000000000000018bcfe568000000018bcfe5680000000000000004d2"
        "0006ffffffff000000012000000008000000000c00000000000700",
    ),
)
PLAIN = Batch(records=(Record(None, "x" * 100), Record("key", None)), base_offset=7, leader_epoch=3)


@pytest.mark.parametrize(("batch", "written"), VECTORS)
def test_a_batch_has_the_bytes_that_kafka_gives_it(batch: Batch, written: str) -> None:
    assert encode(batch).hex() == written
    assert decode(bytes.fromhex(written)) == batch


HEADERS = (("source", b"in-0@5"), ("source", b""), ("none", None), ("raw", b"\xff\x00"))


def test_headers_are_written_and_read() -> None:
    batch = replace(DATA, records=(Record("k1", "v1", HEADERS), Record("k2", None, (("ä", b"x" * 200),) * 70)))
    assert decode(encode(batch)) == batch
    assert batch.size_bytes == len(encode(batch))
    one = replace(DATA, records=(Record(None, "v", (("h", b"1"),)),))
    assert encode(one).endswith(bytes.fromhex("160000000102760202680231"))


def test_a_marker_takes_78_bytes() -> None:
    assert (len(encode(COMMIT)), len(encode(DATA))) == (78, 83)


@pytest.mark.parametrize("length", [0, 1, 50, 56, 57, 58, 63, 64, 65, 8180, 8191, 8192])
def test_a_batch_knows_its_size_without_its_bytes(length: int) -> None:
    for value in ("x" * length, "ä" * length):
        batch = replace(PLAIN, records=(Record(None, value), Record(value, None), *(Record("k", "v"),) * 70))
        assert batch.size_bytes == len(encode(batch))
    for batch in (DATA, COMMIT, replace(PLAIN, records=())):
        assert batch.size_bytes == len(encode(batch))


@pytest.mark.parametrize("batch", [PLAIN, replace(DATA, last_offset_delta=9), replace(PLAIN, records=())])
def test_what_is_written_is_read_back(batch: Batch) -> None:
    assert decode(encode(batch)) == batch


def test_offset_and_leader_epoch_lie_outside_the_checksum() -> None:
    assert encode(DATA)[17:] == encode(replace(DATA, base_offset=99, leader_epoch=4))[17:]


@pytest.mark.parametrize("place", range(0, 83))
def test_a_changed_byte_is_noticed(place: int) -> None:
    whole = bytearray(encode(DATA))
    whole[place] ^= 1
    if place < 8 or 12 <= place < 16:
        assert decode(bytes(whole)).records == DATA.records
    else:
        with pytest.raises(CorruptBatchError):
            decode(bytes(whole))


@pytest.mark.parametrize("size", [0, 60, 82])
def test_missing_bytes_are_noticed(size: int) -> None:
    with pytest.raises(CorruptBatchError):
        decode(encode(DATA)[:size])


@pytest.mark.parametrize(
    ("number", "written"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101"), (2**31 - 1, "feffffff0f")],
)
def test_varints_are_zig_zag(number: int, written: str) -> None:
    assert varint(number).hex() == written
