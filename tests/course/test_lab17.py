"""Lab 17: what its runs show, and its exercises: model answers pass under any seed, beliefs get their hint."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.checks.exactly_once import exactly_once
from kafkalab.course.lab17 import exercise_1, exercise_2, exercise_3
from kafkalab.course.lab17.scenario import ENDINGS, MOMENTS, fate, judged_history, lab17, positions_of, restarted_task
from kafkalab.course.lab17.scenario import stopped_job as stopped
from kafkalab.grading.check import check
from kafkalab.grading.exercise import WrongType
from kafkalab.grading.seeds import VARIABLE
from kafkalab.history.export import history_of
from kafkalab.programs.booking import INPUT
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import as_learner, catch_wrong_answer, words_of

pytestmark = pytest.mark.usefixtures("no_hints_given")
RIGHT_2 = {1: "twice", 2: "once", 3: "once", 4: "once", 5: "lost", 6: "lost", 7: "once", 8: "once", 9: "once"}
RIGHT_3 = {1: "once", 2: "lost", 3: "once", 4: "lost", 5: "once", 6: "lost", 7: "twice", 8: "twice"}


def run_late(**given: Any) -> Cluster:
    cluster = Cluster(lab17(**given))
    cluster.run_for(120_000)
    return cluster


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_late_answer_loses_a_record_and_the_check_never_says_ok(seed: int) -> None:
    cluster = run_late(seed=seed)
    assert (fate(cluster), positions_of(cluster)) == ("lost", {INPUT: 3})
    verdicts = [exactly_once(history).verdict for history in
                (judged_history(cluster), judged_history(cluster, known=False), history_of(cluster))]  # fmt: skip
    assert verdicts == ["violated", "unknown", "unknown"]


@pytest.mark.parametrize("given", [{"flushes": True}, {"late": False}, {"profile": "4.x/TV2"}], ids=str)
def test_a_job_that_waits_or_is_told_in_time_loses_nothing(given: dict[str, Any]) -> None:
    cluster = run_late(**given)
    assert fate(cluster) == "once"
    assert exactly_once(judged_history(cluster)).verdict == "ok"


def test_a_twice_written_receipt_is_violated_by_the_position() -> None:
    cluster = ran(restarted_task())
    assert fate(cluster) == "twice"
    assert exactly_once(judged_history(cluster)).verdict == "violated"


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_fault_of_a_stopped_job_strikes(moment: str, ending: str) -> None:
    cluster = ran(stopped(moment, ending))
    assert cluster.unused_faults == ()
    assert cluster.results["again"] == "done"


def test_a_moment_or_an_ending_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="moment is one of sent, checkpoint, committed, and ending one of commit"):
        stopped("later")
    with pytest.raises(ValueError, match="moment is one of"):
        stopped(ending="rollback")
    with pytest.raises(ValueError, match="stop is crashes or sleeps, and moment sent or checkpoint"):
        restarted_task(stop="dies")
    with pytest.raises(ValueError, match="stop is crashes or sleeps"):
        restarted_task(moment="committed")


@pytest.mark.parametrize("seed", ["1", "2026"])
def test_the_right_answers_pass(monkeypatch: pytest.MonkeyPatch, seed: str) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L17.E1", as_learner(exercise_1.judge)) == "L17.E1 ✓ 48 of 48 cases"
    assert check("L17.E2", RIGHT_2) == "L17.E2 ✓ 9 of 9 rows"
    assert check("L17.E3", RIGHT_3) == "L17.E3 ✓ 8 of 8 rows"


@pytest.mark.parametrize("seed", ["1", "2026"])
@pytest.mark.parametrize("mutant", exercise_1.MUTANTS, ids=lambda mutant: mutant.name)
def test_each_belief_about_a_position_is_found(monkeypatch: pytest.MonkeyPatch, seed: str, mutant: Any) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer("L17.E1", mutant.function)
    assert error.miss == mutant.name
    assert mutant.says in str(error)


@pytest.mark.parametrize(
    ("name", "module", "right"), [("L17.E2", exercise_2, RIGHT_2), ("L17.E3", exercise_3, RIGHT_3)]
)
def test_each_wrong_word_names_its_belief(name: str, module: Any, right: dict[int, str]) -> None:
    told = words_of(name)
    assert {row: word for (row, word), one in told.items() if not one.wrong} == right
    assert {one.belief for one in told.values() if one.wrong} == set(module.BELIEFS)
    assert "still blank" in str(catch_wrong_answer(name, dict.fromkeys(right, "")))


def test_all_once_is_answered_with_a_run() -> None:
    for name, right in (("L17.E2", RIGHT_2), ("L17.E3", RIGHT_3)):
        error = catch_wrong_answer(name, dict.fromkeys(right, "once"))
        assert error.run is not None


def test_the_form_of_an_answer_is_told() -> None:
    with pytest.raises(WrongType, match=r"a function fate_of\(offset, position, outputs\)"):
        check("L17.E1", "lost")
