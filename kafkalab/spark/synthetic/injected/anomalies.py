"""Every anomaly that can be planted, by the name of its check, and its windows turned into arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from kafkalab.spark.synthetic.injected import effects as planted_effects
from kafkalab.spark.synthetic.injected import reads as planted_reads
from kafkalab.spark.synthetic.injected import sends as planted_sends
from kafkalab.spark.synthetic.injected import transactions as planted_transactions
from kafkalab.spark.synthetic.injected.script import COMMITS, Story
from kafkalab.spark.synthetic.injected.window import STARTS, A, B, Ref, ref
from kafkalab.spark.synthetic.names import Ints

Tell = Callable[[int], Story]
PLANTS: dict[str, tuple[Tell, ...]] = {
    "inconsistent-offsets": (planted_sends.two_values,),
    "G1a": (planted_reads.aborted_read,),
    "precommitted-read": (planted_reads.own_read,),
    "lost-write": (planted_sends.never_in_a_log, planted_sends.truncated),
    "unseen": (planted_sends.late,),
    "duplicate": (planted_sends.twice_in_the_log, planted_sends.sent_again, planted_sends.the_same_batch_twice),
    "poll-skip": (planted_reads.skip_between_polls, planted_reads.skip_across_a_rebalance),
    "int-poll-skip": (planted_reads.skip_inside_a_poll,),
    "nonmonotonic-poll": (planted_reads.read_again, planted_reads.read_again_after_seek),
    "int-nonmonotonic-poll": (planted_reads.twice_in_a_poll,),
    "nonmonotonic-send": (planted_sends.crossed_sends, planted_sends.crossed_without_idempotence),
    "int-nonmonotonic-send": (planted_sends.crossed_in_a_transaction,),
    "int-send-skip": (planted_transactions.another_in_between,),
    "G0": (planted_transactions.each_before_the_other,),
    "G1c": (planted_transactions.each_from_the_other, planted_transactions.through_the_log),
    "torn transaction": (planted_transactions.torn, planted_transactions.joined),
    "partial visibility": (planted_reads.one_part_first,),
    "zombie write": (planted_transactions.zombie,),
    "hanging transaction": (
        planted_transactions.unknown_to_any_coordinator,
        planted_transactions.late_for_its_transaction,
    ),
    "offset/output split": (
        planted_effects.offset_ahead_of_output,
        planted_effects.processed_by_two,
        planted_effects.offsets_commit_and_output_aborts,
    ),
    "sequence gap": (planted_sends.a_sequence_is_missing, planted_sends.a_sequence_comes_again),
    "LSO regression": (planted_sends.stable_offset_goes_back,),
    "marker without decision": (planted_transactions.undecided_marker,),
    "decision without marker": (planted_transactions.unfinished,),
    "exactly-once": (planted_effects.two_effects, planted_effects.no_effect, planted_effects.not_yet),
}
"""The stories of each anomaly; they take turns. What a story says it leads to may be more than the one finding."""


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
    """A story as arrays. `length` in steps; `rows` of A and B that it takes; `tables` by name and column."""

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
    """The windows that plant this anomaly."""
    return tuple(_window(tell(bump)) for tell in PLANTS[anomaly])


def _window(story: Story) -> Window:
    tables, partitions = {}, (np.zeros(0, np.int64), _numbers([]))
    for table, rows in story.tables.items():
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
        for e in story.expected
    )
    return Window(
        length=(story.clock // 8 + 2) * 8,
        rows=(story.ends.get(A, 0), story.ends.get(B, 0)),
        commits=story.ends.get(COMMITS, 0),
        entries=story.entries,
        tables=tables,
        partitions=partitions,
        truths=truths,
    )


assert all(len(stories) > 0 for stories in PLANTS.values())
assert STARTS < 32
