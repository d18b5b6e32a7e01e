"""The size of a synthetic history, and its blocks, which can be made one by one, in any order.

Partitions are dealt out to lanes; a block is a stretch of one lane's time. A block knows where its offsets, steps and
numbers begin from its own number alone, so every executor can make any block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from kafkalab.checks.all import BY_NAME
from kafkalab.protocol.profiles import Rules
from kafkalab.spark.synthetic.windows import MOST_ROLES, MOST_VALUES, Window

KEYS_OF_A_LANE = 4
BLOCKS_OF_A_LEADER = 16
"""After so many blocks a lane's partitions have other leaders."""
BLOCK, LARGE_BLOCK = 10_000, 40_000
EPOCHS = 32_000
"""A producer id has so many epochs, then the coordinator gives another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The parameters of `synthetic`. Shares and rates are between 0 and 1; ValueError for what cannot be.

    `records` is about how many records and markers the topics have, `txn_size` the mean of records in a transaction,
    `idempotent` the share of records outside transactions, `transform` the share of transactions that consume,
    transform and produce, `inject` the windows of each anomaly per record. Another `block` gives other rows.
    """

    records: int = 10_000
    producers: int = 20
    partitions: int = 8
    txn_size: int = 5
    abort_rate: float = 0.1
    idempotent: float = 0.2
    transform: float = 0.2
    inject: tuple[tuple[str, float], ...] = ()
    seed: int = 1
    profile: str = "4.x/TV2"
    block: int = 0
    """Records of a block; 0 for BLOCK, or LARGE_BLOCK from a million records on."""
    kinds: Mapping[str, tuple[Window, ...]] = field(init=False, compare=False, repr=False)
    """The windows of each anomaly that is injected: their runs are made here, not where blocks are made."""

    def __post_init__(self) -> None:
        for name in ("records", "producers", "partitions", "txn_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, not {getattr(self, name)}")
        for name in ("abort_rate", "idempotent", "transform"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is between 0 and 1, not {getattr(self, name)}")
        if not (100 <= self.block <= 50_000 or self.block == 0):
            raise ValueError(f"a block has 100 to 50000 records, not {self.block}")
        if self.seed < 0:
            raise ValueError(f"a seed is 0 or more, not {self.seed}")
        Rules(self.profile)
        for name, rate in self.inject:
            if name not in BY_NAME:
                raise ValueError(f"no anomaly {name!r} can be injected; there are {', '.join(BY_NAME)}")
            if not 0 <= rate <= 1:
                raise ValueError(f"the rate of {name!r} is between 0 and 1, not {rate}")
        object.__setattr__(self, "kinds", self._kinds())
        self._check_room()

    def _kinds(self) -> dict[str, tuple[Window, ...]]:
        injected = [name for name, rate in self.inject if rate]
        if not injected:
            return {}
        from kafkalab.spark.synthetic.relocation import windows_of  # the simulator, which no task needs

        return {name: windows_of(name, self.bump) for name in injected}

    def _check_room(self) -> None:
        if self.kinds and self.partitions < 2:
            raise ValueError("anomalies are injected on two partitions or more: partitions=2")
        room = min(self.rows_of_a_key(lane) for lane in range(self.lanes)) * 3 // 4
        if self.kinds and self.most_window_rows > room:
            raise ValueError(
                f"the rates of inject need {self.most_window_rows} of the {room} records that a partition has for it "
                f"in one block: lower the rates, or ask for more records"
            )

    @property
    def bump(self) -> int:
        """1 where ending a transaction raises the epoch, else 0."""
        return int(self.profile.endswith("TV2"))

    @property
    def lanes(self) -> int:
        return max(1, min(self.partitions // KEYS_OF_A_LANE, self.producers))

    @property
    def blocks(self) -> int:
        """Of each lane."""
        size = self.block or (BLOCK if self.records < 1_000_000 else LARGE_BLOCK)
        return ceil(self.records / size / self.lanes)

    @property
    def cells(self) -> int:
        """Blocks in all; cell number = block * lanes + lane, which is also their order in time."""
        return self.blocks * self.lanes

    @property
    def rows(self) -> int:
        """Records and markers of a cell."""
        return ceil(self.records / self.cells)

    def keys_of(self, lane: int) -> range:
        """The numbers of a lane's output partitions."""
        return range(self.partitions * lane // self.lanes, self.partitions * (lane + 1) // self.lanes)

    def producers_of(self, lane: int) -> range:
        """The numbers of the transactional producers that write to a lane."""
        return range(self.producers * lane // self.lanes, self.producers * (lane + 1) // self.lanes)

    @property
    def inputs(self) -> int:
        """Records that a cell's consume-transform-produce transactions read, at most."""
        share = (1 - self.idempotent) * self.transform / 2
        return int(self.rows * share * self.txn_size / (2 * self.txn_size + 2))

    def rows_of_a_key(self, lane: int) -> int:
        """Records and markers of one output partition in one cell."""
        return ceil((self.rows - self.inputs) / len(self.keys_of(lane)))

    # what is injected

    def list_injected(self, cell: int) -> list[tuple[str, int, Window]]:
        """The windows of a cell: name, number among those of the name, and the window."""
        found = []
        for name, rate in self.inject:
            each, kinds = rate * self.rows, self.kinds.get(name, ())
            for number in range(int(cell * each), int((cell + 1) * each)):
                found.append((name, number, kinds[number % len(kinds)]))
        return found

    def _most(self) -> list[tuple[int, tuple[Window, ...]]]:
        return [(ceil(rate * self.rows), self.kinds[name]) for name, rate in self.inject if rate]

    @property
    def most_windows(self) -> int:
        return sum(count for count, _ in self._most())

    @property
    def most_window_rows(self) -> int:
        """If all windows of a cell took their larger part of the same partition."""
        return sum(count * max(max(w.rows) for w in kinds) for count, kinds in self._most())

    # where a cell's numbers begin

    @property
    def steps(self) -> int:
        """Steps that are kept for a cell."""
        windows = sum(count * max(w.length for w in kinds) for count, kinds in self._most())
        return 8 * (5 * self.rows + self.producers + 64) + windows

    @property
    def values(self) -> int:
        return self.rows + self.inputs + len(self.keys_of(0)) * 8 + MOST_VALUES * self.most_windows + 64

    def window_number(self, cell: int, window: int) -> int:
        """The first of the numbers that a window has for producers, keys and watchers."""
        first = self.producers + self.lanes + self.cells
        return first + (cell * self.most_windows + window) * MOST_ROLES

    @property
    def numbers(self) -> int:
        """All numbers of producers; the next producer id of number n is n + numbers."""
        return self.window_number(self.cells, 0)

    @property
    def end_ms(self) -> int:
        """An hour after the last step."""
        return self.cells * self.steps // 8 + 3_600_000
