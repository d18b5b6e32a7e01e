"""A topic of balances in which one account has most of the records, and what compaction leaves of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import NamedTuple

from kafkalab.grading.mutants import Mutant
from kafkalab.grading.remote_query import inputs

RECORDS, FILES, ACCOUNTS, OWNERS = 40_000, 4, 60, 45
HOT, SHARE, TOMBSTONES = "account 0", 0.9, 0.2
COLUMNS = ("account", "value", "owner")
Update = tuple[str, int, int | None]
"""Account, offset, and the balance; None is a tombstone."""
Row = tuple[str, int | None, str | None]


class Balances(NamedTuple):
    """The updates in any order, and who owns the accounts; some have no owner, and some owners no updates."""

    updates: tuple[Update, ...]
    owners: dict[str, str]


@cache
def make_balances(seed: int) -> Balances:
    """Make the topic; the same for the same seed."""
    random = Random(f"balances {seed}")
    names = [f"account {n}" for n in range(1, ACCOUNTS)]
    keys = [HOT if random.random() < SHARE else random.choice(names) for _ in range(RECORDS - len(names))]
    keys += random.sample(names, len(names))
    gone = {name for name in names if random.random() < TOMBSTONES}
    last = {key: offset for offset, key in enumerate(keys)}
    values = [None if key in gone and last[key] == o else random.randrange(1, 10_000) for o, key in enumerate(keys)]
    updates = [(key, offset, value) for offset, (key, value) in enumerate(zip(keys, values, strict=True))]
    random.shuffle(updates)
    owned = random.sample([HOT, *names], OWNERS) + ["account 1000"]
    return Balances(tuple(updates), {name: f"owner of {name}" for name in owned})


def find_newest(made: Balances) -> list[Row]:
    """Return the newest balance of each account that has no tombstone, and its owner where it has one."""
    return _rows(made, lambda updates: max(updates, key=lambda u: u[1])[2])


def _rows(made: Balances, choose: Callable[[list[Update]], int | None], keep: bool = False) -> list[Row]:
    by_account: dict[str, list[Update]] = {}
    for update in made.updates:
        by_account.setdefault(update[0], []).append(update)
    chosen = {account: choose(updates) for account, updates in by_account.items()}
    return [(a, value, made.owners.get(a)) for a, value in chosen.items() if keep or value is not None]


def _skip_tombstones(updates: list[Update]) -> int | None:
    return max((u for u in updates if u[2] is not None), key=lambda u: u[1], default=updates[0])[2]


MUTANTS = (
    Mutant(
        "largest value",
        "the largest balance were the newest",
        lambda made: _rows(made, lambda updates: max((u[2] for u in updates if u[2] is not None), default=None)),
        "max takes the largest balance. max_by(value, offset) takes the value at the largest offset.",
    ),
    Mutant(
        "tombstone skipped",
        "a tombstone were not there, and the balance before it came back",
        lambda made: _rows(made, _skip_tombstones),
        "Find the newest record first, and then drop the accounts whose newest record is a tombstone.",
    ),
    Mutant(
        "tombstone kept",
        "a deleted account still had a row",
        lambda made: _rows(made, lambda updates: max(updates, key=lambda u: u[1])[2], keep=True),
        "An account whose newest record is a tombstone is deleted: it has no row in the result.",
    ),
    Mutant(
        "inner join",
        "an account without an owner had no balance",
        lambda made: [row for row in find_newest(made) if row[2] is not None],
        "Some accounts have no owner. Which kind of join keeps them?",
    ),
)
"""Wrong balances."""


def folder_of(seed: int) -> str:
    """Write the tables as Parquet, once; return the name of their folder in `inputs()`."""
    return write_folder(inputs(), seed)


@cache
def write_folder(there: Path, seed: int) -> str:
    """Write `updates` and `owners` as Parquet; return the name of their new folder in `there`."""
    folder = Path(mkdtemp(prefix="balances-", dir=there))
    folder.chmod(0o755)
    made = make_balances(seed)
    (folder / "updates.parquet").mkdir()
    for number in range(FILES):
        _write(folder / "updates.parquet" / f"{number}.parquet", COLUMNS_OF["updates"], made.updates[number::FILES])
    _write(folder / "owners.parquet", COLUMNS_OF["owners"], tuple(made.owners.items()))
    return folder.name


COLUMNS_OF = {"updates": ("account", "offset", "value"), "owners": ("account", "owner")}


def _write(path: Path, names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), path)
