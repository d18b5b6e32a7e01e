"""The entries of Kafka's internal topics, in bytes that Apache Kafka 4.3.1 wrote."""

from __future__ import annotations

import pytest

from kafkalab.wire.capture.internal import EntryError, committed_offset, txn_entry

KEY = bytes.fromhex("000000066c6f61642d34")
EMPTY = "0001000000000000000500000000ea600000000001a204b41656ffffffffffffffff0100080000000000000005"
DECIDED = (
    "0001000000000000000400000000ea60020306736d616c6c03000000010000000000076f7264657273030000000700000000"
    "00000001a204b01c66000001a204b01c3d0100080000000000000004"
)
COMPLETE = "0001000000000000000400000000ea600401000001a204b01c66000001a204b01c3d0100080000000000000004"


@pytest.mark.parametrize(
    ("value", "state", "producer_id", "partitions", "start_ms"),
    [
        (EMPTY, "Empty", 5, (), -1),
        (DECIDED, "PrepareCommit", 4, ("orders-0", "orders-7", "small-0", "small-1"), 1795374980157),
        (COMPLETE, "CompleteCommit", 4, (), 1795374980157),
    ],
)
def test_an_entry_of_the_transaction_log(
    value: str, state: str, producer_id: int, partitions: tuple[str, ...], start_ms: int
) -> None:
    found = txn_entry(KEY, bytes.fromhex(value))
    assert (found.transactional_id, found.state, found.producer_id) == ("load-4", state, producer_id)
    assert (found.partitions, found.start_ms, found.timeout_ms) == (partitions, start_ms, 60_000)


def test_a_tombstone_is_dead() -> None:
    assert txn_entry(KEY, None).state == "Dead"


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"", None), (b"\0\7", None), (KEY, b"\0\2"), (KEY, b"\0\1\0"), (KEY, bytes.fromhex(DECIDED)[:40])],
)
def test_bytes_that_are_no_entry(key: bytes, value: bytes | None) -> None:
    with pytest.raises(EntryError):
        txn_entry(key, value)


def test_a_committed_offset_as_apache_kafka_4_4_0_writes_it() -> None:
    key = bytes.fromhex("0001000d63617365322d7061636b657273000c63617365322d6f726465727300000000")
    topic_id = "f15ac4a379354df0a4c185f0375e557e"
    value = bytes.fromhex("00040000000000000002ffffffff01000001a225f2847e010010" + topic_id)
    assert committed_offset(key, value) == ("case2-packers/case2-orders-0", "2")
    with pytest.raises(EntryError, match="no version 5"):
        committed_offset(key, b"\0\5" + value[2:])


@pytest.mark.parametrize("kind", [2, 3, 8, 15])
def test_an_entry_of_members_or_of_kip_848_is_no_offset(kind: int) -> None:
    with pytest.raises(EntryError, match="not of an offset"):
        committed_offset(kind.to_bytes(2, "big") + b"\0\5group", None)


def test_a_committed_offset() -> None:
    key = b"\0\1\0\5group\0\2in\0\0\0\1"
    value = b"\0\3\0\0\0\0\0\0\0\x2a\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    assert committed_offset(key, value) == ("group/in-1", "42")
    assert committed_offset(key, None) == ("group/in-1", None)
    with pytest.raises(EntryError):
        committed_offset(b"\0\2\0\5group", value)  # of the group itself
