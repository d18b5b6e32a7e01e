"""Lab 3's second exercise: the order is the run's, a wrong pair is named with its run, and each belief has its hint."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab import lab03
from kafkalab.course.lab03 import exercise_2 as lab03_e2
from kafkalab.faults.frame import Drop
from kafkalab.grading.check import check, counterexample, hint, question
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import catch_wrong_answer

pytestmark = pytest.mark.usefixtures("no_hints_given")
E2 = [
    "the service sends EndTxn", "every replica has PrepareCommit", "b3 crashes", "b1 becomes the leader of the log",
    "b1 has read the log", "b1 sends the markers", "b1 writes CompleteCommit", "the service gets the answer",
]  # fmt: skip


@pytest.mark.parametrize("seed", ["1", "2026", "5"])
def test_the_model_answer_passes_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L3.E2", E2) == "L3.E2 ✓ 8 of 8 in order"


def test_the_order_is_the_same_for_every_seed_and_shuffled_by_it() -> None:
    assert [s for s in range(1, 13) if list(lab03_e2.ORDER.sort(s)) != E2] == []
    assert len({tuple(lab03_e2.ORDER.shuffle(s)) for s in range(1, 13)}) > 10
    assert sorted(question("L3.E2")) == sorted(E2) != question("L3.E2")


def test_in_the_run_the_coordinator_crashes_between_its_decision_and_its_answer() -> None:
    run = lab03_e2.run(1)
    assert run.outcome().verdict == "committed"
    (answer,) = (f for f in run.trace.frames.values() if f.name == "EndTxnResponse" and f.fate == "delivered")
    assert (answer.sender, answer.error) == ("b1", "NONE")
    assert all(f.sender == "b1" for f in run.trace.frames.values() if f.name == "WriteTxnMarkers")


def test_the_order_comes_from_a_run() -> None:
    def whole(seed: int) -> Cluster:
        return ran(lab03(seed=seed).with_faults(Drop("EndTxnResponse#9")))

    steps = {name: lab03_e2.ORDER.steps[name] for name in (E2[0], E2[1], E2[5], E2[6], E2[7])}
    calm = list(replace(lab03_e2.ORDER, run=whole, steps=steps).sort(1))
    assert calm.index("the service gets the answer") < calm.index("b1 writes CompleteCommit")


@pytest.mark.parametrize(
    ("first", "second", "miss", "hint_says"),
    [
        ("b1 writes CompleteCommit", "the service gets the answer", "answered as ever", "b3 is dead"),
        ("b1 has read the log", "b1 sends the markers", "it knows without reading", "knows only what is in its log"),
        ("every replica has PrepareCommit", "b3 crashes", "the next coordinator decides", "does not decide"),
    ],
)
def test_each_wrong_pair_is_named_with_its_run_and_hint(first: str, second: str, miss: str, hint_says: str) -> None:
    answer = [{first: second, second: first}.get(name, name) for name in E2]
    error = catch_wrong_answer("L3.E2", answer)
    assert error.miss == miss
    assert "6 of 8 are in their places" in str(error)
    assert f"'{second}' is not before '{first}'" in str(error).replace("\n", " ")
    assert counterexample() is error.run
    assert hint_says in hint("L3.E2")
    with pytest.raises(WrongAnswer) as caught:
        lab03_e2.ORDER.check(answer)
    assert caught.value.step == lab03_e2.ORDER.steps[first](lab03_e2.run(1))
