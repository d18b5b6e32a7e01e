"""Lab 00's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from kafkalab import lab00
from kafkalab.course.lab00 import exercise_1 as lab00_e1
from kafkalab.course.lab00 import exercise_2 as lab00_e2
from kafkalab.course.lab00 import exercise_3 as lab00_e3
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.check import check, counterexample, hint, question
from kafkalab.grading.exercise import WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster
from tests.grading.told import catch_wrong_answer, tell

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2026", "77")
TWO_PLATES = [Drop("ProduceResponse#1"), Pause("kitchen", at_ms=50), Resume("kitchen", at_ms=32_000)]
E3 = {
    1: "once", 2: "twice", 3: "twice", 4: "once", 5: "once", 6: "twice", 7: "never", 8: "once", 9: "once",
}  # fmt: skip


def request_of(response: dict[str, Any], requests: list[dict[str, Any]]) -> Any:
    return next(r["id"] for r in requests if r["correlation_id"] == response["correlation_id"])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L0.E1", TWO_PLATES) == "L0.E1 ✓ 3 presses; 2 would be enough"
    assert check("L0.E2", request_of).endswith(" cases")
    assert check("L0.E3", E3) == "L0.E3 ✓ 9 of 9 rows"


def test_another_way_to_two_plates_is_as_good() -> None:
    late = [Delay("Produce#1", 30_500), Pause("kitchen", at_ms=0), Resume("kitchen", at_ms=40_000)]
    assert check("L0.E1", late) == "L0.E1 ✓ 3 presses; 2 would be enough"


def test_two_losses_or_delays_are_enough_if_they_strike_the_right_answers() -> None:
    """The shop misses its answer, and the kitchen finds its place only after 30 seconds; no one fault does both."""
    base = Cluster(lab00())
    base.run()
    names = [f.id for f in base.trace.frames.values() if f.category == "transaction"]
    shown = [*names, "Produce#2", "ProduceResponse#2"]
    faults = [fault for name in shown for fault in (Drop(name), Delay(name, 31_000))]
    right = []
    for few in [*combinations(faults, 1), *combinations(faults, 2)]:
        cluster = Cluster(lab00().with_faults(*few))
        cluster.run()
        if lab00_e1.count_orders(cluster) > 1:
            right.append(tuple(fault.frame for fault in few))
    assert list(dict.fromkeys(right)) == [
        ("ProduceResponse#1", "ListOffsets#1"),
        ("ProduceResponse#1", "ListOffsetsResponse#1"),
    ]
    two = [Drop("ProduceResponse#1"), Drop("ListOffsets#1")]
    assert check("L0.E1", two) == "L0.E1 ✓ 2 presses, the fewest there are"


@pytest.mark.parametrize("at_ms", [30_200, 30_600, 31_000])
def test_the_kitchen_may_go_on_as_soon_as_the_second_soup_is_replicated(at_ms: int) -> None:
    """A follower's fetch waits at its leader however long nothing happens, so replication never stands still."""
    presses = [Drop("ProduceResponse#1"), Pause("kitchen", at_ms=50), Resume("kitchen", at_ms=at_ms)]
    assert check("L0.E1", presses) == "L0.E1 ✓ 3 presses; 2 would be enough"


@pytest.mark.parametrize(
    ("presses", "miss", "hint_says"),
    [
        ([Drop("ProduceResponse#1")], "read too early", "Who has to wait?"),
        ([Drop("Produce#1")], "lost before it was written", "The first takes one press"),
        ([Pause("kitchen", at_ms=50), Resume("kitchen", at_ms=70)], "one copy", "The first takes one press"),
    ],
)
def test_each_near_miss_is_told_and_hinted(presses: list[Any], miss: str, hint_says: str) -> None:
    error = catch_wrong_answer("L0.E1", presses)
    assert error.miss == miss
    assert counterexample() is error.run
    assert hint_says in hint("L0.E1")


def test_what_may_not_be_pressed_is_refused_and_five_presses_are_too_many() -> None:
    with pytest.raises(WrongValue, match="may not be pressed here; there are Drop, Delay, Pause, Resume"):
        check("L0.E1", [Duplicate("Produce#1")])
    more = [Drop("ProduceResponse#2"), Delay("ListOffsets#1", 5)]
    assert "can you do it in 4?" in str(catch_wrong_answer("L0.E1", [*TWO_PLATES, *more]))


def test_every_mutant_differs_from_the_reference_whatever_the_seed() -> None:
    for seed in range(20):
        cases = lab00_e2.cases(seed)
        for mutant in lab00_e2.MUTANTS:
            assert any(mutant.function(*c) != lab00_e2.reference(*c) for c in cases), (seed, mutant.name)


@pytest.mark.parametrize("mutant", lab00_e2.MUTANTS, ids=lambda m: m.name)
def test_each_mutant_of_the_second_exercise_is_caught_and_has_a_hint(mutant: Any) -> None:
    error = catch_wrong_answer("L0.E2", mutant.function)
    assert error.miss in lab00_e2.EXERCISE.misses
    assert hint("L0.E2")


def test_whoever_goes_by_the_numbers_in_the_names_is_told_that_no_node_sees_them() -> None:
    error = catch_wrong_answer("L0.E2", lambda response, requests: response["id"].replace("Response", ""))
    assert error.miss == "the numbers of the names"
    assert "No node sees it" in hint("L0.E2")


def test_answers_typed_in_for_the_learners_seed_are_wrong_under_the_graders(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {repr(case): lab00_e2.reference(*case) for case in lab00_e2.cases(1)}

    def typed_in(response: Any, requests: Any) -> Any:
        return known.get(repr((response, requests)), "Produce#1")

    assert check("L0.E2", typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer("L0.E2", typed_in)


def test_the_question_shows_responses_with_their_requests_and_no_answer() -> None:
    for response, requests in question("L0.E2"):
        assert response["name"].endswith("Response")
        assert set(response) == {"id", "name", "sender", "receiver", "sent_ms", "version", "correlation_id"}
        assert sum(r["correlation_id"] == response["correlation_id"] for r in requests) == 1


def test_the_rows_of_the_third_exercise_are_the_same_for_every_seed() -> None:
    assert [s for s in range(1, 16) if {f.name: f.truth for f in lab00_e3.facts(s)} != E3] == []


def test_the_rows_come_from_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = [(says, lambda trace: Crash("kitchen", at_ms=1), look) for says, _, look in lab00_e3.ROWS]
    monkeypatch.setattr(lab00_e3, "ROWS", calm)
    assert {f.truth for f in lab00_e3.facts.__wrapped__(1)} == {"once"}


def test_every_wrong_word_of_the_third_exercise_is_caught() -> None:
    for number, word in E3.items():
        for wrong in {*lab00_e3.WORDS} - {word}:
            assert f"row {number}, " in tell("L0.E3", number, wrong).refutes


def test_whoever_believes_that_a_retry_is_recognised_is_told_to_look_for_the_number() -> None:
    assert catch_wrong_answer("L0.E3", {**E3, 2: "once", 3: "once"}).miss == "a retry is recognised"
    assert "no number by which a leader could recognise them" in hint("L0.E3")
