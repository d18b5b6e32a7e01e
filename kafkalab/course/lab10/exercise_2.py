"""L10.E2: where a consumer reads on after an abort, the question of Jepsen's abort workload; every row is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, facts_of, rows
from kafkalab.programs.packing import ORDERS, PARCELS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

REWIND, UNCHANGED, FURTHER = WORDS = ("rewind", "unchanged", "further")
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "further", 2: ...}}'
FIRST, NEXT, LAST = ["tea", "salt"], ["rice", "oil"], ["figs", "nuts"]
"""The orders that are there at the start, those that come next, and those that come after the abort."""
PLACE = {value: place for place, values in enumerate((FIRST, NEXT, LAST)) for value in values}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A packer's steps in the transaction that it has begun, and after it."""

    says: str
    look: str
    acts: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    misses: Mapping[str, str] = field(default_factory=dict)


ROWS = (
    Row(
        says="it aborts",
        look="Which of its requests does a consumer send when a producer aborts?",
        acts=("abort",),
        misses={REWIND: "the abort rewinds", FURTHER: "the abort rewinds"},
    ),
    Row(
        says="it sends its offsets to the transaction, and aborts",
        look="The pending offsets are dropped. Who reads committed offsets, and when?",
        acts=("send the offsets", "abort"),
        misses={REWIND: "the abort rewinds", FURTHER: "the abort rewinds"},
    ),
    Row(
        says="it sends its offsets to the transaction, aborts, and seeks to its committed offsets",
        look="What is the group's committed offset once the pending one is dropped?",
        acts=("send the offsets", "abort", "seek to committed"),
        misses={UNCHANGED: "pending counts", FURTHER: "committed is far back"},
    ),
    Row(
        says="it aborts, and seeks to the first order that the transaction had read",
        look="Where did the transaction begin to read?",
        acts=("abort", "seek to the first"),
        misses={FURTHER: "committed is far back"},
    ),
    Row(
        says="it aborts, and calls seek_to_beginning()",
        look="Does the beginning of a partition depend on what a group has committed?",
        acts=("abort", "seek to the beginning"),
        misses={REWIND: "the beginning is what is committed"},
    ),
    Row(
        says="it aborts, closes the consumer, and subscribes with a new one",
        look="A position lives in one consumer only. Where does a new one begin?",
        acts=("abort", "new consumer"),
        misses={UNCHANGED: "positions outlive consumers", FURTHER: "committed is far back"},
    ),
    Row(
        says="the same, with enable.auto.commit=true",
        look="What does closing such a consumer do first?",
        acts=("abort", "new consumer"),
        settings={"enable_auto_commit": True},
        misses={REWIND: "automatic commits know of aborts"},
    ),
    Row(
        says="it calls commit_sync(), aborts, and seeks to its committed offsets",
        look="To which transaction does commit_sync() belong?",
        acts=("commit_sync", "abort", "seek to committed"),
        misses={REWIND: "commit_sync is in the transaction", FURTHER: "commit_sync is in the transaction"},
    ),
    Row(
        says="it aborts, closes the producer, and calls init_transactions() with a new one",
        look="Which of the two clients has the position?",
        acts=("abort", "new producer"),
        misses={REWIND: "the abort rewinds", FURTHER: "the abort rewinds"},
    ),
    Row(
        says="it aborts, calls unsubscribe(), and subscribes again",
        look="What does a member of a group ask for, when it is assigned a partition?",
        acts=("abort", "join again"),
        misses={UNCHANGED: "positions outlive consumers", FURTHER: "committed is far back"},
    ),
)


def scenario(of_seed: int, row: Row) -> Scenario:
    """The row's packer, and a shop that takes further orders."""
    args = {"acts": list(row.acts), "settings": dict(row.settings)}
    orders = [[8_000, "commit", 0, *NEXT], [25_000, "commit", 0, *LAST]]
    return Scenario(
        title=f"After the abort: {row.says}",
        seed=of_seed,
        topics={ORDERS: 1, PARCELS: 1},
        records={f"{ORDERS}-0": tuple(FIRST)},
        programs=(Program("packer", "pack_and_abort", args), Program("shop", "shop_all_day", {"orders": orders})),
    )


def where(cluster: Cluster) -> str:
    """Return where the packer read on: with the first orders, the aborted ones, or the last."""
    place = PLACE[cluster.results["packer"][0]]
    return (FURTHER, REWIND, UNCHANGED)[place]


def _last_poll(cluster: Cluster) -> int:
    """Return the step at which the packer has the orders of its last poll."""
    polls = [e for e in cluster.trace.of("complete", "poll") if e.node == "packer" and e.data["records"]]
    return polls[-1].step


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Every row, and where its packer reads on."""
    return facts_of(ROWS, partial(scenario, of_seed), where, _last_poll)


BELIEFS = {
    "the abort rewinds": Belief(says="an abort moves the consumer", hint=0),
    "pending counts": Belief(
        says="offsets that were sent to an aborted transaction are still valid",
        hint="An aborted transaction leaves no offset behind. The committed offset is still that of the previous "
        "transaction.",
    ),
    "committed is far back": Belief(
        says="the group has committed nothing since the start",
        hint="The first transaction has committed. Where does its offset point?",
    ),
    "the beginning is what is committed": Belief(
        says="seek_to_beginning() goes to the committed offset",
        hint="seek_to_beginning() asks the leader for the first offset of the log. It asks the group coordinator for "
        "nothing.",
    ),
    "positions outlive consumers": Belief(
        says="a group remembers the position, even if nothing was committed",
        hint="A position is a number in one consumer's memory, for as long as the partition is assigned to it. What "
        "does the consumer ask for when it is assigned the partition again?",
    ),
    "automatic commits know of aborts": Belief(
        says="an automatic commit belongs to the producer's transaction",
        hint="A consumer commits its position by itself, also when it is closed. It knows nothing of a producer's "
        "transaction.",
    ),
    "commit_sync is in the transaction": Belief(
        says="commit_sync() belongs to the open transaction",
        hint="commit_sync() sends an OffsetCommit, a request of the consumer without any transaction. An abort does "
        "not undo it.",
    ),
}


EXERCISE = Exercise(
    "L10.E2",
    rows(facts, WORDS, FORM, beliefs=BELIEFS),
    (
        "Two things have a place in the log: the consumer has a position, the group has a committed offset. Which of "
        "the two does each call of the row change?",
        "beginTransaction, abortTransaction and commitTransaction are calls of the producer. None of them reaches the "
        "consumer, so its position stays where the last poll left it.",
        "A consumer takes the committed offset at two moments only: when it is assigned a partition, and when your "
        "program reads it with committed() and calls seek(). So ask of each row: does one of the two happen, and what "
        "is committed by then?",
    ),
    points=10,
    questions=(27, 30),
    misses=BELIEFS,
    afterwards=(
        "Why: the position is in the consumer, the transaction in the producer, and only your program knows both. So "
        "after an abort seek to the committed offset, or to the start if there is none. Next: exercise 3 lets a zombie "
        "in."
    ),
)
