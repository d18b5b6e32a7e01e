"""Lab 15's exercises: a hanging transaction made and ended, an abort from outside, the judgement of find-hanging."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkalab.cli.transactions import transactions_of
from kafkalab.course.lab15 import exercise_1 as lab15_e1
from kafkalab.course.lab15 import exercise_2 as lab15_e2
from kafkalab.course.lab15 import exercise_3 as lab15_e3
from kafkalab.faults.frame import Delay, Drop, Hold, Release, Reorder
from kafkalab.faults.node import Crash
from kafkalab.grading.check import check
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.programs.failover import HOUR_MS
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import as_learner, catch_wrong_answer

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
LATE = [Delay("Produce#2", 20_000)]
FOUND = {"producer_id": 2000, "producer_epoch": 0, "start_offset": 2}


def answer(presses: Any = LATE, **found: Any) -> dict[str, Any]:
    return {"presses": presses, **FOUND, **found}


def hanging(now_ms: int, producers: Any, names: Any, descriptions: Any) -> Any:
    """As a learner might write it: with a loop over what is open and old."""
    found = []
    for row in producers:
        if row["start_offset"] is None or now_ms - row["last_timestamp_ms"] <= 900_000:
            continue
        name = names.get(row["producer_id"])
        if name not in descriptions or row["partition"] not in descriptions[name]["partitions"]:
            found.append([row["partition"], row["start_offset"]])
    return found


def advice(job: dict[str, Any]) -> tuple[str, str]:
    """As a learner might write it."""
    if not job["listed"]:
        return "abort", "lost"
    ends = [job["timeout_min"]]
    if job["starts_again"] != "never":
        ends.append(job["after_min"])
    if min(ends) > 30:
        return "terminate", "lost"
    if job["starts_again"] == "resumes" and job["after_min"] < job["timeout_min"]:
        return "wait", "committed"
    return "wait", "lost"


BLANK = dict.fromkeys(FOUND, "")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solutions_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    said = "1 press, the fewest there are; the last stable offset is 4 of 4"
    assert check("L15.E1", answer()) == f"L15.E1 ✓ {said}"
    assert check("L15.E2", as_learner(advice)) == "L15.E2 ✓ 30 of 30 cases"
    assert check("L15.E3", as_learner(hanging)) == "L15.E3 ✓ 24 of 24 cases"


@pytest.mark.parametrize(
    ("presses", "count"),
    [
        ([Reorder("Produce#2", after="WriteTxnMarkers#1")], "1 press, the fewest there are"),
        ([Hold("Produce#2"), Release("Produce#2", at_ms=9_000)], "2 presses; 1 would be enough"),
    ],
)
def test_there_are_other_ways_to_be_late(presses: list[Any], count: str) -> None:
    assert check("L15.E1", answer(presses)).startswith(f"L15.E1 ✓ {count}; ")


@pytest.mark.parametrize(
    ("given", "says", "miss"),
    [
        (answer([Drop("Produce#2")]), "a lost batch opens no transaction", "never arrives"),
        (answer([Delay("Produce#2", 100)]), "was in the log before the ABORT marker came", "in time"),
        (answer([Delay("WriteTxnMarkers#1", 5_000)]), "was in the log before the ABORT marker came", "in time"),
        (answer(**BLANK), "the last stable offset is 2 of 3. Still blank: producer_id", "not found"),
        (answer(start_offset=0), "Could not find any open transactions starting at offset 0", "another offset"),
        (answer(producer_id=2001), "nothing ends: the last stable offset is 2 of 4", "another producer"),
        (answer(producer_epoch=1), "was written under another epoch than 1", "another epoch"),
    ],
)
def test_each_way_to_miss_is_told_with_its_run(given: dict[str, Any], says: str, miss: str) -> None:
    error = catch_wrong_answer("L15.E1", given)
    assert says in str(error)
    assert error.miss == miss
    assert isinstance(error.run, Cluster)
    assert miss in lab15_e1.EXERCISE.misses


def test_half_of_the_points_are_for_the_transaction_that_hangs() -> None:
    assert catch_wrong_answer("L15.E1", answer(**BLANK)).part == 0.5
    assert catch_wrong_answer("L15.E1", answer([Drop("Produce#2")])).part == 0


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (LATE, WrongType),
        ({"presses": LATE}, WrongType),
        (answer(start_offset="2"), WrongValue),
        (answer(producer_epoch=-1), WrongValue),
        (answer("Delay"), WrongType),
        (answer([Crash("b1", at_ms=100)]), WrongValue),
        (answer([], **BLANK), BlankAnswer),
        (answer([]), WrongAnswer),
    ],
)
def test_what_is_no_answer_is_told_so(given: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        lab15_e1.check(given)


def test_nothing_hangs_before_a_press_and_the_wait_is_longer_than_the_tools_limit() -> None:
    assert not lab15_e1.hangs(ran(lab15_e1.scenario()))
    cluster = lab15_e1.sixteen_minutes_later(LATE)
    assert lab15_e1.hangs(cluster)
    (row,) = json.loads(transactions_of(cluster, "find-hanging --topic accounts --json"))
    assert [row["ProducerId"], row["ProducerEpoch"], row["StartOffset"]] == list(FOUND.values())


@pytest.mark.parametrize("mutant", lab15_e3.MUTANTS, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_mutant_of_the_judgement_is_named_and_opens_its_run(
    mutant: Any, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer("L15.E3", mutant.function)
    assert error.miss == mutant.name
    assert isinstance(error.run, Cluster)


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_judgement_is_that_of_the_tool_at_every_moment(seed: int) -> None:
    asked = lab15_e3.moments(seed)
    assert [lab15_e3.judge(*one.case) for one in asked] == [one.truth for one in asked]
    assert {bool(one.truth) for one in asked} == {True, False}


def test_a_case_does_not_tell_what_hangs() -> None:
    for now_ms, producers, names, descriptions in lab15_e3.EXERCISE.question(1):  # type: ignore[misc]
        assert isinstance(now_ms, int)
        assert {frozenset(row) for row in producers} == {
            frozenset(("partition", "producer_id", "start_offset", "last_timestamp_ms"))
        }
        assert set(names.values()) == set(descriptions)


def test_a_judgement_that_is_still_blank_is_told_so() -> None:
    assert "still blank" in str(catch_wrong_answer("L15.E3", lambda *case: ...))


@pytest.mark.parametrize("mutant", lab15_e2.MUTANTS, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_belief_about_a_stopped_job_is_named_and_opens_its_run(
    mutant: Any, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer("L15.E2", mutant.function)
    assert error.miss == mutant.name
    assert isinstance(error.run, Cluster)


@pytest.mark.parametrize("seed", range(1, 4))
def test_the_advice_is_what_the_runs_of_each_action_say(seed: int) -> None:
    asked = lab15_e2.jobs(seed)
    assert [lab15_e2.advise(*case) for case in asked] == [lab15_e2.truth(job, seed) for (job,) in asked]


@pytest.mark.parametrize("job", [*lab15_e2.SURE, {**lab15_e2.SURE[0], "listed": False}], ids=str)
def test_the_ids_of_the_stopped_job_are_those_that_the_operator_gives(job: dict[str, Any]) -> None:
    cluster = Cluster(lab15_e2.scenario(job, lab15_e2.ABORT, 1))
    cluster.run_for(3 * lab15_e2.MINUTE_MS)
    given = cluster.trace.frames["InitProducerIdResponse#1"].body
    assert (given.producer_id, given.producer_epoch) == (2000, 0)
    assert cluster.results["admin"] == "aborted"


def test_no_action_commits_what_the_job_does_not_resume() -> None:
    for job in (job for job in lab15_e2.SURE if job["starts_again"] != lab15_e2.RESUMES):
        for action in lab15_e2.ACTIONS:
            cluster = Cluster(lab15_e2.scenario(job, action, 1))
            cluster.run_for(2 * HOUR_MS)
            assert cluster.outcome().committed["accounts-0"] == (), (job, action)


def test_advice_that_is_still_blank_is_told_so() -> None:
    assert "still blank" in str(catch_wrong_answer("L15.E2", lambda job: ...))
