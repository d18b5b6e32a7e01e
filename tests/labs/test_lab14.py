"""What lab 14 says of its runs is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.alternatives.presses import run
from kafkalab.course.lab14.scenario import lab14
from kafkalab.faults.node import Crash
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.protocol.errors import Error
from kafkalab.sim.cluster import ran

LAB = read(Path(__file__).resolve().parents[2] / SOLUTIONS / "14_other_ways.ipynb")
SEEDS = range(1, 6)


def test_its_question_is_marked_where_it_is_answered() -> None:
    assert [n for c in LAB["cells"] for n in c["metadata"].get("kafkalab", {}).get("questions", [])] == [33]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_kafka_partition_is_asked_before_the_decision(seed: int) -> None:
    done = run("Kafka", seed=seed)
    between = range(done.moments["asked"], done.moments["decided"])
    asked = [f for f in done.trace.frames.values() if f.sent_step in between and f.category != "replication"]
    assert [f.id for f in asked] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_kafkas_client_asks_again_and_the_next_coordinator_finishes(seed: int) -> None:
    done = run("Kafka", [("coordinator", "prepared")], seed=seed)
    tries = [f for f in done.trace.frames.values() if f.name == "EndTxn" and f.fate == "delivered"]
    assert tries[-1].receiver != "b3"
    assert (set(done.parts.values()), done.told) == ({"committed"}, "committed")


def test_with_one_broker_left_the_parts_are_committed_and_the_client_is_answered_concurrent_transactions() -> None:
    done = run("Kafka", [("coordinator", "told"), ("told", "told")])
    answers = [f for f in done.trace.frames.values() if f.name == "EndTxnResponse" and f.sender == "b2"]
    assert {f.body.error for f in answers} == {Error.CONCURRENT_TRANSACTIONS}
    assert set(done.parts.values()) == {"committed"}
    assert max(f.sent_ms for f in answers) < 61_000


def test_with_other_latencies_the_client_of_kafka_has_its_answer_in_time() -> None:
    first, other = (run("Kafka", [("coordinator", "told"), ("told", "told")], seed=seed) for seed in (1, 4))
    assert (first.told, other.told) == ("unknown", "committed")
    assert first.parts == other.parts


@pytest.mark.parametrize("seed", SEEDS)
def test_the_two_phase_client_is_told_committed_while_one_participant_cannot_know(seed: int) -> None:
    done = run("two-phase commit", [("coordinator", "told"), ("told", "told")], seed=seed)
    assert (done.told, done.parts) == ("committed", {"p1": "down", "p2": "in doubt"})


def test_an_undecided_transaction_is_aborted_by_its_time_out() -> None:
    cluster = ran(lab14(faults=(Crash("app", at_ms=73),)))
    assert cluster.outcome().verdict == "aborted"
    written = [r.value for p in (0, 1) for b in cluster.log_of(f"accounts-{p}").batches for r in b.records]
    assert written[0] == "-10"
    assert "+10" in written
