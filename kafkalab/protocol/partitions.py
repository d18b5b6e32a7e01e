"""Names of partitions, and which partition of an internal topic owns an id (docs/protocol.md#partition-of-an-id:
`Utils.abs`, never a mask)."""

from __future__ import annotations

from functools import lru_cache

from kafkalab.limits import whole_number

TRANSACTION_TOPIC = "__transaction_state"
OFFSETS_TOPIC = "__consumer_offsets"
INTERNAL_TOPICS = (TRANSACTION_TOPIC, OFFSETS_TOPIC)
INTERNAL_PARTITIONS = 50
INT_MIN = -(2**31)


def java_hash(text: str) -> int:
    """`String.hashCode` of Java: over UTF-16 code units, wrapped to 32 bits. `java_hash("my-txn") == -1061187895`."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for i in range(0, len(units), 2):
        value = (value * 31 + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


@lru_cache(maxsize=4096)
def partition_for(name: str, partitions: int = INTERNAL_PARTITIONS) -> int:
    """The partition of an internal topic that owns a transactional id or a group: `partition_for("my-txn") == 45`."""
    hashed = java_hash(name)
    return (0 if hashed == INT_MIN else abs(hashed)) % partitions


@lru_cache(maxsize=4096)
def transaction_partition(transactional_id: str) -> str:
    """`transaction_partition("my-txn") == "__transaction_state-45"`."""
    return f"{TRANSACTION_TOPIC}-{partition_for(transactional_id)}"


@lru_cache(maxsize=4096)
def offsets_partition(group: str) -> str:
    """`offsets_partition("my-group") == "__consumer_offsets-12"`."""
    return f"{OFFSETS_TOPIC}-{partition_for(group)}"


def split(partition: object) -> tuple[str, int]:
    """Return topic and number: `split("out-0") == ("out", 0)`; ("", -1) for what is no partition's name."""
    topic, _, index = partition.rpartition("-") if isinstance(partition, str) else ("", "", "")
    number = whole_number(index)
    return (topic, number) if number >= 0 else ("", -1)


@lru_cache(maxsize=4096)
def topic_of(partition: str) -> str:
    """`topic_of("out-0") == "out"`; the number stands behind the last hyphen."""
    return partition.rpartition("-")[0]


@lru_cache(maxsize=4096)
def index_of(partition: str) -> int:
    """`index_of("out-0") == 0`."""
    return int(partition.rpartition("-")[2])
