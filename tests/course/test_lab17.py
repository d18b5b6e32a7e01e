"""Lab 17: what its runs show, and its exercises: model answers pass under any seed, beliefs get their hint."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.checks.exactly_once import exactly_once
from kafkalab.course.lab17 import exercise_1, exercise_2, exercise_3
from kafkalab.course.lab17.parts import ENDINGS, MOMENTS
from kafkalab.course.lab17.scenario import fate, judged_history, lab17, positions_of, restarted_task
from kafkalab.course.lab17.scenario import stopped_job as stopped
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import WrongType
from kafkalab.grading.seeds import VARIABLE
from kafkalab.history.export import history_of
from kafkalab.programs.booking import INPUT
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import as_learner, catch_wrong_answer, open_counterexample

pytestmark = pytest.mark.usefixtures("no_hints_given")
SEEDS = ["1", "2026", "5"]


def decide(job: dict[str, Any]) -> str:
    if job["running"] or job["state"] != "Ongoing":
        return "wait"
    position = job["position"]
    return "commit" if position is not None and position > job["offset"] else "abort"


def name_of(connector: str, task: int, attempt: int) -> str:
    return f"{task} of {connector}"


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
    assert check("L17.E2", decide) == "L17.E2 ✓ 20 of 20 runs"
    assert check("L17.E3", name_of) == "L17.E3 ✓ 15 of 15 runs"


@pytest.mark.parametrize("seed", ["1", "2026"])
@pytest.mark.parametrize("mutant", exercise_1.MUTANTS, ids=lambda mutant: mutant.name)
def test_each_belief_about_a_position_is_found(monkeypatch: pytest.MonkeyPatch, seed: str, mutant: Any) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer("L17.E1", mutant.function)
    assert error.miss == mutant.name
    assert mutant.says in str(error)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "mutant"),
    [("L17.E2", mutant) for mutant in exercise_2.MUTANTS] + [("L17.E3", mutant) for mutant in exercise_3.MUTANTS],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
def test_each_belief_is_found_by_runs(monkeypatch: pytest.MonkeyPatch, seed: str, name: str, mutant: Any) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer(name, mutant.function)
    assert error.miss == mutant.name
    assert f"That is as if {mutant.says}." in str(error)
    assert hint(name).startswith("Hint")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("module", [exercise_2, exercise_3], ids=["L17.E2", "L17.E3"])
def test_every_fault_of_a_trial_strikes_at_its_moment(module: Any, seed: str) -> None:
    right = decide if module is exercise_2 else name_of
    for trial in module.trials(int(seed)):
        cluster = ran(trial.scenario(*[right(*call) for call in trial.calls]))
        assert (cluster.unused_faults, trial.find_ills(cluster)) == ((), "")
        assert trial.find_step(cluster) > 0


def test_what_an_operator_sees_is_what_the_run_shows() -> None:
    seen = {(f["state"], f["running"], f["position"] is None or f["position"] - f["offset"])
            for f in exercise_2.trials(1) for f in f.calls[0]}  # fmt: skip
    assert seen == {
        ("Ongoing", False, True), ("Ongoing", False, 0), ("Ongoing", False, 1), ("CompleteCommit", False, 1),
        ("Ongoing", True, True), ("Ongoing", True, 0), ("Ongoing", True, 1),
    }  # fmt: skip


def test_a_committed_transaction_bears_any_decision() -> None:
    def commit_again(job: dict[str, Any]) -> str:
        return "commit" if job["state"] == "CompleteCommit" else decide(job)

    def abort_too_late(job: dict[str, Any]) -> str:
        return "abort" if job["state"] == "CompleteCommit" else decide(job)

    assert check("L17.E2", commit_again).endswith("20 of 20 runs")
    assert check("L17.E2", abort_too_late).endswith("20 of 20 runs")


@pytest.mark.parametrize(
    ("answer", "miss"),
    [
        (lambda job: "wait" if job["running"] else "commit", "commit is always safe"),
        (lambda job: "wait" if job["running"] else "abort", "abort is always safe"),
        (lambda job: "commit", "commit is always safe"),
        (lambda job: "abort" if job["running"] else decide(job), "abort without a look"),
    ],
)
def test_a_plausible_decision_gets_the_hint_that_fits_it(answer: Any, miss: str) -> None:
    error = catch_wrong_answer("L17.E2", answer)
    assert error.miss == miss
    assert error.run is not None


def test_what_was_learnt_by_heart_fails_under_the_graders_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {repr(job): decide(job) for (job,) in (trial.calls[0] for trial in exercise_2.trials(1))}

    def typed_in(job: dict[str, Any]) -> str:
        return known.get(repr(job), "wait")

    assert check("L17.E2", typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer("L17.E2", typed_in)


def test_a_random_name_is_a_new_name_at_each_start() -> None:
    numbers = iter(range(1_000))
    error = catch_wrong_answer("L17.E3", lambda connector, task, attempt: f"copy-{next(numbers):04x}")
    assert error.miss == "a new name at each start"


@pytest.mark.parametrize(
    ("connector", "ills"),
    [("one", "a task that should go on ends with ProducerFencedError and a payment has no receipt"), ("another", "")],
)
def test_two_tasks_side_by_side_are_fenced_by_their_name_alone(connector: str, ills: str) -> None:
    assert exercise_3.find_fenced(ran(exercise_3.side_by_side(7, "one", connector))) == ills


def test_the_counterexample_is_the_run_that_is_told() -> None:
    error = catch_wrong_answer("L17.E3", lambda connector, task, attempt: "connect")
    assert open_counterexample() is error.run
    cluster = ran(open_counterexample())
    assert exercise_3.find_fenced(cluster) in str(error)
    assert cluster.trace.events[error.step].frame == "InitProducerId#2"


def test_the_form_of_an_answer_is_told() -> None:
    with pytest.raises(WrongType, match=r"a function fate_of\(offset, position, outputs\)"):
        check("L17.E1", "lost")
    with pytest.raises(WrongType, match=r"Give a function decide\(job\) that returns one of 'commit', 'abort', 'wait'"):
        check("L17.E2", {1: "once"})
    with pytest.raises(WrongType, match="returns str 'rollback', and a decision is one of 'commit', 'abort', 'wait'"):
        check("L17.E2", lambda job: "rollback")
    with pytest.raises(WrongType, match="returns int 7, and a name is a text of 1 to"):
        check("L17.E3", lambda connector, task, attempt: 7)
    assert "still blank" in str(catch_wrong_answer("L17.E2", lambda job: ...))
