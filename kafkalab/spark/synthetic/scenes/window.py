"""A window: a short scene, played once, that a synthetic history repeats wherever an anomaly is injected.

A window begins and ends at rest: no transaction is open, and the two readers of its partitions have read everything.
So its rows depend on nothing but where it begins; `Ref` says on what.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.names import EMPTY, NULL, word


class Start(IntEnum):
    """What the numbers of a window count from, different for each place where it is injected."""

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
    COMMITS_KEY = 12
    COMMITS = 13
    """offsets in the partition of __consumer_offsets"""
    ENTRIES = 14
    """offsets in the transaction log"""
    TXN_LOG = 15
    """and the next ones: the partition of the transaction log of each role"""


MOST_ROLES = 4
STARTS = Start.TXN_LOG + MOST_ROLES
MOST_VALUES = 8
MOST_ENTRIES = 16
MOST_COMMITS = 8


class Ref(NamedTuple):
    """A number: so much more than where something starts."""

    start: int
    plus: int = 0

    def __add__(self, more: int) -> Ref:  # type: ignore[override]
        return Ref(self.start, self.plus + more)


def ref(number: int | Ref) -> Ref:
    """A constant as a Ref."""
    return number if isinstance(number, Ref) else Ref(Start.ZERO, number)


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """A partition of a window: A or B of its lane, or one of its own."""

    name: Ref
    offset: Ref
    node: Ref
    leader_epoch: Ref
    commit: int = 0
    """record key of an offset committed for it"""


@dataclass(slots=True, eq=False)
class Sender:
    """One client: idempotent without `transactional`. `epoch` and `sequences` go on from send to send."""

    role: int
    transactional: bool
    idempotent: bool = True
    epoch: int = 0
    transaction: int = 0
    sequences: dict[Key, int] = field(default_factory=dict)

    def named(self, space: int) -> Ref:
        return Ref(Start.NUMBER, space + self.role)

    @property
    def process(self) -> Ref:
        return self.named(names.PRODUCER if self.transactional else names.IDEMPOTENT)

    @property
    def client(self) -> Ref:
        return self.named(names.PRODUCER_CLIENT if self.transactional else names.IDEMPOTENT_CLIENT)

    @property
    def id(self) -> Ref:
        return self.named(names.PRODUCER_ID) if self.transactional else ref(NULL)

    @property
    def pid(self) -> Ref:
        return self.named(0) if self.idempotent else ref(-1)


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A consumer: one of the lane's two, a watcher of the window's own, or one in a producer's process."""

    name: Ref
    process: Ref
    level: int
    group: int = NULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A finding that the window leads to; `steps` is None where they depend on the rest of the history."""

    anomaly: str
    policy: str
    keys: tuple[Ref, ...]
    offsets: tuple[Ref, ...]
    steps: tuple[Ref, ...] | None


READ_COMMITTED, READ_UNCOMMITTED = word("read_committed"), word("read_uncommitted")
A = Key(Ref(Start.KEY_A), Ref(Start.OFFSET_A), Ref(Start.NODE_A), Ref(Start.LEADER_EPOCH))
B = Key(Ref(Start.KEY_B), Ref(Start.OFFSET_B), Ref(Start.NODE_B), Ref(Start.LEADER_EPOCH))
RC = Reader(Ref(Start.LANE, names.COMMITTED_CONSUMER), Ref(Start.LANE, names.COMMITTED), READ_COMMITTED)
RU = Reader(Ref(Start.LANE, names.UNCOMMITTED_CONSUMER), Ref(Start.LANE, names.UNCOMMITTED), READ_UNCOMMITTED)
WATCHER = Reader(Ref(Start.NUMBER, names.WATCHER_CONSUMER), Ref(Start.NUMBER, names.WATCHER), READ_COMMITTED)
"""A consumer that only this window has."""


def own_key(number: int = 0) -> Key:
    """A partition that only this window has."""
    name = Ref(Start.NUMBER, names.OWN + number)
    return Key(name, ref(0), ref(names.BROKER + 1), ref(0), names.COMMIT_OF_OWN + number)


def inner_reader(producer: Sender) -> Reader:
    """The consumer in the process of a producer that transforms what it reads, in the group "app"."""
    return Reader(producer.named(names.PRODUCER_CONSUMER), producer.process, READ_COMMITTED, word("app"))


class Rows:
    """The rows of a window so far, in raw form: a Ref for each column, and its clock."""

    def __init__(self) -> None:
        self.clock = 0
        self.tables: dict[str, list[dict[str, Any]]] = {}
        self.ends: dict[Key, int] = {}
        self.expected: list[Expected] = []
        self.entries = self.values = 0

    def tick(self) -> Ref:
        """The next step."""
        self.clock += 1
        return Ref(Start.STEP, self.clock)

    def add(self, table: str, **columns: Any) -> int:
        """One row; its number among those of the table."""
        rows = self.tables.setdefault(table, [])
        rows.append(columns)
        return len(rows) - 1

    def value(self) -> Ref:
        """A value that nothing else in the history has."""
        self.values += 1
        assert self.values <= MOST_VALUES, "a window has at most MOST_VALUES values"
        return Ref(Start.VALUE, names.VALUE + self.values - 1)

    def operation(self, producer: Sender, function: str, end: str = "ok", **given: Any) -> None:
        """An invoke and its end, in two steps."""
        offset, error = given.pop("offset", -1), given.pop("error", "NONE" if end == "ok" else "")
        row = {
            "process": producer.process,
            "client": producer.client,
            "function": word(function),
            "transactional_id": producer.id,
            "producer_id": -1,
            "producer_epoch": -1,
            "transaction": producer.transaction if producer.transactional and producer.transaction else -1,
            "key": EMPTY,
            "sequence": -1,
            "value": NULL,
            "headers": NULL,
        } | given
        same = offset if function == "offsets" else -1
        invoke = {"type": word("invoke"), "invocation": -1, "offset": same, "error": EMPTY}
        first = self.add("operations", **(row | invoke), step=self.tick())
        told = {"type": word(end), "invocation": first, "offset": offset, "error": word(error)}
        self.add("operations", **(row | told), step=self.tick())

    def log(self, key: Key, *, offset: int = -1, **given: Any) -> tuple[int, Ref]:
        """A record or marker: its offset in the window, and its step."""
        at = self.ends.get(key, 0) if offset < 0 else offset
        self.ends[key] = max(self.ends.get(key, 0), at + 1)
        step = self.tick()
        row = {
            "key": key.name,
            "offset": key.offset + at,
            "record_key": NULL,
            "value": NULL,
            "sequence": -1,
            "transactional": 0,
            "control": EMPTY,
            "coordinator_epoch": -1,
            "leader_epoch": key.leader_epoch,
            "node": key.node,
            "frame": EMPTY,
            "removed": EMPTY,
            "removed_step": -1,
            "headers": NULL,
        }
        self.add("log", **(row | given), step=step)
        return at, step

    def found(
        self,
        anomaly: str,
        keys: Iterable[Key] = (),
        offsets: Iterable[Ref] = (),
        steps: Iterable[Ref] | None = (),
        policy: str = "forbidden",
    ) -> None:
        """What a check will find here, in the words of `kafkalab.checks.check.Finding`."""
        proof = None if steps is None else tuple(sorted(set(steps)))
        at = tuple(key.name for key in keys)
        self.expected.append(Expected(anomaly=anomaly, policy=policy, keys=at, offsets=tuple(offsets), steps=proof))
