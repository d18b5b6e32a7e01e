"""Every anomaly that can be injected, by the name of its check, and its windows turned into arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from kafkalab.spark.synthetic.names import Ints
from kafkalab.spark.synthetic.scenes import effects, reads, sends, transactions
from kafkalab.spark.synthetic.scenes.scene import COMMITS, Scene
from kafkalab.spark.synthetic.scenes.window import STARTS, A, B, Ref, ref

SCENES: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "inconsistent-offsets": (sends.two_values,),
    "G1a": (reads.aborted_read,),
    "precommitted-read": (reads.own_read,),
    "lost-write": (sends.never_in_a_log, sends.truncated),
    "unseen": (sends.late,),
    "duplicate": (sends.twice_in_the_log, sends.sent_again, sends.the_same_batch_twice),
    "poll-skip": (reads.skip_between_polls, partial(reads.skip_between_polls, moved="rebalance", policy="allowed")),
    "int-poll-skip": (reads.skip_inside_a_poll,),
    "nonmonotonic-poll": (reads.read_again, partial(reads.read_again, start=2, moved="seek", policy="allowed")),
    "int-nonmonotonic-poll": (reads.twice_in_a_poll,),
    "nonmonotonic-send": (sends.crossed, partial(sends.crossed, idempotent=False)),
    "int-nonmonotonic-send": (partial(sends.crossed, inside=True),),
    "int-send-skip": (transactions.another_in_between,),
    "G0": (transactions.each_before_the_other,),
    "G1c": (transactions.each_from_the_other, transactions.through_the_log),
    "torn transaction": (transactions.torn, transactions.joined),
    "partial visibility": (reads.one_part_first,),
    "zombie write": (transactions.zombie,),
    "hanging transaction": (transactions.unknown_to_any_coordinator, transactions.late_for_its_transaction),
    "offset/output split": (
        effects.offset_ahead_of_output,
        effects.processed_by_two,
        effects.offsets_commit_and_output_aborts,
    ),  # fmt: skip
    "sequence gap": (partial(sends.wrong_sequence, second=2), partial(sends.wrong_sequence, second=0)),
    "LSO regression": (sends.stable_offset_goes_back,),
    "marker without decision": (transactions.undecided_marker,),
    "decision without marker": (transactions.unfinished,),
    "exactly-once": (effects.two_effects, effects.no_effect, effects.not_yet),
}
"""The scenes of each anomaly; they take turns. A scene may lead to more findings than its own."""


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
    """A finding to be expected, as columns; `steps` is None where the window alone does not know them."""

    anomaly: str
    policy: str
    keys: Numbers
    offsets: Numbers
    steps: Numbers | None


@dataclass(frozen=True, slots=True)
class Window:
    """A scene as arrays. `length` in steps; `rows` of A and B that it takes; `tables` by name and column."""

    length: int
    rows: tuple[int, int]
    commits: int
    entries: int
    tables: dict[str, dict[str, Numbers]]
    partitions: tuple[Ints, Numbers]
    truths: tuple[Truth, ...]


def _numbers(refs: list[Ref]) -> Numbers:
    return Numbers(np.array([r.start for r in refs], np.int64), np.array([r.plus for r in refs], np.int64))


@cache
def windows_of(anomaly: str, bump: int) -> tuple[Window, ...]:
    """The windows that inject this anomaly."""
    return tuple(_window(play, bump) for play in SCENES[anomaly])


def _window(play: Callable[[Scene], None], bump: int) -> Window:
    scene = Scene(bump)
    play(scene)
    scene.rest()
    tables, partitions = {}, (np.zeros(0, np.int64), _numbers([]))
    for table, rows in scene.tables.items():
        if table == "transactions":
            lists = [row["partitions"] for row in rows]
            partitions = (np.array([len(one) for one in lists], np.int64), _numbers([r for one in lists for r in one]))
        columns = [name for name in rows[0] if name != "partitions"]
        tables[table] = {name: _numbers([ref(row[name]) for row in rows]) for name in columns}
    truths = tuple(
        Truth(
            e.anomaly,
            e.policy,
            _numbers(list(e.keys)),
            _numbers(list(e.offsets)),
            None if e.steps is None else _numbers(list(e.steps)),
        )
        for e in scene.expected
    )
    return Window(
        length=(scene.clock // 8 + 2) * 8,
        rows=(scene.ends.get(A, 0), scene.ends.get(B, 0)),
        commits=scene.ends.get(COMMITS, 0),
        entries=scene.entries,
        tables=tables,
        partitions=partitions,
        truths=truths,
    )


assert STARTS < 32
