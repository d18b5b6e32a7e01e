"""An item of the inventory: a situation, what a learner may believe of it, and the run that says what is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

RIGHT, OTHER = "right", ""
"""The meanings of options without a belief: the truth, or a wrong answer to which no belief leads."""

BELIEFS: Mapping[str, str] = MappingProxyType({
    "duplicates": "an idempotent producer lets no duplicate through, whatever the application does",
    "content": "a broker recognises a record by its key and value",
    "restart": "a producer keeps its id when the application starts again",
    "gaps": "a gap in the offsets means that a record is lost",
    "lag": "a lag above 0 means that a record is left to read",
    "committed": "a committed record can be read at once",
    "deleted": "an abort deletes its records from the log",
    "broker filters": "the broker leaves aborted records out",
    "buffer": "a broker or a client keeps records back until their transaction commits",
    "whole": "a transaction becomes visible in all partitions at one moment",
    "timed out": "a call that timed out has had no effect",
    "given up": "a request that the client has given up does nothing any more",
    "coordinator": "a transaction is lost with its coordinator",
    "application": "a transaction is aborted whenever its application dies",
    "instance": "only a second instance can fence a producer or end its transaction",
    "upgrade": "upgraded brokers protect old clients, too",
    "rewind": "an abort moves the consumer back",
    "commitSync": "a commit by the consumer belongs to the open transaction",
    "zombie": "the transactional id alone stops every late request",
    "database": "a Kafka transaction covers the database, too",
})  # fmt: skip
"""The beliefs, each a sentence that is not true, by name."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer to choose: what it stands for, and what it says.

    `outcome` is the word that the run gives if this option is right; options that say the same of the outcome, and
    another reason, have words of their own.
    """

    stands_for: str
    says: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Variant:
    """One form of an item: the situation, its options, and the function that returns what its run shows."""

    says: str
    options: tuple[Option, ...]
    outcome: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Item:
    """A misconception, the lab that a learner should walk, and at least three variants.

    A sitting asks `asked` of the variants.
    """

    belief: str
    lab: int
    variants: tuple[Variant, ...]
    asked: int = 2
