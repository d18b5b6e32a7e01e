"""Lab 05's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.course.lab05 import exercise_1 as lab05_e1
from kafkalab.course.lab05 import exercise_2 as lab05_e2
from kafkalab.course.lab05 import exercise_4 as lab05_e4
from kafkalab.course.lab05 import logs as lab05_logs
from kafkalab.course.lab05.mixed_questions import QUESTIONS
from kafkalab.faults.frame import Delay, Drop, Hold
from kafkalab.faults.node import Crash
from kafkalab.grading.check import check, counterexample, hint
from kafkalab.grading.exercise import WrongValue
from kafkalab.grading.seeds import VARIABLE
from tests.grading.told import catch_wrong_answer

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2026", "77")
FUNCTIONS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "L5.E1": (lab05_e1, lab05_logs.stable_offset),
    "L5.E2": (lab05_e2, lab05_logs.deliver_values),
}


def last_stable_offset(log: list[dict[str, Any]], high_watermark: int) -> int:
    first_offset: dict[int, int] = {}
    for row in log:
        if row["producer"] is None:
            continue
        if row["kind"] == "record":
            first_offset.setdefault(row["producer"], row["offset"])
        elif row["offset"] < high_watermark:
            first_offset.pop(row["producer"], None)
    return min([high_watermark, *first_offset.values()])


def visible(rows: list[dict[str, Any]], aborted: list[tuple[int, int]]) -> list[str]:
    waiting, leaving_out, values = list(aborted), [], []
    for row in rows:
        while waiting and waiting[0][1] <= row["offset"]:
            leaving_out.append(waiting.pop(0)[0])
        if row["kind"] == "ABORT" and row["producer"] in leaving_out:
            leaving_out.remove(row["producer"])
        if row["kind"] == "record" and row["producer"] not in leaving_out:
            values.append(row["value"])
    return values


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L5.E1", last_stable_offset) == "L5.E1 ✓ 48 of 48 cases"
    assert check("L5.E2", visible) == "L5.E2 ✓ 48 of 48 cases"
    for marker in ("WriteTxnMarkers#1", "WriteTxnMarkers#2"):
        for press in (Delay(marker, 1_000), Drop(marker), Hold(marker)):
            assert check("L5.E3", [press]) == "L5.E3 ✓ 1 press, the fewest there are"


def test_with_no_rule_switched_the_functions_are_the_brokers_and_the_consumers() -> None:
    for seed in range(25):
        assert all(lab05_e1.stable(*c) == lab05_logs.stable_offset(*c) for c in lab05_e1.cases(seed))
        assert all(lab05_e2.filter_values(*c) == lab05_logs.deliver_values(*c) for c in lab05_e2.cases(seed))


@pytest.mark.parametrize("exercise_id", FUNCTIONS)
def test_every_mutant_differs_from_the_reference_whatever_the_seed(exercise_id: str) -> None:
    module, reference = FUNCTIONS[exercise_id]
    for seed in range(40):
        cases = module.cases(seed)
        for mutant in module.MUTANTS:
            assert any(mutant.function(*c) != reference(*c) for c in cases), (seed, mutant.name)


@pytest.mark.parametrize(
    ("exercise_id", "mutant"),
    [(i, m) for i, (module, _) in FUNCTIONS.items() for m in module.MUTANTS],
    ids=lambda value: getattr(value, "name", value),
)
def test_each_mutant_is_named_as_itself_and_has_a_hint(exercise_id: str, mutant: Any) -> None:
    error = catch_wrong_answer(exercise_id, mutant.function)
    assert error.miss == mutant.name
    assert mutant.says in str(error).replace("\n", " ")
    assert mutant.name in FUNCTIONS[exercise_id][0].EXERCISE.misses
    assert hint(exercise_id).startswith("Hint")


@pytest.mark.parametrize("exercise_id", FUNCTIONS)
def test_what_was_learnt_by_heart_fails_under_the_graders_seed(
    exercise_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, reference = FUNCTIONS[exercise_id]
    known = {repr(case): reference(*case) for case in module.cases(1)}

    def typed_in(*case: Any) -> Any:
        return known.get(repr(case), 0)

    assert check(exercise_id, typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer(exercise_id, typed_in)


def test_the_aborted_list_is_that_of_a_log_by_hand() -> None:
    kinds = [(7, "record"), (8, "record"), (7, "ABORT"), (7, "record"), (8, "COMMIT"), (7, "ABORT"), (9, "ABORT")]
    log = [{"offset": n, "producer": p, "kind": k, "value": f"v{n}"} for n, (p, k) in enumerate(kinds)]
    assert lab05_logs.aborted_of(log, 0, 7) == [(7, 0), (7, 3)]
    assert lab05_logs.deliver_values(log, [(7, 0), (7, 3)]) == ["v1"]
    assert [lab05_logs.stable_offset(log[:n], n) for n in range(1, 8)] == [0, 0, 1, 1, 3, 6, 7]
    assert lab05_logs.stable_offset(log, 5) == 3, "the ABORT marker at 5 is not replicated yet"


@pytest.mark.parametrize(
    ("presses", "miss", "hint_says"),
    [
        ([Drop("EndTxn#1")], "nothing yet", "one marker for each partition"),
        ([Delay("WriteTxnMarkers#1", 50)], "whole at once", "Which log entry makes records visible"),
        ([Drop("WriteTxnMarkers#1"), Drop("WriteTxnMarkers#3")], "never whole", "but before the second look"),
    ],
)
def test_each_near_miss_is_told_and_hinted(presses: list[Any], miss: str, hint_says: str) -> None:
    error = catch_wrong_answer("L5.E3", presses)
    assert error.miss == miss
    assert counterexample() is error.run
    assert hint_says in hint("L5.E3")


def test_a_crash_may_not_be_pressed() -> None:
    with pytest.raises(WrongValue, match="may not be pressed here; there are Drop, Delay, Hold, Duplicate"):
        check("L5.E3", [Crash("b1", at_ms=50)])


@pytest.mark.parametrize("exercise_id", FUNCTIONS)
def test_a_blank_function_is_called_blank(exercise_id: str) -> None:
    assert "still blank" in str(catch_wrong_answer(exercise_id, lambda *case: ...))
    assert "still blank" in str(catch_wrong_answer("L5.E3", []))


# mixed questions


def test_the_pool_has_questions_of_each_lab_up_to_this_one() -> None:
    assert len(QUESTIONS) >= 15
    assert sorted({question.source for question in lab05_e4.pool(1)}) == [f"lab {number}" for number in range(6)]


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_each_question_has_one_truth_under_all_seeds_and_a_belief_for_each_other_choice(number: int) -> None:
    facts = [lab05_e4.pool(seed)[number].fact for seed in range(3)]
    (truth,) = {fact.truth for fact in facts}
    assert truth in facts[0].words
    assert set(facts[0].misses or ()) == set(facts[0].words) - {truth}
    assert set((facts[0].misses or {}).values()) <= set(lab05_e4.EXERCISE.misses)


def test_each_belief_belongs_to_a_question() -> None:
    used = {belief for question in QUESTIONS for belief in question.beliefs.values()}
    assert used == set(lab05_e4.BELIEFS)
    assert len(lab05_e4.EXERCISE.misses) == len(used)
