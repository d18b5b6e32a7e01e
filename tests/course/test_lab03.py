"""Lab 3's third exercise: the rule is what the runs show, every mutant is found and named, near answers are told."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.course.lab03 import exercise_3 as lab03_e3
from kafkalab.course.lab03.exercise_3 import EXERCISE, MUTANTS, cases, decide, moments
from kafkalab.grading.check import check, hint, question
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster
from tests.grading.told import catch_wrong_answer, open_counterexample

pytestmark = pytest.mark.usefixtures("no_hints_given")
SEEDS = (1, 2, 3, 4, 5, 2026)


def fate(moment: dict[str, Any]) -> str:
    living = [broker for broker in moment["replicas"] if broker not in moment["crashed"]]
    if moment["call"] == "abort_transaction":
        return "aborted"
    if "app" not in moment["crashed"]:
        return "committed"
    if moment["arrived"] and living[0] == moment["replicas"][0]:
        return "committed"
    return "committed" if "Commit" in moment["copies"][living[0]] else "aborted"


@pytest.mark.parametrize("seed", ["1", "2026", "5"])
def test_the_model_answer_passes_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L3.E3", fate).endswith(f"{len(cases(int(seed)))} cases")


@pytest.mark.parametrize("seed", SEEDS)
def test_with_no_rule_switched_the_function_says_what_the_runs_show(seed: int) -> None:
    assert len(moments(seed)) >= 30
    assert [m.facts for m in moments(seed) if decide(m.facts) != m.truth or fate(m.facts) != m.truth] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_every_mutant_differs_from_the_runs_whatever_the_seed(seed: int) -> None:
    for mutant in MUTANTS:
        assert any(mutant.function(m.facts) != m.truth for m in moments(seed)), mutant.name


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mutant_is_named_as_itself_and_has_a_hint(mutant: Any) -> None:
    error = catch_wrong_answer("L3.E3", mutant.function)
    assert error.miss == mutant.name
    assert mutant.says in str(error).replace("\n", " ")
    assert mutant.name in EXERCISE.misses
    assert hint("L3.E3").startswith("Hint")


def test_a_decision_in_one_copy_is_kept_or_lost_by_who_leads_next() -> None:
    kept, lost = set(), set()
    for moment in moments(1):
        facts = moment.facts
        first, second = (facts["copies"][node] for node in facts["replicas"][1:])
        if facts["call"] == "commit_transaction" and facts["crashed"] == ["app", facts["replicas"][0]]:
            if (first, second) == ("PrepareCommit", "Ongoing"):
                kept.add(moment.truth)
            elif (first, second) == ("Ongoing", "PrepareCommit"):
                lost.add(moment.truth)
    assert (kept, lost) == ({"committed"}, {"aborted"})


def test_the_counterexample_is_the_run_of_the_moment_that_is_shown() -> None:
    error = catch_wrong_answer("L3.E3", lambda moment: "committed" if moment["arrived"] else "aborted")
    scenario = open_counterexample()
    assert scenario is error.run
    moment = next(m for m in moments(1) if m.scenario == scenario)
    assert all(f"        {what!r}: {value!r},\n" in str(error) for what, value in moment.facts.items())
    run = Cluster(scenario)
    run.run()
    assert run.outcome().verdict == moment.truth


@pytest.mark.parametrize(
    ("answer", "hint_says"),
    [
        (lambda m: "committed" if m["call"] == "commit_transaction" else "aborted", "for this answer: Three questions"),
        (lambda m: "committed" if "PrepareCommit" in m["copies"].values() else "aborted", "Hint"),
        (lambda m: "aborted" if m["replicas"][0] in m["crashed"] else fate(m), "Another broker leads the log"),
        (lambda m: "aborted" if "app" in m["crashed"] else fate(m), "Hint for this answer: A live app asks"),
    ],
)
def test_a_plausible_answer_gets_the_hint_that_fits_it(answer: Any, hint_says: str) -> None:
    catch_wrong_answer("L3.E3", answer)
    assert hint_says in hint("L3.E3")


def test_what_was_learnt_by_heart_fails_under_the_graders_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {repr(m.facts): m.truth for m in moments(1)}

    def typed_in(moment: dict[str, Any]) -> str:
        return known.get(repr(moment), "aborted")

    assert check("L3.E3", typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer("L3.E3", typed_in)


def test_the_question_shows_moments_and_no_truth() -> None:
    shown = question("L3.E3")
    assert [set(m) for m in shown] == [{"call", "crashed", "arrived", "replicas", "copies"}] * len(shown)
    assert set(shown[0]["copies"]) == set(shown[0]["replicas"])


def test_a_blank_function_is_called_blank() -> None:
    assert "still blank" in str(catch_wrong_answer("L3.E3", lambda moment: ...))


def test_a_moment_is_a_run_that_a_test_can_break(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab03_e3, "truth", lambda of_seed: lambda moment: "torn")
    catch_wrong_answer("L3.E3", fate)
