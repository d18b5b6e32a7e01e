"""Lab 7's exercises: settings compared, remedies tried, clocks told apart; every truth is a run's."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.course.lab07 import exercise_1 as lab07_e1
from kafkalab.course.lab07 import exercise_2 as lab07_e2
from kafkalab.course.lab07 import exercise_3 as lab07_e3
from kafkalab.course.lab07 import services
from kafkalab.course.lab07.scenario import find_first_error
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from tests.grading.told import as_learner, tell
from tests.grading.told import catch_wrong_answer as told_by

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
RE = "recreate"
LIGHTEST = ("retry", "retry", "abort", "abort", RE, RE, RE, "exit", RE, "abort", "exit", "exit")
TIMED_OUT = "KafkaTimeoutError"
AFTER_TIMED_OUT = f"after {TIMED_OUT}"
RIGHT_2 = dict(enumerate(LIGHTEST, 1))


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
    assert check("L7.E3", review(int(seed))) == check("L7.E3", review(1)) == "L7.E3 ✓ 6 of 6 lines"


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
    [("L7.E2", RIGHT_2, lab07_e2.WORDS)],
    ids=["L7.E2"],
)
def test_every_wrong_word_is_found_with_its_run(exercise: str, right: dict[int, str], words: tuple[str, ...]) -> None:
    for number, truth in right.items():
        for word in set(words) - {truth}:
            told = tell(exercise, number, word)
            assert f"row {number}, " in told.refutes
            assert told.run is not None


@pytest.mark.parametrize("module", [lab07_e2])
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
        check("L7.E3", review(1) | {"producer.id.expiration.ms": services.FORGOTTEN})
    assert "accepts sequence 0" in hint("L7.E3")


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


# the review of a configuration


def review(of_seed: int) -> dict[str, Any]:
    """The right words for the service that this seed asks about."""
    number = lab07_e3.draw_number(of_seed)
    return {"service": number} | {fact.name: fact.truth for fact in lab07_e3.facts(number, 1)}


@pytest.mark.parametrize("number", range(1, services.SERVICES + 1))
def test_three_lines_of_each_service_do_not_fit_under_any_seed(number: int) -> None:
    truths = [[fact.truth for fact in lab07_e3.facts(number, seed)] for seed in (1, 2026)]
    assert truths[0] == truths[1]
    assert sum(truth != services.FITS for truth in truths[0]) == 3
    assert set(truths[0]) <= set(services.WORDS)


def test_each_word_is_true_of_some_line_of_some_service() -> None:
    facts = [fact for number in range(1, services.SERVICES + 1) for fact in lab07_e3.facts(number, 1)]
    assert {fact.truth for fact in facts} == set(services.WORDS)
    assert {belief for fact in facts for belief in (fact.misses or {}).values()} == set(lab07_e3.EXERCISE.misses)


def test_the_configuration_that_is_printed_is_the_one_that_runs() -> None:
    for number in range(1, services.SERVICES + 1):
        asked, lines = services.service(number), str(services.service(number)).splitlines()
        for line in services.LINES:
            assert f"{line}={asked.value(line)}" in lines
        assert f"# counter.properties: a shelf takes {asked.work_ms // 1_000} s." in lines
        assert f"# Up to {asked.days} days pass between two shelves." in lines


@pytest.mark.parametrize("of_seed", [1, 3, 5])
def test_a_wrong_line_opens_its_own_run_where_it_is_decided(of_seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(of_seed))
    right = review(of_seed)
    for fact in lab07_e3.facts(right["service"], of_seed):
        for word in set(services.WORDS) - {fact.truth}:
            told = tell("L7.E3", fact.name, word)
            assert told.wrong
            assert told.belief == (fact.misses or {}).get(word, "")
            assert isinstance(told.run, Scenario)
            assert 0 <= told.step < ran(told.run).trace.steps
            with pytest.raises(WrongAnswer, match="5 of 6 lines are right"):
                lab07_e3.EXERCISE.check({**right, fact.name: word})


@pytest.mark.parametrize("number", [0, 41, "nine"])
def test_a_service_that_does_not_exist_is_refused(number: object) -> None:
    with pytest.raises(WrongValue, match="There is no service"):
        check("L7.E3", review(1) | {"service": number})


def test_a_form_without_a_word_is_blank() -> None:
    with pytest.raises(BlankAnswer):
        lab07_e3.EXERCISE.check({"service": 0, **dict.fromkeys(services.LINES, "")})
