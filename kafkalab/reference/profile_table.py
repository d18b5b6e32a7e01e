"""The same questions put to every profile: what a Kafka of 0.11, of 1.0 and of today answers. All of it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.programs.steps import (
    Step,
    abort,
    add,
    add_offsets,
    commit,
    idempotent,
    init,
    offsets,
    produce,
    produce_idempotent,
    sleep,
)
from kafkalab.protocol.profiles import PROFILES
from kafkalab.reference.protocol_page import table
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import SCENARIOS

PAGE = Path("docs") / "profiles.md"
TOP = """\
# What each profile answers

Made by `kafkalab profiles` from runs; a test compares. `″` means: as in the column before.

Two numbers tell the profiles of Kafka 4 apart. The **cluster level** is the finalized level of the feature
`transaction.version`. The **client protocol** is the newest form of the transactional requests that the client speaks;
it speaks 2 only on a cluster of level 2. A cluster of level 2 does not protect a client that speaks protocol 1.

"""
TIMED_OUT_MS = 90_000
"""Longer than a timeout of one second and the slowest periodic scan, that of 0.11 and 1.0."""


@dataclass(frozen=True, slots=True)
class Question:
    """A short program by hand; the last answer that it gets is the answer to `text`."""

    text: str
    steps: tuple[Step, ...]


def _ones(count: int) -> list[Step]:
    return [produce_idempotent("p", "out-0", n, f"v{n}") for n in range(count)]


_BEGIN = (init("a"), add("a", "out-0"), produce("a", "out-0", 0, "x"))
_EXPIRED = (init("a", timeout_ms=1000), *_BEGIN[1:], sleep(TIMED_OUT_MS))

_OFFSETS = offsets("a", "g", "out-0", 1, until="NONE")
_OF_A_MEMBER = offsets("a", "g", "out-0", 1)
_OF_A_MEMBER["with"] |= {"generation_id": 3, "member_id": "m"}

QUESTIONS: tuple[Question, ...] = (
    Question("The newest batch is sent again", (idempotent("p"), *_ones(3), _ones(3)[2])),
    Question("The batch before the newest is sent again", (idempotent("p"), *_ones(3), _ones(3)[1])),
    Question("A batch older than the last five is sent again", (idempotent("p"), *_ones(8), _ones(8)[1])),
    Question("A sequence is left out", (idempotent("p"), *_ones(1), produce_idempotent("p", "out-0", 5, "late"))),
    Question(
        "The leader has no state of the producer, and its first sequence is 5",
        (idempotent("p"), produce_idempotent("p", "out-0", 5, "late")),
    ),
    Question(
        "A transactional batch for a partition that was never added",
        (init("a"), produce("a", "out-0", 0, "x")),
    ),
    Question("EndTxn with an epoch of before", (*_BEGIN, init("a"), commit("a", "-1"))),
    Question("EndTxn with an epoch that nobody was given", (*_BEGIN, commit("a", "+1"))),
    Question("Then EndTxn with the right epoch", (*_BEGIN, commit("a", "+1"), sleep(1000), commit("a"))),
    Question("Commit, asked twice", (*_BEGIN, commit("a"), sleep(1000), commit("a"))),
    Question("Commit, then abort", (*_BEGIN, commit("a"), sleep(1000), abort("a"))),
    Question("Abort of a transaction in which nothing was written", (init("a"), abort("a"))),
    Question(
        "TxnOffsetCommit of a fenced producer",
        (init("a"), init("a"), add_offsets("a", "g"), _OFFSETS, offsets("a", "g", "out-0", 2, epoch="-1")),
    ),
    Question(
        "Transactional offsets of a group that does not exist",
        (init("a"), add_offsets("a", "g"), _OF_A_MEMBER),
    ),
    Question(
        "The epoch after a second InitProducerId",
        (init("a"), {**init("a"), "show": ["producer_epoch"]}),
    ),
    Question(
        "The epoch after InitProducerId over an open transaction",
        (*_BEGIN, {**init("a"), "show": ["producer_epoch"]}),
    ),
    Question("Produce after the coordinator's timeout", (*_EXPIRED, produce("a", "out-0", 1, "y"))),
    Question("Commit after the coordinator's timeout", (*_EXPIRED, commit("a"))),
    Question("Abort after the coordinator's timeout", (*_EXPIRED, abort("a"))),
    Question("Then InitProducerId", (*_EXPIRED, {**init("a"), "show": ["producer_epoch"]})),
)


def answer(question: Question, profile: str) -> str:
    """Return what this profile's brokers say: error names, and the fields that the question asks for."""
    steps = [{k: v for k, v in step.items() if k != "version"} for step in question.steps]  # as the profile's clients
    programs = (Program("hand", "raw_requests", {"steps": steps}),)
    _, error, *shown = ran(Scenario(topics={"out": 1}, profile=profile, programs=programs)).results["hand"][-1]
    return " ".join(shown) if error == "NONE" and shown else str(error)


def _frames(profile: str) -> list[str]:
    frames = ran(SCENARIOS["lab03"](profile)).trace.frames.values()
    return [f.name for f in frames if f.sender == "app" and f.kind == "request"]


WHOLE_RUNS: dict[str, Callable[[str], Any]] = {
    "Cluster level": lambda profile: PROFILES[profile].cluster_level,
    "Client protocol": lambda profile: PROFILES[profile].client_protocol,
    "Requests that the client of lab 03 sends": lambda profile: len(_frames(profile)),
    "AddPartitionsToTxn and AddOffsetsToTxn among them": lambda profile: sum(
        name in ("AddPartitionsToTxn", "AddOffsetsToTxn") for name in _frames(profile)
    ),
}


def profile_table() -> dict[str, dict[str, str]]:
    """Question to profile to answer, every one of them run."""
    rows = {q.text: {p: answer(q, p) for p in PROFILES} for q in QUESTIONS}
    return rows | {text: {p: str(count(p)) for p in PROFILES} for text, count in WHOLE_RUNS.items()}


def text_of(root: Path) -> str:
    """Return docs/profiles.md as the runs made now have it."""
    return as_markdown(profile_table())


def as_markdown(answered: dict[str, dict[str, str]]) -> str:
    """The table as a page: a row a question, a column a profile; a ditto mark for the left neighbour's answer."""
    rows = []
    for text, answers in answered.items():
        found = list(answers.values())
        rows.append((text, *("″" if one == before else one for before, one in zip(["", *found], found, strict=False))))
    return TOP + "\n".join(table(("question", *PROFILES), rows, "|---|" + "---|" * len(PROFILES))) + "\n"
