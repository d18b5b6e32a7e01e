"""Record batches as clients send them: checked, kept as they came, and decoded when somebody looks."""

from __future__ import annotations

import gzip
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cramjam
import pytest

from kafkalab.protocol import batch_bytes
from kafkalab.protocol.crc32c import crc32c
from kafkalab.protocol.errors import Error
from kafkalab.protocol.records import Batch, ControlType, OtherRecords, Record, marker
from kafkalab.trace import plain
from kafkalab.wire.batches import (
    UNREADABLE,
    ClientBatch,
    batch_bytes_of,
    bytes_of,
    decode,
    fitting,
    read_batch,
    read_batches,
    read_produced,
)

RECORDS = (Record("k", "v"), Record(None, "w" * 200, headers=(("h", b"1"),)))
SENT = batch_bytes.encode(
    Batch(records=RECORDS, base_offset=0, producer_id=7, producer_epoch=1, base_sequence=3, transactional=True)
)


def xerial(data: bytes) -> bytes:
    """Compress as Java does: blocks behind a header."""
    blocks = [bytes(cramjam.snappy.compress_raw(data[i : i + 50])) for i in range(0, len(data), 50)]
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


def compress_records(kind: int, data: bytes) -> bytes:
    """Return the batch with its records compressed."""
    tail = struct.pack(">h", kind) + SENT[23:61] + data
    return struct.pack(">qiib", 0, 49 + len(data), -1, 2) + struct.pack(">I", crc32c(tail)) + tail


@pytest.mark.parametrize(
    ("kind", "compress"),
    [
        (1, gzip.compress),
        (2, xerial),
        (2, cramjam.snappy.compress_raw),
        (3, cramjam.lz4.compress),
        (4, cramjam.zstd.compress),
    ],
)
def test_all_compressions_are_decoded(kind: int, compress: Callable[[bytes], Any]) -> None:
    data = compress_records(kind, bytes(compress(SENT[61:])))
    batch = read_batch(data)
    assert isinstance(batch, ClientBatch)
    assert (tuple(batch.records), len(batch.records), batch.last_sequence) == (RECORDS, 2, 4)
    assert batch.size_bytes == len(data)


def test_without_cramjam_gzip_is_decoded_and_another_compression_names_the_extra(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert decode(compress_records(1, gzip.compress(SENT[61:], mtime=0))) == RECORDS
    with pytest.raises(ModuleNotFoundError, match=r"need cramjam: pip install 'kafkalab-course\[wire\]'"):
        decode(compress_records(4, b"zstd"))


@pytest.mark.parametrize("kind", range(1, 8))
def test_damaged_compressed_records_are_corrupt(kind: int) -> None:
    for body in (b"no records", gzip.compress(SENT[61:], mtime=0)[:10] + b"\xff" * 30):
        with pytest.raises(batch_bytes.CorruptBatchError):
            decode(compress_records(kind, body))


def test_a_log_keeps_the_bytes_and_changes_offset_and_epoch_only() -> None:
    placed = read_batch(SENT).place(41, 5)
    data = batch_bytes_of(placed)
    assert (data[8:12], data[16:]) == (SENT[8:12], SENT[16:])
    (back,) = read_batches(data)
    assert (back.base_offset, back.leader_epoch, back.last_offset) == (41, 5, 42)


def test_markers_are_read_as_markers_and_a_batch_that_is_cut_off_is_left_out() -> None:
    commit = marker(7, 1, ControlType.COMMIT, 3, 1_000).place(9, 2)
    data = bytes_of((read_batch(SENT), commit))
    assert [b.control for b in read_batches(data)] == [None, ControlType.COMMIT]
    assert read_batches(data[:-1]) == read_batches(data)[:1]
    assert read_batches(None) == ()


def change(place: int, new: bytes, data: bytes = SENT) -> bytes:
    """Return the batch with other bytes at a place, and the checksum that fits."""
    data = data[:place] + new + data[place + len(new) :]
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]


