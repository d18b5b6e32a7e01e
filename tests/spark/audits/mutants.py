"""Histories with something wrong in them: rows of real ones changed, dropped or given other values, by a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from kafkalab.history.history import History

Change = Callable[[random.Random, Any, tuple[Any, ...]], Any]


def _field(name: str, *values: Any) -> Change:
    return lambda chance, row, _: row._replace(**{name: chance.choice(values)})


def _shift(name: str) -> Change:
    return lambda chance, row, _: row._replace(**{name: max(getattr(row, name) + chance.choice((-2, -1, 1, 2)), 0)})


def _of_another(*names: str) -> Change:
    def change(chance: random.Random, row: Any, rows: tuple[Any, ...]) -> Any:
        other = chance.choice(rows)
        return row._replace(**{name: getattr(other, name) for name in names})

    return change


def _drop(chance: random.Random, row: Any, rows: tuple[Any, ...]) -> None:
    return None


def _other_value(chance: random.Random, row: Any, rows: tuple[Any, ...]) -> Any:
    data = [other.value for other in rows if not other.key.startswith("__") and not other.control]
    return row if row.key.startswith("__") or row.control else row._replace(value=chance.choice(data))


def _other_outcome(chance: random.Random, row: Any, rows: tuple[Any, ...]) -> Any:
    return row._replace(control={"": "", "COMMIT": "ABORT", "ABORT": "COMMIT"}[row.control])


CHANGES: dict[str, tuple[Change, ...]] = {
    "operations": (_drop, _of_another("process"), _field("type", "ok", "fail", "info"), _of_another("transaction")),
    "log": (
        _drop,
        _other_value,
        _of_another("producer_id", "producer_epoch"),
        _shift("sequence"),
        _field("removed", "", "compacted", "deleted", "truncated"),
        _other_outcome,
    ),
    "reads": (
        _drop,
        _shift("offset"),
        _of_another("value"),
        _of_another("process"),
        _field("isolation_level", "read_committed", "read_uncommitted"),
    ),  # fmt: skip
    "polls": (
        _drop,
        _shift("start"),
        _shift("end"),
        _field("moved", "", "seek", "assign", "rebalance"),
        _field("start", -1),
    ),  # fmt: skip
    "transactions": (
        _drop,
        _shift("producer_epoch"),
        _field("state", "Ongoing", "PrepareCommit", "CompleteAbort"),
        _of_another("partitions"),
        _of_another("producer_id"),
    ),  # fmt: skip
    "watermarks": (_shift("last_stable_offset"), _field("leads", True, False)),
    "leaders": (_field("leader", ""),),
    "frames": (_drop, _of_another("sender")),
}


def mutant(history: History, seed: int, share: float = 0.04) -> History:
    """The history with about this share of its rows changed. Rows keep their order and their places."""
    chance = random.Random(seed)
    made: dict[str, Any] = {"labels": history.labels}
    for table, changes in CHANGES.items():
        rows = history.table(table)
        kept = []
        for row in rows:
            changed = chance.choice(changes)(chance, row, rows) if chance.random() < share else row
            if changed is not None:
                kept.append(changed)
        made[table] = tuple(kept)
    return History(**made)
