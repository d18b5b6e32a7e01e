"""Lab 00's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from kafkalab import lab00
from kafkalab.course.lab00 import exercise_1 as lab00_e1
from kafkalab.course.lab00 import exercise_2 as lab00_e2
from kafkalab.course.lab00 import exercise_3 as lab00_e3
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Pause, Resume
from kafkalab.grading.check import check, counterexample, hint, question
from kafkalab.grading.exercise import WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster
from tests.grading.told import catch_wrong_answer

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2026", "77")
TWO_PLATES = [Drop("ProduceResponse#1"), Pause("kitchen", at_ms=50), Resume("kitchen", at_ms=32_000)]
E3 = [
    "the shop sends soup", "b2 appends soup", "the answer is lost", "the kitchen gets one soup",
    "the shop gives up waiting", "the shop sends soup again", "b2 appends soup again", "the shop gets an answer",
]  # fmt: skip


def first_of(frame: dict[str, Any], earlier: list[dict[str, Any]]) -> Any:
    same = [e for e in earlier if (e["sender"], e["records"]) == (frame["sender"], frame["records"])]
    return min([*same, frame], key=lambda e: e["sent_ms"])["id"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L0.E1", TWO_PLATES) == "L0.E1 ✓ 3 presses; 2 would be enough"
    assert check("L0.E2", first_of).endswith(" cases")
    assert check("L0.E3", E3) == "L0.E3 ✓ 8 of 8 in order"


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
        ([Drop("ProduceResponse#1")], "read too early", "Which of the two has to wait?"),
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
    assert "Can you do it with 4?" in str(catch_wrong_answer("L0.E1", [*TWO_PLATES, *more]))


def test_every_mutant_differs_from_the_reference_whatever_the_seed() -> None:
    for seed in range(20):
        cases = lab00_e2.cases(seed)
        for mutant in lab00_e2.MUTANTS:
            assert any(mutant.function(*c) != lab00_e2.reference(*c) for c in cases), (seed, mutant.name)


@pytest.mark.parametrize("seed", [1, 5, 2026])
def test_what_the_run_calls_a_second_attempt_is_a_retry_and_every_retry_brings_one_order_again(seed: int) -> None:
    assert all(len(set(orders)) == len(orders) for orders in lab00_e2.MENU.values())
    for (frame, earlier), cluster in lab00_e2.make_cases(seed):
        first = lab00_e2.reference(frame, earlier)
        again = first != frame["id"]
        assert again or cluster.trace.frames[frame["id"]].attempt == 1
        assert len(frame["records"]) == 1
        if again:
            before = cluster.trace.frames[first]
            assert before.attempt == 1
            assert before.correlation_id < frame["correlation_id"]


@pytest.mark.parametrize("mutant", lab00_e2.MUTANTS, ids=lambda m: m.name)
def test_each_mutant_of_the_second_exercise_is_caught_and_has_a_hint(mutant: Any) -> None:
    error = catch_wrong_answer("L0.E2", mutant.function)
    assert error.miss in lab00_e2.EXERCISE.misses
    assert hint("L0.E2")


def test_whoever_goes_by_the_correlation_id_is_told_that_a_retry_has_a_new_one() -> None:
    error = catch_wrong_answer(
        "L0.E2",
        lambda frame, earlier: next(
            e["id"] for e in [*earlier, frame] if e["correlation_id"] == frame["correlation_id"]
        ),
    )
    assert error.miss == "the same number"
    assert counterexample() is error.run
    assert "a retry is one more request" in hint("L0.E2")


def test_answers_typed_in_for_the_learners_seed_are_wrong_under_the_graders(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {repr(case): lab00_e2.reference(*case) for case in lab00_e2.cases(1)}

    def typed_in(frame: Any, earlier: Any) -> Any:
        return known.get(repr((frame, earlier)), frame["id"])

    assert check("L0.E2", typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer("L0.E2", typed_in)


def test_the_question_shows_frames_with_earlier_ones_and_no_answer() -> None:
    for frame, earlier in question("L0.E2"):
        for row in (frame, *earlier):
            assert set(row) == {"id", "sender", "sent_ms", "correlation_id", "records"}
    frame, earlier = question("L0.E2")[1]
    assert lab00_e2.reference(frame, earlier) != frame["id"]


def test_the_order_of_the_third_exercise_is_the_same_for_every_seed_and_shuffled_by_it() -> None:
    assert [s for s in range(1, 16) if list(lab00_e3.ORDER.sort(s)) != E3] == []
    assert len({tuple(lab00_e3.ORDER.shuffle(s)) for s in range(1, 16)}) > 10
    assert sorted(question("L0.E3")) == sorted(E3) != question("L0.E3")


def test_the_order_comes_from_a_run() -> None:
    delayed = Cluster(lab00().with_faults(Drop("ProduceResponse#1"), Delay("Fetch#1", 31_000)))
    delayed.run()
    assert replace(lab00_e3.ORDER, run=lambda seed: delayed).sort(1).index("the kitchen gets one soup") > 3


@pytest.mark.parametrize(
    ("first", "second", "miss", "hint_says"),
    [
        ("the kitchen gets one soup", "the shop gives up waiting", "the kitchen waits for the shop", "a tenth"),
        ("b2 appends soup", "the answer is lost", "answered before it is written", "first it writes"),
        ("the shop gives up waiting", "the shop sends soup again", "sent again at once", "What tells it"),
    ],
)
def test_each_wrong_pair_is_named_with_its_run_and_hint(first: str, second: str, miss: str, hint_says: str) -> None:
    answer = [{first: second, second: first}.get(name, name) for name in E3]
    error = catch_wrong_answer("L0.E3", answer)
    assert error.miss == miss
    assert f"'{second}' is not before '{first}'" in str(error).replace("\n", " ")
    assert counterexample() is error.run
    assert hint_says in hint("L0.E3")


def test_an_order_of_another_form_is_refused() -> None:
    with pytest.raises(WrongValue, match="missing: 'the shop gets an answer'"):
        check("L0.E3", [*E3[:7], E3[0]])
    with pytest.raises(WrongValue, match="'lunch' is none of the names"):
        check("L0.E3", [*E3[:7], "lunch"])
    with pytest.raises(WrongType, match="Give the list of what happens"):
        check("L0.E3", {1: E3[0]})
    for blank in ([], ..., None, [""] * 8):
        assert "still blank" in str(catch_wrong_answer("L0.E3", blank))
