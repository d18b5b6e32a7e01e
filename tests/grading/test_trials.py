"""A function that decides is judged by its runs: several answers are right, and a bad end names the mutant."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType
from kafkalab.grading.mutants import Mutant
from kafkalab.grading.trials import Trial, against_trials
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

FORM = "a function how_many(orders) that returns 1 or 2"


def send(count: int) -> Scenario:
    steps = [["send", "orders", "tea", None, 0]] * count
    return Scenario(
        title="A shop", topics={"orders": 1}, programs=(Program("shop", "operations", {"steps": [*steps, ["flush"]]}),)
    )


def trial(orders: int, *fine: int) -> Trial:
    def find_ills(cluster: Cluster) -> str:
        there = len(cluster.outcome().committed["orders-0"])
        return "" if there in fine else f"there are {there} orders"

    return Trial(calls=((orders,),), scenario=send, find_ills=find_ills, find_step=lambda cluster: 3)


TRIALS = (trial(100, 1), trial(20, 2), trial(3, 1, 2))
MUTANTS = (
    Mutant("always one", "all were alike", lambda orders: 1),
    Mutant("always two", "more were better", lambda n: 2),
)


def judge(answer: object) -> str:
    return against_trials(answer, TRIALS, MUTANTS, FORM, lambda value: "" if value in (1, 2) else "it is 1 or 2")


@pytest.mark.parametrize("either", [1, 2])
def test_every_decision_whose_runs_end_well_is_right(either: int) -> None:
    assert judge(lambda orders: {100: 1, 20: 2, 3: either}[orders]) == "3 of 3 runs"


@pytest.mark.parametrize(("value", "miss", "orders"), [(1, "always one", 20), (2, "always two", 100)])
def test_a_bad_end_names_its_mutant_and_brings_its_run(value: int, miss: str, orders: int) -> None:
    with pytest.raises(WrongAnswer, match="2 of 3 runs end well") as caught:
        judge(lambda orders: value)
    error = caught.value
    assert (error.miss, error.run, error.step, error.part) == (miss, send(value), 3, 2 / 3)
    assert f"({orders})\nYour function says {value}.\nIn its run there are {value} orders. That is as if" in str(error)


def test_a_bad_end_that_no_mutant_has_names_none() -> None:
    with pytest.raises(WrongAnswer, match="look how it comes to that") as caught:
        against_trials(lambda orders: 1, TRIALS, MUTANTS[1:], FORM, lambda value: "")
    assert (caught.value.miss, caught.value.part) == ("", 2 / 3)


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        ({1: 2}, WrongType, "Give a function how_many"),
        (lambda orders: ..., BlankAnswer, "still blank"),
        (lambda orders: 7, WrongType, r"returns int 7, and it is 1 or 2:\n    <lambda>\(100\)"),
        (lambda orders: 1 // 0, WrongAnswer, "Your function stops with ZeroDivisionError"),
    ],
)
def test_the_form_of_an_answer_is_told(answer: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        judge(answer)
