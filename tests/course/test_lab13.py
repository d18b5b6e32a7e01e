"""Lab 13's exercises: the model answers pass under any seed, wrong answers are named and get their hint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalab.course.lab13 import exercise_1, exercise_2, exercise_3, incidents
from kafkalab.grading.check import check, counterexample, hint
from kafkalab.grading.exercise import WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY
from kafkalab.sim.scenario import Scenario
from tests.grading.told import catch_wrong_answer

pytestmark = pytest.mark.usefixtures("no_hints_given")
SEEDS = ("1", "2026", "77")
FIRST = exercise_1.cases(1)[0]["least_per_second"]
DATA = Path(__file__).parents[2] / "data" / "found"


def size_for(measured: list[dict[str, int]], least_per_second: float, longest_ms: int) -> int | None:
    small, large = measured[0], measured[-1]
    each = (large["ms"] - small["ms"]) / (large["size"] - small["size"])
    takes = {n: small["ms"] + each * (n - small["size"]) for n in range(1, 401)}
    good = [n for n, ms in takes.items() if ms <= longest_ms and 1000 * n / ms >= least_per_second]
    return good[len(good) // 2] if good else None


def waits(interval_ms: int, every_ms: int, commit_ms: int) -> tuple[float, float, float]:
    longest = commit_ms + interval_ms - every_ms
    return commit_ms, (commit_ms + longest) / 2, longest


def truth_of(incident: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The right report, found by the draw, with some of its fields changed."""
    drawn = [
        pair
        for seed in (1, 2026, 77)
        for pair in zip(incidents.draw_incidents(seed), incidents.list_given(seed), strict=True)
    ]
    (rule, scenario), _ = next(pair for pair in drawn if pair[1] == incident)
    anomaly = incidents.anomalies_of(incidents.without(scenario, rule))[0]
    report: dict[str, Any] = {"rule": rule.name, "anomaly": anomaly}
    report |= {"fix": incidents.place_of(scenario, rule), "question": incidents.QUESTIONS[rule][0]}
    return report | changed


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L13.E1", size_for) == "L13.E1 ✓ 6 of 6 cases"
    assert check("L13.E2", waits) == "L13.E2 ✓ 5 of 5 cases"
    assert check("L13.E3", truth_of) == "L13.E3 ✓ 3 of 3 incidents"


@pytest.mark.parametrize(
    ("answer", "miss"),
    [
        (lambda rows, least, longest: 1, "too small"),
        (lambda rows, least, longest: 60, "too large"),
        (lambda rows, least, longest: None if least == FIRST else size_for(rows, least, longest), "gave up"),
        (lambda rows, least, longest: 0, "out of range"),
        (lambda rows, least, longest: int(longest / ((rows[1]["ms"] - rows[0]["ms"]) / 8)), "no fixed cost"),
        (lambda rows, least, longest: size_for(rows, least, longest) or 20, "no size will do"),
    ],
)
def test_each_wrong_size_is_told_what_its_run_has_measured(answer: Callable[..., Any], miss: str) -> None:
    error = catch_wrong_answer("L13.E1", answer)
    assert error.miss == miss
    assert hint("L13.E1").startswith("Hint")
    if miss not in ("gave up", "out of range"):
        assert "It was run:" in str(error)
        assert counterexample() is error.run


@pytest.mark.parametrize("seed", range(12))
def test_the_targets_leave_a_window_of_sizes_or_none(seed: int) -> None:
    cases = exercise_1.cases(seed)
    assert [case["possible"] for case in cases].count(False) == 1
    for case in cases:
        size = size_for(*exercise_1.arguments_of(case))
        assert (size is not None) == case["possible"]
        assert exercise_1.judge(case, size) is None
        assert exercise_1.judge(case, 1) is not None
        assert exercise_1.judge(case, 60) is not None


