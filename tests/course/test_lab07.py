"""Lab 7's exercises: settings compared, remedies tried, clocks told apart; every truth is a run's."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kafkalab.course.lab07 import exercise_1 as lab07_e1
from kafkalab.course.lab07 import exercise_2 as lab07_e2
from kafkalab.course.lab07 import exercise_3 as lab07_e3
from kafkalab.course.lab07 import services
from kafkalab.course.lab07.scenario import find_first_error
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue
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
        check("L7.E3", review(1) | {"producer.id.expiration.ms": (services.FORGOTTEN, 86_400_000)})
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

WORKS: dict[str, str | int] = {
    "transactional.id": "counter-0",
    "transaction.timeout.ms": 600_000,
    "delivery.timeout.ms": 120_000,
    "max.poll.interval.ms": 600_000,
    "transactional.id.expiration.ms": 20 * 86_400_000,
    "producer.id.expiration.ms": 86_400_000,
}
"""A value of each line that works in every service."""


def effects(number: int, seed: int = 1) -> dict[str, str]:
    """Return what each line of a service breaks, or FITS."""
    return {line: lab07_e3.find_effect(line, services.service(number), seed) for line in services.LINES}


def review(of_seed: int) -> dict[str, Any]:
    """The right answer for the service that this seed asks about."""
    number = lab07_e3.draw_number(of_seed)
    broken = {line: effect for line, effect in effects(number).items() if effect != services.FITS}
    return {"service": number} | {line: (effect, WORKS[line]) for line, effect in broken.items()}


@pytest.mark.parametrize("number", range(1, services.SERVICES + 1))
def test_three_lines_of_each_service_break_it_under_any_seed(number: int) -> None:
    assert effects(number) == effects(number, 2026)
    broken = [effect for effect in effects(number).values() if effect != services.FITS]
    assert len(broken) == 3
    assert set(broken) <= set(services.EFFECTS)


def test_each_effect_is_that_of_some_line_and_each_belief_can_be_met() -> None:
    found = [pair for number in range(1, services.SERVICES + 1) for pair in effects(number).items()]
    assert {effect for _, effect in found} == {*services.EFFECTS, services.FITS}
    words = (*services.EFFECTS, services.FITS)
    met = {lab07_e3.name_belief(line, effect, word) for line, effect in found for word in words} - {""}
    assert met == set(lab07_e3.EXERCISE.misses)


def test_the_configuration_that_is_printed_is_the_one_that_runs() -> None:
    for number in range(1, services.SERVICES + 1):
        asked = services.service(number)
        printed = dict(line.split("=") for line in str(asked).splitlines() if "=" in line)
        for line in services.LINES:
            value = getattr(asked, line.replace(".", "_"))
            assert printed[line] == str(value)
            assert asked.repair({line: value}) == asked
        assert f"# counter.properties: a shelf takes {asked.work_ms // 1_000} s." in str(asked)
        assert f"# Up to {asked.days} days pass between two shelves." in str(asked)


def judge_review(answer: dict[str, Any]) -> WrongAnswer:
    with pytest.raises(WrongAnswer) as caught:
        lab07_e3.EXERCISE.check(answer)
    error = caught.value
    assert isinstance(error.run, Scenario)
    assert 0 <= error.step < ran(error.run).trace.steps
    return error


@pytest.mark.parametrize("of_seed", [1, 3, 5])
def test_a_line_that_is_not_repaired_is_shown_by_a_run_and_not_named(
    of_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(of_seed))
    right = review(of_seed)
    asked = services.service(right["service"])
    for line, (effect, _) in [(line, entry) for line, entry in right.items() if line != "service"]:
        left_out = {name: entry for name, entry in right.items() if name != line}
        same = {**right, line: (effect, getattr(asked, line.replace(".", "_")))}
        tried = [left_out] if line == "transactional.id" else [left_out, same]  # its old value has a placeholder
        for answer in tried:
            error = judge_review(answer)
            assert "it still breaks" in str(error)
            assert line not in str(error)
            assert error.miss == lab07_e3.name_belief(line, effect, services.FITS) != ""
            assert error.part == 2 / 3


@pytest.mark.parametrize("of_seed", [1, 3, 5])
def test_another_effect_and_a_line_that_broke_nothing_are_named_with_the_old_run(
    of_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(of_seed))
    right = review(of_seed)
    for line, effect in effects(right["service"], of_seed).items():
        for word in set(services.EFFECTS) - {effect}:
            error = judge_review({**right, line: (word, WORKS[line])})
            assert f"5 of 6 lines are judged right. One that is not: {line}. You say {word!r}" in str(error)
            assert error.miss == lab07_e3.name_belief(line, effect, word)
            assert error.part == (2 / 3 if effect == services.FITS else 1 / 3)
            assert error.run == services.run_of(line, services.service(right["service"]), of_seed)


def test_who_changes_every_line_or_guesses_effects_gets_nothing() -> None:
    number = lab07_e3.draw_number(1)
    every: dict[str, Any] = {line: (services.LEAVES, value) for line, value in WORKS.items()}
    assert judge_review({"service": number, **every}).part == 0
    random, passed = Random(7), 0
    for _ in range(300):
        chosen = random.sample(services.LINES, 3)
        guess = {line: (random.choice(services.EFFECTS), WORKS[line]) for line in chosen}
        try:
            lab07_e3.EXERCISE.check({"service": number, **guess})
            passed += 1
        except WrongAnswer:
            pass
    assert passed <= 2  # one in 4,320: 20 sets of three lines, and 216 triples of effects


@pytest.mark.parametrize("number", [0, 41, "nine", True])
def test_a_service_that_does_not_exist_is_refused(number: object) -> None:
    with pytest.raises(WrongValue, match="There is no service"):
        check("L7.E3", review(1) | {"service": number})


@pytest.mark.parametrize(
    ("line", "entry", "kind", "says"),
    [
        ("max.poll.interval.ms", 300_000, WrongType, "not an effect and a value"),
        ("max.poll.interval.ms", ("it fits", 300_000), WrongValue, "no word of this exercise"),
        ("max.poll.interval.ms", (services.LEAVES, "5 minutes"), WrongValue, "a number of milliseconds from 1000 to"),
        ("max.poll.interval.ms", (services.LEAVES, 2**31), WrongValue, "to 2147483647, not 2147483648"),
        ("max.poll.interval.ms", (services.LEAVES, True), WrongValue, "not True"),
        ("transactional.id", (services.WAIT, "counter-${uuid}"), WrongValue, "without placeholders"),
        ("transactional.id", (services.WAIT, 5), WrongValue, "a text without placeholders, not 5"),
        ("linger.ms", (services.CLIENT, 5_000), WrongValue, "There is no line 'linger.ms' to judge"),
    ],
)
def test_what_is_no_repair_is_told_what_to_give(line: str, entry: object, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind) as error:
        check("L7.E3", review(1) | {line: entry})
    assert says in " ".join(str(error.value).split())


@pytest.mark.parametrize("answer", [{"service": 0}, {"service": 9}, {}, ...])
def test_a_form_without_a_line_is_blank(answer: object) -> None:
    with pytest.raises(BlankAnswer):
        lab07_e3.EXERCISE.check(answer)
