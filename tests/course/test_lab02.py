"""Lab 02's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab02
from kafkalab.course.lab02 import exercise_1 as lab02_e1
from kafkalab.course.lab02 import exercise_2 as lab02_e2
from kafkalab.course.lab02 import exercise_3 as lab02_e3
from kafkalab.grading.check import check, find, hint, question
from kafkalab.grading.exercise import WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.protocol.partitions import partition_for
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from tests.grading.told import catch_wrong_answer, hold, tell

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2026", "77")
NINE = [
    "FindCoordinator", "InitProducerId", "InitProducerIdResponse", "Produce", "AddPartitionsToTxn", "ProduceResponse",
    "EndTxn", "EndTxnResponse", "WriteTxnMarkers",
]  # fmt: skip
OTHER, AWAY = "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"
E3 = {
    1: "NONE", 2: "no answer", 3: OTHER, 4: "COORDINATOR_LOAD_IN_PROGRESS", 5: "NONE",
    6: OTHER, 7: OTHER, 8: "NONE", 9: AWAY, 10: AWAY,
}  # fmt: skip
"""From docs/protocol.md#loading, by hand; row 9 because min.isr is 2."""


def partition_of(transactional_id: str, partitions: int) -> int:
    data, value = transactional_id.encode("utf-16-be"), 0
    for i in range(0, len(data), 2):
        value = (value * 31 + data[i] * 256 + data[i + 1]) % 2**32
    if value >= 2**31:
        value -= 2**32
    return (0 if value == -(2**31) else abs(value)) % partitions


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L2.E1", partition_of) == "L2.E1 ✓ 37 of 37 cases"
    assert check("L2.E2", NINE) == "L2.E2 ✓ 9 of 9 frames in order"
    assert check("L2.E3", E3) == "L2.E3 ✓ 10 of 10 rows"


def test_every_mutant_differs_from_the_reference_whatever_the_seed() -> None:
    for seed in range(40):
        cases = lab02_e1.cases(seed)
        for mutant in lab02_e1.MUTANTS:
            assert any(mutant.function(*c) != partition_for(*c) for c in cases), (seed, mutant.name)


@pytest.mark.parametrize("mutant", lab02_e1.MUTANTS, ids=lambda m: m.name)
def test_each_mutant_is_named_as_itself_and_has_a_hint(mutant: Any) -> None:
    error = catch_wrong_answer("L2.E1", mutant.function)
    assert error.miss == mutant.name
    assert mutant.says in str(error)
    assert mutant.name in lab02_e1.EXERCISE.misses
    assert hint("L2.E1").startswith("Hint")


def test_pythons_own_hash_is_wrong_without_a_misconception_of_ours() -> None:
    assert catch_wrong_answer("L2.E1", lambda text, partitions: sum(map(ord, text)) % partitions).miss == ""


def test_names_that_were_typed_in_fail_under_the_graders_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {case: partition_for(*case) for case in lab02_e1.cases(1)}

    def typed_in(transactional_id: str, partitions: int) -> int:
        return known.get((transactional_id, partitions), 0)

    assert check("L2.E1", typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer("L2.E1", typed_in)


def test_the_nine_frames_fly_in_this_order_for_every_seed() -> None:
    assert [s for s in range(1, 31) if list(lab02_e2.order(s)) != NINE] == []
    assert sorted(question("L2.E2")) == sorted(NINE) != question("L2.E2")


def test_the_order_comes_from_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab02_e2, "lab02", lambda seed: lab02("4.x/TV1", seed))
    names = list(lab02_e2.order.__wrapped__(1))
    assert names.index("AddPartitionsToTxn") < names.index("Produce")


@pytest.mark.parametrize(
    ("swap", "miss", "hint_says"),
    [
        (("FindCoordinator", "InitProducerId"), "FindCoordinator", "who that is"),
        (("Produce", "AddPartitionsToTxn"), "who adds the partition", "the leader of the partition"),
        (("EndTxnResponse", "WriteTxnMarkers"), "markers before the answer", "as soon as the decision is safe"),
    ],
)
def test_each_swap_is_named_and_hinted(swap: tuple[str, str], miss: str, hint_says: str) -> None:
    one, other = swap
    answer = [{one: other, other: one}.get(name, name) for name in NINE]
    error = catch_wrong_answer("L2.E2", answer)
    assert error.miss == miss
    assert f"{other} is not sent before {one}" in str(error)
    assert hint_says in hint("L2.E2")


def test_every_swap_of_neighbours_is_caught() -> None:
    for i in range(8):
        answer = [*NINE[:i], NINE[i + 1], NINE[i], *NINE[i + 2 :]]
        assert "7 of 9 frames are in their places" in str(catch_wrong_answer("L2.E2", answer))


def test_a_list_of_another_form_is_refused_with_what_is_missing() -> None:
    with pytest.raises(WrongValue, match="missing: WriteTxnMarkers"):
        check("L2.E2", [*NINE[:8], NINE[0]])
    with pytest.raises(WrongValue, match="'Fetch' is none of the nine"):
        check("L2.E2", [*NINE[:8], "Fetch"])
    with pytest.raises(WrongType, match="Give the list of the nine names"):
        check("L2.E2", {1: "Produce"})
    for blank in ([], ..., None, [""] * 9):
        assert "still blank" in str(catch_wrong_answer("L2.E2", blank))
    assert check("L2.E2", [f"{name}#1" for name in NINE])


def test_the_answers_by_hand_are_the_same_for_every_seed() -> None:
    assert [s for s in range(1, 9) if {f.name: f.truth for f in lab02_e3.facts(s)} != E3] == []


def test_the_brokers_of_the_rows_have_the_roles_that_the_exercise_gives_them() -> None:
    cluster = Cluster(lab02_e3.scenario(1, lab02_e3.ROWS[4]))
    assert cluster.controller.metadata.leader("__transaction_state-22") == "b3"
    cluster.run()
    assert cluster.controller.metadata.leader("__transaction_state-22") == "b1"


def test_the_answers_come_from_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab02_e3, "LOAD_MS", 1)
    assert {f.name: f.truth for f in lab02_e3.facts.__wrapped__(1)} == {**E3, 4: "NONE"}


@pytest.mark.parametrize(
    ("change", "miss", "hint_says"),
    [
        ({1: AWAY}, "everybody knows at once", "noticed after nine seconds"),
        ({3: "NONE"}, "any broker will do", "Only the leader of the partition"),
        ({7: "NONE"}, "the role is the broker's", "leads nothing"),
    ],
)
def test_each_misconception_gets_its_hint(change: dict[int, str], miss: str, hint_says: str) -> None:
    ((number, word),) = change.items()
    assert tell("L2.E3", number, word).belief == hold("L2.E3", miss).miss == miss
    assert hint_says in find("L2.E3").hint_for(miss)


def test_every_wrong_word_is_caught_with_a_run_that_can_be_opened() -> None:
    for number, word in E3.items():
        for wrong in {*lab02_e3.WORDS} - {word}:
            told = tell("L2.E3", number, wrong)
            assert f"row {number}, " in told.refutes
            assert isinstance(told.run, Scenario)
            assert not ran(told.run).unused_faults
