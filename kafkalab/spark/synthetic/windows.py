"""A window: a short history as arrays, which a synthetic history repeats wherever an anomaly is injected.

A window begins and ends at rest: no transaction is open, and the two readers of its partitions have read everything.
So its rows depend on nothing but where it begins; `Start` says on what.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kafkalab.protocol.partitions import offsets_partition
from kafkalab.spark.synthetic.names import Ints, name_of

MOST_ROLES, MOST_VALUES = 4, 8
"""So many processes, producer ids and partitions of its own a window has at most of each kind; so many values."""


COMMITS_KEY = name_of(offsets_partition("app"))
"""The partition in which the group "app" commits its offsets, in all histories."""


class Start(IntEnum):
    """The starts that a window's numbers count from, different for each place where it is injected."""

    ZERO = 0
    STEP = 1
    KEY_A = 2
    KEY_B = 3
    OFFSET_A = 4
    OFFSET_B = 5
    NODE_A = 6
    NODE_B = 7
    LEADER_EPOCH = 8
    NUMBER = 9
    """of producers, own keys and watchers: MOST_ROLES for each window"""
    VALUE = 10
    LANE = 11
    FRAME = 12
    TXN_LOG = 13
    """and the next ones: the partition of the transaction log of each role"""


STARTS = Start.TXN_LOG + MOST_ROLES


@dataclass(frozen=True, slots=True)
class Numbers:
    """One column of a window's rows: where each number starts, and what is added."""

    starts: Ints
    plus: Ints

    def at(self, places: Ints) -> Ints:
        """The column for every place, place after place; `places` has a row of starts for each."""
        column: Ints = (places[:, self.starts] + self.plus).ravel()
        return column


@dataclass(frozen=True, slots=True)
class Truth:
    """A finding to be expected, as columns."""

    anomaly: str
    policy: str
    keys: Numbers
    offsets: Numbers
    steps: Numbers


@dataclass(frozen=True, slots=True)
class Window:
    """A scene as arrays. `length` in steps; `rows` of A and B that it takes; `tables` by name and column."""

    length: int
    rows: tuple[int, int]
    tables: dict[str, dict[str, Numbers]]
    partitions: tuple[Ints, Numbers]
    truths: tuple[Truth, ...]
