"""Lab 08's exercises: the events of a failover in their order, and the markers that the next coordinator sends."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.course.lab08 import exercise_1 as lab08_e1
from kafkalab.course.lab08 import exercise_2 as lab08_e2
from kafkalab.grading.check import check, hint, question
from kafkalab.grading.exercise import WrongAnswer, WrongType, WrongValue
from kafkalab.grading.forms import Order
from kafkalab.grading.seeds import VARIABLE
from kafkalab.protocol.partitions import partition_for
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import as_learner, catch_wrong_answer

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
RIGHT = list(lab08_e1.TEN)


def to_send(entries: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """As a learner might write it: with a loop over the log."""
    newest = {}
    for entry in entries:
        newest[entry["transactional_id"]] = entry
    found = []
    for entry in newest.values():
        if entry["state"] in ("PrepareCommit", "PrepareAbort"):
            word = entry["state"].removeprefix("Prepare").upper()
            found += [(entry["producer_id"], partition, word) for partition in entry["partitions"]]
    return sorted(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solutions_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L8.E1", RIGHT) == "L8.E1 ✓ 10 of 10 in order"
    assert check("L8.E2", as_learner(to_send)) == "L8.E2 ✓ 24 of 24 cases"


@pytest.mark.parametrize("seed", range(1, 21))
def test_the_order_is_that_of_the_run_under_every_seed(seed: int) -> None:
    assert list(lab08_e1.ORDER.sort(seed)) == RIGHT


def test_the_question_is_in_disorder_and_another_one_under_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    first = question("L8.E1")
    monkeypatch.setenv(VARIABLE, "2026")
    assert sorted(first) == sorted(RIGHT) == sorted(question("L8.E1"))
    assert first != question("L8.E1")
    assert first != RIGHT


def test_every_pair_that_is_the_wrong_way_round_is_told_with_the_run() -> None:
    for answer in Order.wrong_pairs(RIGHT).values():
        with pytest.raises(WrongAnswer, match="is not before") as caught:
            lab08_e1.ORDER.check(answer)
        assert isinstance(caught.value.run, Cluster)
        assert caught.value.step >= 0
        assert caught.value.miss in {"", *lab08_e1.EXERCISE.misses}


@pytest.mark.parametrize(
    ("later", "earlier", "miss"),
    [
        ("accounts-1 can be read", "b3 answers app", "told after the markers"),
        ("b1 appends a COMMIT marker", "PrepareCommit is replicated", "before the decision"),
        ("CompleteCommit is replicated", "accounts-1 can be read", "complete before the markers"),
        ("b1 sends markers", "b3 crashes", "nobody coordinates"),
    ],
)
def test_each_misconception_of_the_order_gets_its_hint(later: str, earlier: str, miss: str) -> None:
    error = catch_wrong_answer("L8.E1", Order.wrong_pairs(RIGHT)[later, earlier])
    assert error.miss == miss
    assert str(lab08_e1.EXERCISE.misses[miss]) in " ".join(hint("L8.E1").split())


def test_a_list_of_another_form_is_refused_with_what_is_missing() -> None:
    with pytest.raises(WrongValue, match="missing: 'CompleteCommit is replicated'"):
        check("L8.E1", [*RIGHT[:9], RIGHT[0]])
    with pytest.raises(WrongValue, match="'Fetch' is none of the names"):
        check("L8.E1", [*RIGHT[:9], "Fetch"])
    with pytest.raises(WrongType, match="Give the list of the ten events"):
        check("L8.E1", {1: "b3 crashes"})
    for blank in ([], ..., None, [""] * 10):
        assert "still blank" in str(catch_wrong_answer("L8.E1", blank))


def test_the_names_live_in_one_partition_of_the_coordinators_log() -> None:
    assert {partition_for(name) for name in lab08_e2.NAMES} == {int(lab08_e2.LOG.rpartition("-")[2])}


@pytest.mark.parametrize("seed", range(1, 4))
def test_what_the_next_coordinator_sends_is_what_the_rules_say(seed: int) -> None:
    seen = lab08_e2.failovers(seed)
    assert [lab08_e2.markers(one.entries) for one in seen] == [one.sent for one in seen]
    assert {word for one in seen for _, _, word in one.sent} == {"COMMIT", "ABORT"}
    for one in seen[:3]:
        event = ran(one.scenario).trace.events[one.loaded_step]
        assert event.name == "coordinator loaded"
        assert event.node != lab08_e2.COORDINATOR


@pytest.mark.parametrize("mutant", lab08_e2.MUTANTS, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_mutant_of_the_coordinator_is_named_and_opens_its_run(
    mutant: Any, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer("L8.E2", mutant.function)
    assert error.miss == mutant.name
    assert error.run is not None


def test_a_coordinator_that_is_still_blank_is_told_so() -> None:
    assert "still blank" in str(catch_wrong_answer("L8.E2", lambda entries: ...))
