"""The partition of a record: murmur2 of its key; without a key the same one for batch.size bytes."""

from __future__ import annotations

from kafkalab.client.producer_batch import size_of
from kafkalab.protocol.records import Record

SEED, MULTIPLIER, SHIFT = 0x9747B28C, 0x5BD1E995, 24
MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the signed 32-bit hash of Java's `Utils.murmur2`: `murmur2(b"21") == -973932308`."""
    value = SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * MULTIPLIER & MASK
        word = (word ^ word >> SHIFT) * MULTIPLIER & MASK
        value = (value * MULTIPLIER & MASK) ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * MULTIPLIER & MASK
    value = (value ^ value >> 13) * MULTIPLIER & MASK
    value ^= value >> 15
    return value - 2**32 if value >= 2**31 else value


def to_positive(number: int) -> int:
    """Clear the sign bit, which is not the absolute value (`Utils.toPositive`)."""
    return number & 0x7FFFFFFF


def partition_of(key: str, count: int) -> int:
    """Return the partition of a key: `BuiltInPartitioner.partitionForKey` of its UTF-8 bytes."""
    return to_positive(murmur2(key.encode())) % count


class StickyPartitioner:
    """Records without a key go to one partition until batch.size bytes went there, then to the next one (KIP-794).

    Kafka draws the next partition at random and may weigh by queue length; here it is the next number.
    """

    def __init__(self, batch_size_bytes: int) -> None:
        self.batch_size_bytes = max(batch_size_bytes, 1)
        self._current: dict[str, tuple[int, int]] = {}

    def choose(self, topic: str, record: Record, count: int) -> int:
        """Return the record's partition of a topic with `count` partitions."""
        if record.key is not None:
            return partition_of(record.key, count)
        partition, written = self._current.get(topic, (0, 0))
        if written >= self.batch_size_bytes or partition >= count:
            partition, written = (partition + 1) % count, 0
        self._current[topic] = (partition, written + size_of(record))
        return partition
