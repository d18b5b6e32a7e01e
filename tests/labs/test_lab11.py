"""What lab 11 says of its runs is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.course.lab11.scenario import GAPS, counts, lab11, prepared_and_claimed, verdict
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.programs.booking import OUTPUT, PATTERNS
from kafkalab.sim.cluster import ran

LAB = read(Path(__file__).resolve().parents[2] / SOLUTIONS / "11_edge_of_the_guarantee.ipynb")
MATRIX = {
    "Kafka first": ("ok", "ok", "ok", "lost", "lost", "ok"),
    "database first": ("ok", "ok", "dup", "dup", "dup", "ok"),
    "unique key": ("ok",) * 6,
    "outbox": ("ok", "ok", "ok", "ok", "dup", "ok"),
}


def printed(cell: str) -> list[str]:
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    output = found["outputs"][-1]
    return "".join(output.get("text") or output["data"]["text/plain"]).splitlines()


def test_its_questions_are_marked_where_they_are_answered() -> None:
    marked = [n for c in LAB["cells"] for n in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(marked) == [31, 32, 33]


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_gaps_are_the_same_with_any_latencies_and_protocol(pattern: str, profile: str, seed: int) -> None:
    assert ran(lab11(pattern, 0, seed, profile)).results["booker"] == ["ann 10"]
    found = tuple(verdict(ran(lab11(pattern, gap, seed, profile)), pattern) for gap in GAPS)
    assert found == MATRIX[pattern]


def test_a_pattern_or_gap_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no pattern is called 'both first'; there are Kafka first"):
        lab11("both first")
    with pytest.raises(ValueError, match="gap is 1 to 6"):
        lab11("outbox", 7)


def test_the_two_orders_of_commits_lose_or_double() -> None:
    assert printed("order") == [
        "database first  bookings, receipts: (2, 1)",
        "Kafka first     bookings, receipts: (0, 1)",
    ]
    assert counts(ran(lab11("database first", 3)), "database first") == (2, 1)


def test_kafka_4_3_refuses_two_phase_commit_and_to_keep_what_is_prepared() -> None:
    assert printed("two-refused") == ["UnsupportedVersionError UNSUPPORTED_VERSION"]
    assert printed("two-keep") == ["{'keeper': 'UNSUPPORTED_VERSION'}"]


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_claim_aborts_what_was_prepared(seed: int) -> None:
    cluster = ran(prepared_and_claimed(seed=seed))
    assert cluster.outcome().committed[OUTPUT] == ()
    states = [e.data["state"] for e in cluster.trace.of("state", "transaction")]
    assert "PrepareAbort" in states
    assert "PrepareCommit" not in states
