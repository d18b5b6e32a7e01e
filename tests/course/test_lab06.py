"""Lab 06's exercises: names for instances, a zombie's charge, whose charge counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.course.lab06 import exercise_1 as lab06_e1
from kafkalab.course.lab06 import exercise_2 as lab06_e2
from kafkalab.course.lab06 import exercise_3 as lab06_e3
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.check import check, counterexample, hint
from kafkalab.grading.exercise import WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster
from tests.grading.told import tell

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
RIGHT_3 = dict(enumerate(("till-2", "both", "till-1", "both", "none", "both", "none", "till-2", "till-2"), 1))
ASLEEP: list[Fault] = [Pause("till-1", at_ms=300), Resume("till-1", at_ms=5_300)]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer schedules than a learner's check runs."""
    monkeypatch.setattr(lab06_e1, "SCHEDULES", 6)


def right(facts: dict[str, Any]) -> str:
    return f"{facts['environment']}/{facts['app']}/{facts['instance']}"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solutions_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L6.E1", right) == "L6.E1 ✓ 24 of 24 schedules"
    assert check("L6.E2", ASLEEP) == "L6.E2 ✓ 2 presses, the fewest there are"
    assert check("L6.E3", RIGHT_3) == "L6.E3 ✓ 9 of 9 rows"


@pytest.mark.parametrize(
    ("name", "says", "miss"),
    [
        (lambda f: f["app"], "although nobody was to replace it", "What tells them apart?"),
        (lambda f: f"{f['app']}-{f['environment']}", "although nobody was to replace it", "What tells them apart?"),
        (lambda f: f"{f['app']}-{f['instance']}", "Production and test", "What tells production from test?"),
        (lambda f: f"{right(f)}-{f['host']}", "One instance", "common with the one that it replaces?"),
        (lambda f: f"{right(f)}-{f['started_ms']}", "One instance", "common with the one that it replaces?"),
        (lambda f: f["host"], "One instance", "common with the one that it replaces?"),
    ],
)
def test_a_bad_name_does_harm_and_the_hint_says_which(name: Callable[[Any], str], says: str, miss: str) -> None:
    with pytest.raises(WrongAnswer, match=says):
        check("L6.E1", name)
    assert isinstance(counterexample(), Cluster)
    assert miss in hint("L6.E1")


def test_a_stranger_charges_twice_or_leaves_readers_waiting() -> None:
    found = [lab06_e1.audit(_run(s)) for s in lab06_e1.scenarios(1, lambda f: f["host"]) if s.faults]
    told = [broken.says for broken in found if broken is not None]
    assert any("was charged twice" in says for says in told)
    assert any("cannot see the last" in says for says in told)


def _run(scenario: Any) -> Cluster:
    cluster = Cluster(scenario)
    cluster.run()
    return cluster


def test_a_replacement_knows_the_instance_and_not_the_host() -> None:
    seen: list[dict[str, Any]] = []
    list(lab06_e1.scenarios(1, lambda facts: seen.append(facts) or "x"))  # type: ignore[func-returns-value]
    first, second = seen[:2]
    assert {k for k in first if first[k] == second[k]} == {"app", "environment", "instance"}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("billing-0", WrongType),
        (lambda facts: 7, WrongValue),
        (lambda facts: None, WrongAnswer),
        (lambda facts: facts["nothing"], WrongAnswer),
    ],
)
def test_what_gives_no_name_is_told_so(answer: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        check("L6.E1", answer)


@pytest.mark.parametrize(
    ("presses", "miss"),
    [
        ([Pause("till-1", at_ms=3_000), Resume("till-1", at_ms=6_000)], "did all of its work"),
        ([Pause("till-1", at_ms=620), Resume("till-1", at_ms=5_300)], "asked the coordinator before it wrote"),
        ([Pause("till-1", at_ms=300), Resume("till-1", at_ms=9_000)], "nothing committed it"),
        ([*ASLEEP, Crash("b2", at_ms=30_000)], "can you do it in 2"),
        ([], "still blank"),
    ],
)
def test_presses_that_miss_are_told_what_this_run_shows(presses: list[Any], miss: str) -> None:
    with pytest.raises(WrongAnswer, match=miss):
        check("L6.E2", presses)


def test_frames_may_not_be_pressed() -> None:
    with pytest.raises(WrongValue, match="may not be pressed"):
        check("L6.E2", [Delay("Produce#1", 5_000)])


def test_with_the_epoch_compared_the_same_presses_charge_once() -> None:
    assert lab06_e2.twice(_run(lab06_e2.scenario().with_faults(*ASLEEP)))
    assert not lab06_e2.twice(_run(lab06_e2.scenario(epochs=True).with_faults(*ASLEEP)))


@pytest.mark.parametrize("number", RIGHT_3)
@pytest.mark.parametrize("word", lab06_e3.WORDS)
def test_every_wrong_word_is_found_with_its_run(number: int, word: str) -> None:
    if word == RIGHT_3[number]:
        return
    told = tell("L6.E3", number, word)
    assert f"row {number}, " in told.refutes
    assert told.run is not None


def test_a_misconception_picks_its_hint() -> None:
    with pytest.raises(WrongAnswer):
        check("L6.E3", RIGHT_3 | {8: "both"})
    assert "The next coordinator reads it" in hint("L6.E3")


def test_the_presses_that_charge_twice_do_no_harm_with_the_rule_on() -> None:
    presses = [Pause("till-1", at_ms=300), Resume("till-1", at_ms=5_300)]
    assert check("L6.E2", presses)
    for given in (presses, []):
        charges = lab06_e2.with_epochs(given).outcome().committed["charges-0"]
        assert len(charges) == len(set(charges)) == 3
