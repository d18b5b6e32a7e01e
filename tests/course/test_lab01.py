"""Lab 01's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import KafkaError
from kafkalab.course.lab01 import exercise_1 as lab01_e1
from kafkalab.course.lab01 import exercise_2 as lab01_e2
from kafkalab.course.lab01 import exercise_3 as lab01_e3
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import WrongType
from kafkalab.grading.seeds import VARIABLE
from kafkalab.log.producer_state.entry import ProducerEntry
from kafkalab.protocol.errors import Error
from kafkalab.sim.app import App
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario
from tests.grading.told import catch_wrong_answer, tell

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2026", "77")
GAP, OLD = Error.OUT_OF_ORDER_SEQUENCE_NUMBER.name, Error.INVALID_PRODUCER_EPOCH.name
E1 = {1: "appended", 2: "known", 3: GAP, 4: GAP, 5: "appended", 6: "appended", 7: "appended", 8: OLD, 9: GAP}
"""From docs/protocol.md#produce-checks, by hand."""


def accept(state: dict[str, Any], batch: dict[str, int]) -> tuple[int, str]:
    first, last = batch["first"], (batch["first"] + batch["count"] - 1) % 2**31
    if batch["epoch"] == state["epoch"] and (first, last) in state["batches"]:
        return 0, "NONE"
    if batch["epoch"] < state["epoch"]:
        return 0, OLD
    due = 0
    if state["epoch"] == -1:
        due = first
    elif batch["epoch"] == state["epoch"] and state["batches"]:
        due = (state["batches"][-1][1] + 1) % 2**31
    return (batch["count"], "NONE") if first == due else (0, GAP)


async def stubborn(app: App, orders: list[str]) -> int:
    producer, again = app.producer(**lab01_e3.SETTINGS), 0
    for order in orders:
        while True:
            try:
                await (await producer.send("orders", order, partition=0))
                break
            except KafkaError:
                again += 1
    return again


async def gives_up(app: App, orders: list[str]) -> int:
    producer = app.producer(**lab01_e3.SETTINGS)
    for order in orders:
        await (await producer.send("orders", order, partition=0))
    return 0


async def swallows(app: App, orders: list[str]) -> int:
    producer, lost = app.producer(**lab01_e3.SETTINGS), 0
    for order in orders:
        try:
            await (await producer.send("orders", order, partition=0))
        except KafkaError:
            lost += 1
    return lost


async def leaves_it_to_the_producer(app: App, orders: list[str]) -> int:
    producer = app.producer(linger_ms=0)
    for order in orders:
        await (await producer.send("orders", order, partition=0))
    return 0


async def always_twice(app: App, orders: list[str]) -> int:
    producer = app.producer(linger_ms=0)
    for order in [*orders, *orders]:
        await (await producer.send("orders", order, partition=0))
    return len(orders)


async def does_not_count(app: App, orders: list[str]) -> int:
    return (await stubborn(app, orders)) + 1


async def never_ends(app: App, orders: list[str]) -> int:
    await app.port.promise()
    return 0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L1.E1", E1) == "L1.E1 ✓ 9 of 9 rows"
    assert check("L1.E2", accept) == "L1.E2 ✓ 320 of 320 cases"
    assert "orders are in the log twice, as often as an answer was lost" in check("L1.E3", stubborn)


def test_the_rows_are_the_same_for_every_seed_and_their_numbers_are_not() -> None:
    assert [s for s in range(1, 16) if lab01_e1.truth(s) != E1] == []
    assert len({str(lab01_e1.arrivals(s)) for s in range(1, 16)}) > 5


def test_the_rows_come_from_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalab.log.producer_state.state.data_error", lambda *args: Error.NONE)
    assert set(lab01_e1.truth.__wrapped__(1).values()) == {"appended", "known"}


def test_every_wrong_word_is_caught_with_the_run_up_to_that_row() -> None:
    for number, word in E1.items():
        for wrong in {*lab01_e1.WORDS} - {word}:
            told = tell("L1.E1", number, wrong)
            assert f'row {number}, where you say "{wrong}": producer' in told.refutes
            assert isinstance(told.run, Scenario)
            assert len(ran(told.run).results["by hand"]) == 2 + number