ZIPPED = gzip.compress(SENT[61:], mtime=0)
NO_BATCH, TWO = OtherRecords(records=(), batch_count=0), OtherRecords(records=(), batch_count=2, transactional=True)
CORRUPT = OtherRecords(records=(), batch_count=0, corrupt=True)
TOO_SHORT = OtherRecords(records=(), transactional=True, unreadable=True)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, NO_BATCH),
        (SENT[:11], NO_BATCH),
        (SENT[:16], NO_BATCH),
        (SENT[:60], NO_BATCH),
        (SENT[:-1], NO_BATCH),
        (SENT[:8] + struct.pack(">i", len(SENT)) + SENT[12:], NO_BATCH),
        (SENT[:8] + struct.pack(">i", 2**31 - 13) + SENT[12:], NO_BATCH),
        (SENT[:8] + struct.pack(">i", 2**31 - 12) + SENT[12:], replace(NO_BATCH, unreadable=True)),
        (SENT[:16] + b"\0" + SENT[17:], OtherRecords(records=(), magic=0)),
        (SENT[:16] + b"\1" + SENT[17:], OtherRecords(records=(), magic=1)),
        (SENT + SENT, TWO),
        (SENT[:8] + struct.pack(">i", 13) + SENT[12:], CORRUPT),
        (SENT[:8] + struct.pack(">i", -5) + SENT[12:], CORRUPT),
        (SENT[:16] + b"\3" + SENT[17:], CORRUPT),
        (SENT[:16] + b"\xff" + SENT[17:], CORRUPT),
        (bytes(range(200)), CORRUPT),
        (SENT + bytes(12), OtherRecords(records=(), corrupt=True, transactional=True)),
        (SENT[:8] + struct.pack(">i", 30) + SENT[12:42], TOO_SHORT),
        (SENT[:8] + struct.pack(">i", 44) + SENT[12:56], TOO_SHORT),
    ],
)  # fmt: skip
def test_what_is_not_exactly_one_batch(data: bytes | None, expected: OtherRecords) -> None:
    """As `ByteBufferLogInputStream` and `ProduceRequest.validateRecords` find; tests/kafka/scripts has more cases."""
    assert read_produced(data) == expected


def validate(data: bytes, most_bytes: int = 1_000, now: int = 0, after_max_ms: int = 10) -> Batch | Error:
    """Return what a leader makes of the batch in these bytes."""
    return read_produced(data).validate(most_bytes, now, after_max_ms)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (SENT[:-1] + b"!", Error.CORRUPT_MESSAGE),
        (SENT[:8] + struct.pack(">i", 45) + SENT[12:57], Error.CORRUPT_MESSAGE),
        (struct.pack(">q", 5) + SENT[8:], Error.INVALID_RECORD),
        (struct.pack(">q", 5) + SENT[8:-1] + b"!", Error.INVALID_RECORD),
        (change(23, struct.pack(">i", -5)), Error.INVALID_RECORD),
        (change(23, struct.pack(">i", -1)), Error.INVALID_RECORD),
        (change(57, struct.pack(">i", -1)), Error.INVALID_RECORD),
        (change(27, struct.pack(">q", 11)), Error.INVALID_TIMESTAMP),
        (change(27, struct.pack(">q", -(2**63))), Error.INVALID_TIMESTAMP),
        (compress_records(5, ZIPPED), Error.UNKNOWN_SERVER_ERROR),
        (compress_records(7, ZIPPED), Error.UNKNOWN_SERVER_ERROR),
        (compress_records(1, b"no gzip"), Error.UNKNOWN_SERVER_ERROR),
        (compress_records(1, ZIPPED[:20] + b"\xff\xff\xff" + ZIPPED[23:]), Error.UNKNOWN_SERVER_ERROR),
        (compress_records(1, ZIPPED[:-12]), Error.UNKNOWN_SERVER_ERROR),
        (compress_records(3, bytes(cramjam.lz4.compress(SENT[61:]))), Error.UNKNOWN_SERVER_ERROR),
        (compress_records(4, b"not zstd"), Error.UNKNOWN_SERVER_ERROR),
    ],
)  # fmt: skip
def test_what_a_leader_refuses(data: bytes, expected: Error) -> None:
    """In the order of UnifiedLog and LogValidator; more cases are in tests/kafka/scripts."""
    assert validate(data) is expected
    assert validate(data, most_bytes=8) is (expected if data[7] else Error.MESSAGE_TOO_LARGE)


