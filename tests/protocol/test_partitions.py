"""Which internal partition owns an id: Java's hash, and abs, not a mask (docs/protocol.md#partition-of-an-id;
LEG-06)."""

from __future__ import annotations

import pytest

from kafkalab.protocol.partitions import java_hash, partition_for, transaction_partition


@pytest.mark.parametrize(
    ("name", "hashed", "partition"),
    [
        ("my-txn", -1061187895, 45),
        ("my-group", -1906497762, 12),
        ("kafka-txn-0", -1469191130, 30),
        ("my-transactional-id", -959806496, 46),
        ("txn-1", 110810510, 10),
        ("payments-0", 1612905872, 22),
        ("zürich-β", 1550868803, 3),
        ("polygenelubricants", -2147483648, 0),
        ("😀-tx", 1276873518, 18),
        ("AaAa", 2031744, 44),
        ("BBBB", 2031744, 44),
    ],
)
def test_an_id_belongs_where_java_puts_it(name: str, hashed: int, partition: int) -> None:
    assert (java_hash(name), partition_for(name)) == (hashed, partition)


def test_the_coordinator_leads_that_partition() -> None:
    assert transaction_partition("my-txn") == "__transaction_state-45"
