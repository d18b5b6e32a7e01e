"""Lab 7's exercises: settings compared, remedies tried, clocks told apart; every truth is a run's."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.course.lab07 import exercise_1 as lab07_e1
from kafkalab.course.lab07 import exercise_2 as lab07_e2
from kafkalab.course.lab07 import exercise_3 as lab07_e3
from kafkalab.course.lab07.scenario import find_first_error
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from tests.grading.told import as_learner, tell
from tests.grading.told import catch_wrong_answer as told_by

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
RE = "recreate"
LIGHTEST = ("retry", "retry", "abort", "abort", RE, RE, RE, "exit", RE, "abort", "exit", "exit")
IN, OUT = "coordinator", "nobody"
TIMED_OUT = "KafkaTimeoutError"
AFTER_TIMED_OUT = f"after {TIMED_OUT}"
RIGHT_2 = dict(enumerate(LIGHTEST, 1))
RIGHT_3 = dict(enumerate((OUT, IN, IN, "group", "client", OUT, OUT, "cleaner", OUT, IN), 1))


def find_violated(s: dict[str, int]) -> list[str]:
    """As a learner might write it."""
    found = []
    if s["linger_ms"] + s["request_timeout_ms"] > s["delivery_timeout_ms"]:
        found.append("A")
    if s["transaction_timeout_ms"] > s["transaction_max_timeout_ms"]:
        found.append("B")
    if s["work_ms"] > s["max_poll_interval_ms"]:
        found.append("C")
    if s["work_ms"] > s["transaction_timeout_ms"]:
        found.append("D")
    if s["delivery_timeout_ms"] > s["transaction_timeout_ms"]:
        found.append("E")
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solutions_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L7.E1", as_learner(find_violated)) == "L7.E1 ✓ 14 of 14 cases"
    assert check("L7.E2", RIGHT_2) == "L7.E2 ✓ 12 of 12 rows"
    assert check("L7.E3", RIGHT_3) == "L7.E3 ✓ 10 of 10 rows"


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_arithmetic_says_what_the_runs_say(seed: int) -> None:
    cases = lab07_e1.cases(seed)
    assert [lab07_e1.truth(*case) for case in cases] == [lab07_e1.judge(*case) for case in cases]
    assert {letter for case in cases for letter in lab07_e1.judge(*case)} == set("ABCDE")


@pytest.mark.parametrize("mutant", lab07_e1.MUTANTS, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_mutant_of_the_comparisons_is_named_and_opens_its_run(
    mutant: Any, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    with pytest.raises(WrongAnswer) as caught:
        lab07_e1.EXERCISE.check(lambda settings: mutant.function(settings))
    error = caught.value
    assert error.miss == mutant.name
    assert isinstance(error.run, Cluster)
    assert error.step == find_first_error(error.run).step


def test_a_function_that_is_still_blank_is_told_so() -> None:
    assert "still blank" in str(told_by("L7.E1", lambda settings: ...))


@pytest.mark.parametrize(
    ("exercise", "right", "words"),
    [("L7.E2", RIGHT_2, lab07_e2.WORDS), ("L7.E3", RIGHT_3, lab07_e3.WORDS)],
    ids=["L7.E2", "L7.E3"],
)
def test_every_wrong_word_is_found_with_its_run(exercise: str, right: dict[int, str], words: tuple[str, ...]) -> None:
    for number, truth in right.items():
        for word in set(words) - {truth}:
            told = tell(exercise, number, word)
            assert f"row {number}, " in told.refutes
            assert told.run is not None


@pytest.mark.parametrize("module", [lab07_e2, lab07_e3])
def test_every_miss_of_a_row_is_a_wrong_word_of_it_and_has_its_hint(module: Any) -> None:
    used = set()
    for fact, row in zip(module.facts(1), module.ROWS, strict=True):
        assert set(row.misses) <= set(module.WORDS) - {fact.truth}, row.says
        used |= set(row.misses.values())
    assert used == set(module.EXERCISE.misses)


def test_a_misconception_picks_its_hint() -> None:
    with pytest.raises(WrongAnswer):
        check("L7.E2", RIGHT_2 | {8: "recreate"})
    assert "fences you" in hint("L7.E2")
    with pytest.raises(WrongAnswer):
        check("L7.E3", RIGHT_3 | {1: "coordinator"})
    assert "every ten seconds" in hint("L7.E3")


@pytest.mark.parametrize("number", range(1, 13))
def test_each_error_is_met_and_opened_where_the_counter_learns_of_it(number: int) -> None:
    fact, row = lab07_e2.facts(1)[number - 1], lab07_e2.ROWS[number - 1]
    cluster = ran(fact.run())  # type: ignore[arg-type, misc]
    assert cluster.results["counter"] == [row.error]
    assert cluster.unused_faults == ()
    assert find_first_error(cluster).data["name"] == f"after {row.error.split(': ')[1]}"


@pytest.mark.parametrize(
    ("number", "word", "ends", "last"),
    [
        (1, "abort", [f"commit_transaction: {TIMED_OUT}", "abort_transaction: IllegalStateError"], AFTER_TIMED_OUT),
        (3, "retry", [f"send: {TIMED_OUT}", "send: KafkaError"], "after KafkaError"),
        (4, "exit", ["send: InvalidProducerEpochError"], "after InvalidProducerEpochError"),
        (4, "recreate", ["send: InvalidProducerEpochError", "committed"], "commit_transaction"),
        (8, "recreate", ["commit_transaction: ProducerFencedError", "committed"], "after InvalidProducerEpochError"),
        (9, "abort", ["send: InvalidPidMappingError", "abort_transaction: KafkaError"], "abort_transaction"),
    ],
)
def test_the_run_below_a_wrong_remedy_tries_it(number: int, word: str, ends: list[str], last: str) -> None:
    told = tell("L7.E2", number, word)
    assert isinstance(told.run, Scenario)
    cluster = ran(told.run)
    assert cluster.results["counter"] == ends
    event = cluster.trace.events[told.step]
    assert last in (event.name, event.data.get("name"))


def test_a_new_producer_beside_one_that_is_at_work_fences_it() -> None:
    cluster = ran(lab07_e2.scenario(1, lab07_e2.ROWS[7], "recreate"))
    assert cluster.results["counter"][-1] == "committed"
    assert cluster.results["other"] == ["send: InvalidProducerEpochError"]


@pytest.mark.parametrize("row", lab07_e3.ROWS, ids=lambda row: row.says[:40])
def test_no_fault_of_a_row_is_unused(row: Any) -> None:
    assert ran(lab07_e3.scenario(1, row)).unused_faults == ()