@pytest.mark.parametrize(
    ("change", "miss", "hint_says"),
    [
        ({2: GAP}, "a retry is an error", "asks again"),
        ({4: "appended", 5: GAP}, "sequences count batches", "A sequence counts records"),
        ({6: GAP}, "an unknown producer must begin at 0", "that producer could never continue"),
    ],
)
def test_each_misconception_of_the_first_exercise_gets_its_hint(
    change: dict[int, str], miss: str, hint_says: str
) -> None:
    assert catch_wrong_answer("L1.E1", {**E1, **change}).miss == miss
    assert hint_says in hint("L1.E1")


def test_with_no_rule_switched_the_decision_is_the_brokers() -> None:
    for seed in range(12):
        for case in lab01_e2.cases(seed):
            assert lab01_e2.decide(*case) == lab01_e2.reference(*case)


def test_every_mutant_differs_from_the_reference_whatever_the_seed() -> None:
    for seed in range(12):
        cases = lab01_e2.cases(seed)
        for mutant in lab01_e2.MUTANTS:
            assert any(mutant.function(*c) != lab01_e2.reference(*c) for c in cases), (seed, mutant.name)


@pytest.mark.parametrize("mutant", lab01_e2.MUTANTS, ids=lambda m: m.name)
def test_each_mutant_is_named_as_itself_and_has_a_hint(mutant: Any) -> None:
    error = catch_wrong_answer("L1.E2", mutant.function)
    assert error.miss == mutant.name
    assert mutant.says in str(error)
    assert mutant.name in lab01_e2.EXERCISE.misses
    assert hint("L1.E2").startswith("Hint")


def test_the_states_of_the_cases_are_states_that_a_leader_can_have() -> None:
    for state, batch in lab01_e2.cases(1):
        assert len(state["batches"]) <= 5
        assert (state["epoch"] == -1) == (not state["batches"])
        assert batch["count"] >= 1
        assert 0 <= batch["first"] < 2**31
    assert ProducerEntry().producer_epoch == -1


def test_a_leader_that_was_learnt_by_heart_fails_under_the_graders_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {repr(case): lab01_e2.reference(*case) for case in lab01_e2.cases(1)}

    def typed_in(state: Any, batch: Any) -> Any:
        return known.get(repr((state, batch)), (0, GAP))

    assert check("L1.E2", typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer("L1.E2", typed_in)


def test_the_evenings_of_the_learner_and_the_grader_differ_so_that_a_typed_in_number_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = lab01_e3.evening(1), lab01_e3.evening(2026)
    assert len(first[1]) != len(second[1])

    async def typed_in(app: App, orders: list[str]) -> int:
        await stubborn(app, orders)
        return len(first[1])

    assert check("L1.E3", typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    assert catch_wrong_answer("L1.E3", typed_in).miss == "count"


@pytest.mark.parametrize(
    ("shop", "miss", "hint_says"),
    [
        (gives_up, "gives up", "a KafkaError when the producer has given up"),
        (swallows, "lost", "count, and send it again"),
        (leaves_it_to_the_producer, "recognised", "Use the settings of the exercise"),
        (always_twice, "too often", "only when its own answer did not come"),
        (does_not_count, "count", "Count the sends"),
        (never_ends, "endless", "Leave the loop of one order"),
    ],
)
def test_each_wrong_shop_is_told_why_and_gets_its_hint(shop: Any, miss: str, hint_says: str) -> None:
    assert catch_wrong_answer("L1.E3", shop).miss == miss
    assert hint_says in hint("L1.E3")


def test_each_copy_has_a_sequence_or_an_epoch_of_its_own() -> None:
    orders, answers, _ = lab01_e3.evening(1)
    calm = lab01_e3._run(stubborn, orders)
    lost = lab01_e3._losing(calm, stubborn, orders, answers, of_response=True)
    batches = lost.log_of("orders-0").batches
    assert len(batches) == len(orders) + len(answers)
    assert len({(b.producer_id, b.producer_epoch, b.base_sequence) for b in batches}) == len(batches)


async def _blank(app: App, orders: list[str]) -> None: ...


@pytest.mark.parametrize("blank", [..., None, _blank])
def test_a_blank_shop_is_called_blank(blank: Any) -> None:
    assert "still blank" in str(catch_wrong_answer("L1.E3", blank))


def test_a_number_is_no_shop_and_a_shop_that_breaks_says_how() -> None:
    with pytest.raises(WrongType, match="Give an async function stubborn"):
        check("L1.E3", 3)

    async def breaks(app: App, orders: list[str]) -> int:
        raise KeyError("x")

    assert "stops with KeyError" in str(catch_wrong_answer("L1.E3", breaks))
