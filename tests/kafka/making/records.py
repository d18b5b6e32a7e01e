"""Family records: record sets that a leader has to check byte by byte, malformed ones and odd ones."""

from __future__ import annotations

from kafkalab.protocol.batch_bytes import GZIP, LZ4, SNAPPY, ZSTD, varint
from tests.kafka.batches import CONTROL, TRANSACTIONAL, record_bytes
from tests.kafka.making.steps import (
    READ_UNCOMMITTED,
    Script,
    Step,
    add,
    append,
    batch,
    describe,
    fetch,
    init,
    list_offsets,
    produce,
    producers,
    script,
)

LOG_APPEND_TIME, DELETE_HORIZON, UNUSED = 0x8, 0x40, 0x80
DAY_MS = 86_400_000
CODECS = {"gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
EMPTY_MEMBER = "1f8b080000000000020303000000000000000000"
MEMBER = "1f8b0800000000000203e363606062644a62000015249be608000000"
"""Members of a gzip stream; this one holds a record."""
LINKED = "04224d185440ae100000800e000000010261000e00000201026200847af1e100000000847af1e1"
"""Two records in an LZ4 frame whose blocks depend on each other."""
XERIAL = "82534e4150505900000000010000000100000012103c0e000000010261000e00000201026200"
"""Two records as Java's library for Snappy writes them."""
TWO = record_bytes(b"a", 0) + record_bytes(b"b", 1)


def send(values: str | list[str] = "ab", version: int = 9, **more: object) -> Step:
    """Produce one batch without a producer id; `more` says what is wrong with it."""
    return produce(None, {"t-0": {"values": list(values), "timestamp_ms": 0, **more}}, version)


def header(**fields: object) -> Step:
    """Produce a batch with other values in its header."""
    return send(header=fields)


def looked_at(name: str, *steps: Step | list[Step], is_read: bool = True) -> Script:
    """Return a script that ends with a look at the log, behind a batch that is sound."""
    after = [append("t-0", "z"), list_offsets(-1)]
    after += [fetch(isolation=READ_UNCOMMITTED)] if is_read else []
    return script(f"records.{name}", *steps, after, levels=[2])


def body(*parts: bytes, size: int | None = None) -> str:
    """Return a record of these parts as hexadecimal digits, behind its size or another one."""
    joined = b"".join(parts)
    return (varint(len(joined) if size is None else size) + joined).hex()


def fields(
    key: bytes = b"\1", value: bytes = b"\2a", headers: bytes = b"\0", delta: bytes = b"\0"
) -> tuple[bytes, ...]:
    """Return the parts of a record behind its size; a key of -1 is none, the value "a" has one byte."""
    return b"\0", b"\0", delta, key, value, headers


ODD = {
    "nothing": "",
    "size_0": "00",
    "size_negative": body(*fields(), size=-1),
    "size_too_large": body(*fields(), size=100),
    "size_too_small": body(*fields(), size=5),
    "size_beyond_the_fields": body(*fields(), b"\0\0"),
    "size_of_six_bytes": "ffffffffff01" + "00" * 20,
    "ends_in_a_number": body(b"\0", b"\0", b"\xff"),
    "key_too_long": body(*fields(key=varint(100))),
    "key_negative": body(*fields(key=varint(-7))),
    "value_too_long": body(*fields(value=varint(100))),
    "value_negative": body(*fields(value=varint(-7))),
    "headers_negative": body(*fields(headers=varint(-1))),
    "headers_too_many": body(*fields(headers=varint(50))),
    "header_without_name": body(*fields(headers=varint(1) + varint(-1) + varint(-1))),
    "header_with_empty_name": body(*fields(headers=varint(1) + varint(0) + varint(-1))),
    "header_too_long": body(*fields(headers=varint(1) + varint(30) + varint(-1))),
    "header_value_too_long": body(*fields(headers=varint(1) + varint(1) + b"h" + varint(90))),
    "record_attributes": body(b"\x07", *fields()[1:]),
    "offset_skips": body(*fields(delta=varint(4))),
    "offset_negative": body(*fields(delta=varint(-4))),
    "time_of_ten_bytes": body(b"\0", b"\xff" * 9 + b"\x01", *fields()[2:]),
    "time_of_eleven_bytes": body(b"\0", b"\xff" * 10 + b"\x01", *fields()[2:]),
    "two_in_place_of_one": TWO.hex(),
    "a_byte_behind": record_bytes(b"a", 0).hex() + "00",
}  # fmt: skip
"""One record that is odd, in hexadecimal digits."""

_BIG = ["c" * 200, "d" * 300]

FRAMING = [
    looked_at("cut", *(send(cut=n) for n in (0, 8, 11, 12, 16, 17, 26, 60, 75))),
    looked_at("too_long", header(length=1_000), header(length=2**31 - 13), header(length=2**31 - 12)),
    looked_at("length_too_small", *(header(length=n) for n in (-5, 0, 13))),
    *(looked_at(f"length_{n}", send(header={"length": n}, cut=n + 12)) for n in (14, 15, 30, 38, 39, 41, 44, 48, 49)),
    looked_at("length_is_less_than_there_is", header(length=50), header(length=60)),
    looked_at("magic", *(header(magic=n) for n in (0, 1, 3, 127, -1))),
    looked_at("behind_it", *(send(tail="00" * n) for n in (1, 11, 12, 17, 80)), send(tail="ff" * 30), send(again=True)),
    looked_at("another_magic_behind_it", send(tail="0000000000000000" + "00000010" + "00000000" + "00" * 20)),
]
HEADERS = [
    looked_at("base_offset", *(header(base_offset=n) for n in (5, -1)), header(base_offset=5, crc=1)),
    looked_at("checksum", header(crc=1), header(crc=1, count=9), header(crc=1, attributes=7)),
    looked_at("last_offset_delta", *(header(last_offset_delta=n) for n in (-5, -1, 0, 2, 2**31 - 1))),
    looked_at("count", *(header(count=n) for n in (-1, 0, 1, 3, 2**31 - 1))),
    looked_at("count_and_delta", *(header(count=n, last_offset_delta=n - 1) for n in (0, 1, 3, 1_000, 2**31 - 1))),
    looked_at("leader_epoch", header(leader_epoch=7), header(leader_epoch=-9)),
    looked_at("attributes", *(header(attributes=n) for n in (DELETE_HORIZON, UNUSED, 0x1000, TRANSACTIONAL))),
    looked_at("control", header(attributes=CONTROL), header(attributes=CONTROL | TRANSACTIONAL)),
    looked_at("producer", *(header(producer_id=7, base_sequence=n) for n in (-1, -7)), header(producer_id=-9)),
]
RECORDS = [looked_at(f"one.{name}", send("a", records=odd), send("a", records=odd, compression=GZIP))
           for name, odd in ODD.items()] + [
    looked_at(f"second.{name}", *(send("ab", records=record_bytes(b"a", 0).hex() + ODD[name], compression=codec)
                                  for codec in (0, GZIP)))
    for name in ("nothing", "size_too_large", "headers_negative", "offset_skips", "key_too_long")
]  # fmt: skip
ACCEPTED = ("size_negative", "size_too_large", "size_too_small")
"""Odd records that a leader does not see if they are compressed, and a search by time does."""
COMPRESSED = [
    *(looked_at(f"searched.{name}", send("a", records=ODD[name], compression=GZIP), list_offsets(0), list_offsets(-3))
      for name in ACCEPTED),
    looked_at("codec", *(send(compression=codec) for codec in (5, 6, 7)), send(compression=5, header={"crc": 1})),
    looked_at("codec_of_no_records", header(attributes=5, count=0, last_offset_delta=-1), header(attributes=GZIP)),
    looked_at("old_codec", *(send(version=v, compression=codec) for v in (6, 7) for codec in (ZSTD, 5, GZIP))),
    *(looked_at(f"{name}.sound", send(compression=codec), send(_BIG, compression=codec), fetch(at=1))
      for name, codec in CODECS.items()),
    *(looked_at(f"{name}.broken", send(compression=codec, packed=""), send(compression=codec, packed="00"),
                send(compression=codec, packed="ff" * 30), send(compression=codec, packed=TWO.hex()))
      for name, codec in CODECS.items()),
    *(looked_at(f"{name}.counted", *(send(compression=codec, header={"count": n, "last_offset_delta": n - 1})
                                     for n in (1, 3)))
      for name, codec in CODECS.items()),
    *(looked_at(f"{name}.cut", *(send(_BIG, compression=codec, packed_cut=n) for n in (0, 1, 5, 12, 20, 30)),
                *(send(_BIG, compression=codec, packed_cut=-n) for n in (1, 4, 8, 9, 12)))
      for name, codec in CODECS.items()),
    *(looked_at(f"{name}.behind_it", *(send(_BIG, compression=codec, packed_tail=tail)
                                       for tail in ("00", "ff" * 9, "00" * 40, "1f8b0800" + "00" * 30)), is_read=False)
      for name, codec in CODECS.items()),
    looked_at("gzip.trailer", *(send(compression=GZIP, packed_cut=-n, packed_tail="00" * n) for n in (4, 5, 8))),
    looked_at("gzip.two_members", *(send("a", compression=GZIP, packed_tail=tail) for tail in (EMPTY_MEMBER, MEMBER)),
              send("a", compression=GZIP, packed_tail=MEMBER, header={"count": 2, "last_offset_delta": 1})),
    looked_at("lz4.linked_blocks", send(compression=LZ4, packed=LINKED)),
    looked_at("snappy.xerial", send(compression=SNAPPY, packed=XERIAL), send(compression=SNAPPY, packed=XERIAL[:-2]),
              send(compression=SNAPPY, packed=XERIAL[:40]), send(compression=SNAPPY, packed=XERIAL[:36]),
              send(compression=SNAPPY, packed=XERIAL[:32]), send(compression=SNAPPY, packed=XERIAL[:18]),
              is_read=False),
    looked_at("gzip.cut_small", *(send(compression=GZIP, packed_cut=-n) for n in range(1, 20)), is_read=False),
    looked_at("gzip.second_member", *(send(compression=GZIP, packed_tail=tail) for tail in (
                  EMPTY_MEMBER[:-2], EMPTY_MEMBER[:20], "1f8b09" + EMPTY_MEMBER[6:], EMPTY_MEMBER[:-2] + "01",
                  EMPTY_MEMBER * 3)),
              is_read=False),
]  # fmt: skip
TIMES = [
    looked_at("times.too_late", send("a", later_ms=[DAY_MS]), send(later_ms=[0, DAY_MS])),
    looked_at("times.too_late_compressed", send(later_ms=[0, DAY_MS], compression=GZIP)),
    looked_at("times.in_time", send(later_ms=[0, 60_000]), list_offsets(0), list_offsets(1), list_offsets(-3)),
    looked_at("times.largest", header(max_timestamp="T+9"), header(max_timestamp="T-9"),
              header(max_timestamp=f"T+{DAY_MS}"), list_offsets(1), list_offsets(-3)),
    looked_at("times.largest_compressed", send(later_ms=[7, 3], compression=GZIP, header={"max_timestamp": "T+90"}),
              list_offsets(5), list_offsets(-3)),
    looked_at("times.none", header(first_timestamp=-1, max_timestamp=-1), list_offsets(-3)),
    looked_at("times.negative", header(first_timestamp=-2**63), header(first_timestamp=-(2**62)), list_offsets(-3)),
    looked_at("times.of_the_log", header(attributes=LOG_APPEND_TIME),
              header(attributes=LOG_APPEND_TIME, max_timestamp=-1),
              header(attributes=LOG_APPEND_TIME, max_timestamp="T+5"),
              header(attributes=LOG_APPEND_TIME, max_timestamp=f"T+{DAY_MS}"), list_offsets(-3)),
    looked_at("times.fall", send("abc", later_ms=[9, 3, 6]), send("def", later_ms=[2, 8, 5]),
              *(list_offsets(n) for n in (0, 3, 4, 6, 7, 9, 10, -3))),
    looked_at("times.rise", send("abc", later_ms=[1, 2, 3]), send("def", later_ms=[4, 4, 6]),
              *(list_offsets(n) for n in (2, 3, 4, 5, 6, -3))),
    looked_at("times.rise_compressed", send("abc", later_ms=[1, 2, 3], compression=GZIP),
              *(list_offsets(n) for n in (2, 3, 4, -3))),
]  # fmt: skip


def _both(one: Step, other: Step) -> Step:
    bad = {"values": ["b"], "timestamp_ms": 0}
    return produce(None, {"t-0": {**bad, **one}, "t-1": {**bad, **other}}, 9)


FRAME = {"header": {"magic": 3}}
CHECKSUM = {"header": {"crc": 1}}
PARTITIONS = [
    looked_at("two.first_is_corrupt", _both(FRAME, {})),
    looked_at("two.second_is_corrupt", _both({}, FRAME)),
    looked_at("two.second_has_no_batch", _both({}, {"cut": 5})),
    looked_at("two.second_has_a_wrong_checksum", _both({}, CHECKSUM)),
    looked_at("two.first_is_corrupt_behind", _both({"tail": "00" * 12}, {})),
    looked_at("two.second_is_short", _both({}, {"header": {"length": 30}, "cut": 42})),
    looked_at("two.first_is_transactional", _both({"header": {"attributes": TRANSACTIONAL}}, FRAME)),
    looked_at("two.old_codec", produce(None, {p: {"values": ["b"], "timestamp_ms": 0, "compression": codec}
                                              for p, codec in (("t-0", 0), ("t-1", 5))}, 6)),
]  # fmt: skip
IN_TRANSACTIONS: dict[str, Step] = {
    "checksum": {"header": {"crc": 1}},
    "frame": {"header": {"magic": 3}},
    "base_offset": {"header": {"base_offset": 5}},
    "count": {"header": {"count": 9}},
    "records": {"records": "00"},
    "codec": {"compression": 5},
    "too_late": {"later_ms": [DAY_MS]},
    "again": {"again": True},
    "cut": {"cut": 65},
    "short": {"header": {"length": 44}, "cut": 56},
}


def _in_transaction(name: str, wrong: Step, version: int, levels: list[int]) -> Script:
    asked = [init("x"), produce("x", {"t-0": batch("x", 0, "a", **wrong)}, version), describe("x"), producers()]
    sound = [add("x", "t-0")] if version == 11 else []
    sound += [produce("x", {"t-0": batch("x", 0, "b")}, version), describe("x"), fetch(isolation=READ_UNCOMMITTED)]
    return script(f"records.transaction.{name}.v{version}", asked, sound, levels=levels)


WITHIN = [
    _in_transaction(name, wrong, version, levels)
    for name, wrong in IN_TRANSACTIONS.items()
    for version, levels in ((11, [1, 2]), (12, [2]))
]
FAMILIES = {"records": [*FRAMING, *HEADERS, *RECORDS, *COMPRESSED, *TIMES, *PARTITIONS, *WITHIN]}