def test_a_batch_may_be_as_long_as_the_limit_and_not_shorter_than_a_header() -> None:
    assert isinstance(validate(SENT, len(SENT)), ClientBatch)
    assert validate(SENT, len(SENT) - 1) is Error.MESSAGE_TOO_LARGE
    short = SENT[:8] + struct.pack(">i", 48) + SENT[12:60]
    assert validate(short[:17] + struct.pack(">I", crc32c(short[21:])) + short[21:]) is Error.CORRUPT_MESSAGE


def test_what_a_leader_appends_has_the_largest_timestamp_of_its_records() -> None:
    late = change(27, struct.pack(">qq", 7, 90))
    batch = validate(late)
    assert isinstance(batch, ClientBatch)
    assert (batch.timestamp_ms, batch.timestamps(), batch.data) == (7, [7, 7], change(35, struct.pack(">q", 7), late))
    of_the_log = validate(change(22, bytes((SENT[22] | 8,)), late), after_max_ms=90)
    assert isinstance(of_the_log, ClientBatch)
    assert (of_the_log.timestamp_ms, of_the_log.timestamps(), of_the_log.data[21:23]) == (90, [7, 7], SENT[21:23])


def test_in_a_log_with_times_of_its_own_all_records_have_that_of_the_batch() -> None:
    of_the_log = change(22, bytes((SENT[22] | 8,)), change(27, struct.pack(">qq", 7, 90)))
    assert read_batch(of_the_log).timestamps() == [90, 90]


def test_what_follows_a_batch_and_is_too_short_for_another_is_cut_off() -> None:
    """`UnifiedLog.trimInvalidBytes`."""
    batch = validate(SENT + bytes(11))
    assert isinstance(batch, ClientBatch)
    assert batch.data == SENT


def test_what_gzip_packs_too_small_takes_no_more_memory_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalab.wire.compression.DECODED_MOST", 1_000)
    bomb = gzip.compress(bytes(10_000_000), mtime=0)
    for data in (bomb, gzip.compress(bytes(1_001), mtime=0) + bomb):
        assert validate(compress_records(1, data), 1_000_000) is Error.UNKNOWN_SERVER_ERROR


def test_records_that_are_no_records_are_found_when_somebody_looks() -> None:
    for body in (b"\xff" * 30, b""):
        with pytest.raises(batch_bytes.CorruptBatchError):
            decode(compress_records(0, body))
    with pytest.raises(batch_bytes.CorruptBatchError):
        decode(compress_records(4, b"not zstd"))


def test_a_picture_of_records_that_cannot_be_decoded_says_so() -> None:
    batch = read_batch(compress_records(4, b"not zstd"))
    assert (tuple(batch.records), len(batch.records)) == ((UNREADABLE,) * 2, 2)
    row = plain(batch)
    assert [r["value"] for r in row["records"]] == ["(records that cannot be read)"] * 2
    many = compress_records(4, b"not zstd")
    many = many[:57] + b"\x7f\xff\xff\xff" + many[61:]
    many = many[:17] + struct.pack(">I", crc32c(many[21:])) + many[21:]
    assert len(list(read_batch(many).records)) == len(many)


def test_bytes_that_are_no_text_can_be_shown() -> None:
    sent = batch_bytes.encode(Batch(records=(Record("k", "abc"),)))
    tail = sent[21:].replace(b"abc", b"a\xffc")
    assert read_batch(sent[:17] + struct.pack(">I", crc32c(tail)) + tail).records[0].value == "a\\xffc"


@pytest.mark.parametrize(("limit", "anyway", "count"), [(0, False, 0), (0, True, 1), (2 * len(SENT), False, 2)])
def test_what_fits(limit: int, anyway: bool, count: int) -> None:
    assert len(fitting((read_batch(SENT),) * 3, limit, anyway)) == count