@pytest.mark.parametrize("belief", exercise_2.BELIEFS, ids=lambda belief: belief.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_wrong_law_is_named_as_itself(
    belief: exercise_2.Belief, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer("L13.E2", belief.waits)
    assert error.miss == belief.name
    assert belief.says in str(error).replace("\n", " ")
    assert hint("L13.E2").startswith("Hint")


@pytest.mark.parametrize(("place", "name"), list(enumerate(exercise_2.NAMES)))
def test_a_number_that_is_off_is_named(place: int, name: str) -> None:
    def off(*case: Any) -> list[float]:
        return [value + 400 * (i == place) for i, value in enumerate(waits(*case))]

    error = catch_wrong_answer("L13.E2", off)
    assert error.miss == name
    assert f"for the {name} wait; the run has measured less" in str(error).replace("\n", " ")


def test_what_is_close_is_right_and_what_is_no_number_is_refused() -> None:
    assert check("L13.E2", lambda *case: [value + 2 for value in waits(*case)])
    for wrong in (5, (1, 2), ("a", 1, 2), (float("nan"), 1, 2)):
        with pytest.raises(WrongType, match="shortest, mean, longest"):
            check("L13.E2", lambda *case, wrong=wrong: wrong)


@pytest.mark.parametrize(
    ("changed", "miss", "says"),
    [
        ({"rule": ""}, "no rule", "It names no rule"),
        ({"rule": rules.CLEAN_ELECTION.name}, "a harmless rule", "nothing goes wrong"),
        ({"anomaly": "lost-write"}, "another anomaly", "No check finds 'lost-write'"),
        ({"anomaly": ""}, "another anomaly", "It names no anomaly"),
        ({"question": 3}, "another question", "Question 3 is not about"),
    ],
)
def test_each_wrong_field_of_a_report_is_named(changed: dict[str, Any], miss: str, says: str) -> None:
    error = catch_wrong_answer("L13.E3", lambda incident: truth_of(incident, **changed))
    assert error.miss == miss
    assert says in str(error)
    assert error.part == pytest.approx(9 / 12)
    assert hint("L13.E3").startswith("Hint")


def test_another_place_is_shown_at_the_step_where_the_runs_part() -> None:
    def elsewhere(incident: dict[str, Any]) -> dict[str, Any]:
        right = truth_of(incident)["fix"]
        return truth_of(incident, fix=next(place for place in incidents.PLACES if place != right))

    error = catch_wrong_answer("L13.E3", elsewhere)
    assert error.miss == "another place"
    assert error.part == pytest.approx(9 / 12)
    (rule, scenario), incident = incidents.draw_incidents(1)[0], incidents.list_given(1)[0]
    (wrong,) = exercise_3.judge(elsewhere(incident), incident, rule, scenario)
    assert wrong.step == incidents.first_difference(scenario, rule)[1] > 0


def test_another_rule_that_breaks_the_same_promise_has_other_logs() -> None:
    scenario = dict(incidents.scenarios())[rules.LSO_BOUND]
    broken = {r: replace(scenario, rules_off=(r.name,)) for r in (rules.LSO_BOUND, rules.ABORTED_FILTER)}
    incident = {"klab": "", "logs": incidents.client_logs(broken[rules.LSO_BOUND])}
    report = {"rule": rules.ABORTED_FILTER.name, "anomaly": "G1a", "fix": "partition leader", "question": 7}
    wrong = exercise_3.judge(report, incident, rules.LSO_BOUND, scenario)
    assert [(w.miss, "differ in line" in str(w)) for w in wrong] == [("other logs", True)]


def test_what_is_no_report_is_refused() -> None:
    for wrong in ({}, "duplicate", {"rule": 1}):
        with pytest.raises(WrongType, match="diagnose"):
            check("L13.E3", lambda incident, wrong=wrong: wrong or {"rule": ""})
    with pytest.raises(WrongValue, match="There is no rule"):
        check("L13.E3", lambda incident: truth_of(incident, rule="a rule"))
    with pytest.raises(WrongValue, match="fix is one of"):
        check("L13.E3", lambda incident: truth_of(incident, fix="reader"))


@pytest.mark.parametrize("exercise_id", ["L13.E1", "L13.E2", "L13.E3"])
def test_a_blank_function_is_called_blank(exercise_id: str) -> None:
    assert "still blank" in str(catch_wrong_answer(exercise_id, lambda *case: None if exercise_id != "L13.E1" else ...))


def test_what_was_typed_in_fails_under_the_graders_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {json.dumps(incident): truth_of(incident) for incident in incidents.list_given(1)}
    first = next(iter(known.values()))
    assert check("L13.E3", lambda incident: known.get(json.dumps(incident), first))
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer("L13.E3", lambda incident: known.get(json.dumps(incident), first))


@pytest.mark.parametrize(("rule", "scenario"), incidents.scenarios(), ids=lambda value: getattr(value, "name", ""))
def test_each_incident_is_clean_with_all_rules_and_is_that_of_the_search(rule: rules.Rule, scenario: Scenario) -> None:
    name = next(n for n, value in vars(rules).items() if value == rule)
    assert scenario == replace(Scenario.load(DATA / f"{name.lower()}.klab"), title="An incident", rules_off=())
    assert incidents.anomalies_of(scenario) == []
    assert incidents.anomalies_of(incidents.without(scenario, rule)) != []
    assert incidents.place_of(scenario, rule) in incidents.PLACES
    assert rule in REGISTRY


def test_the_place_is_where_the_rule_acts_also_behind_a_verification() -> None:
    known = dict(incidents.scenarios())
    for rule, place in (
        (rules.LSO_BOUND, incidents.LEADER),
        (rules.GENERATION_CHECK, incidents.GROUP),
        (rules.ABORTED_FILTER, incidents.CLIENT),
        (rules.ABORT_ON_INIT, incidents.COORDINATOR),
    ):
        assert incidents.place_of(known[rule], rule) == place
