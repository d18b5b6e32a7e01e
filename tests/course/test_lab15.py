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
from kafkalab.grading.check import check, find
from kafkalab.grading.counterexamples import picture
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import as_learner, catch_wrong_answer, hold, tell

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
LATE = [Delay("Produce#2", 20_000)]
FOUND = {"producer_id": 2000, "producer_epoch": 0, "start_offset": 2}
RIGHT_2 = dict(enumerate(("only b", "none", "both", "only b", "both", "none", "both", "only b", "both", "only b"), 1))


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


BLANK = dict.fromkeys(FOUND, "")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solutions_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    said = "1 press, the fewest there are; the last stable offset is 4 of 4"
    assert check("L15.E1", answer()) == f"L15.E1 ✓ {said}"
    assert check("L15.E2", RIGHT_2) == "L15.E2 ✓ 10 of 10 rows"
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
        (answer([Drop("Produce#2")]), "what never arrives leaves nothing open", "never arrives"),
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


@pytest.mark.parametrize("number", RIGHT_2)
@pytest.mark.parametrize("word", lab15_e2.WORDS)
def test_every_wrong_word_about_an_abort_is_found_with_its_run(number: int, word: str) -> None:
    if word == RIGHT_2[number]:
        return
    told = tell("L15.E2", number, word)
    assert f"row {number}, " in told.refutes
    assert told.run is not None


@pytest.mark.parametrize("module", [lab15_e2])
def test_every_miss_of_a_row_is_a_wrong_word_of_it_and_has_its_hint(module: Any) -> None:
    used = set()
    for fact, row in zip(module.facts(1), module.ROWS, strict=True):
        assert set(row.misses) <= set(module.WORDS) - {fact.truth}, row.says
        used |= set(row.misses.values())
    assert used == set(module.EXERCISE.misses)


def test_a_misconception_picks_its_hint() -> None:
    belief = tell("L15.E2", 4, "both").belief
    assert hold("L15.E2", belief).miss == belief
    assert "knows markers only" in find("L15.E2").hint_for(belief)


@pytest.mark.parametrize(
    ("row", "marker", "at"), [(1, "ABORT", 1), (3, "COMMIT", 2), (5, "COMMIT", 1), (9, "COMMIT", 4)]
)
def test_a_counterexample_is_opened_at_the_marker_that_decides(row: int, marker: str, at: int) -> None:
    fact = lab15_e2.facts(1)[row - 1]
    run = ran(fact.run())  # type: ignore[arg-type, misc]
    event = run.trace.events[fact.step(run)]  # type: ignore[misc]
    assert (event.kind, event.name, event.data.control.name) == ("append", "accounts-0", marker)
    assert event.data.base_offset == at
    assert picture(run, event.step).step == event.step


@pytest.mark.parametrize("fact", [*lab15_e2.facts(1)], ids=lambda fact: fact.says[:40])
def test_every_counterexample_has_a_marker_to_open_at(fact: Any) -> None:
    run = ran(fact.run())
    event = run.trace.events[fact.step(run)]
    assert event.data.control is not None
    assert event.node == run.controller.metadata.leader(event.name)


@pytest.mark.parametrize("row", lab15_e2.ROWS, ids=lambda row: row.says[:40])
def test_the_rows_take_the_producer_for_what_it_is(row: Any) -> None:
    """An abort with other ids would end nothing."""
    cluster = ran(lab15_e2.scenario(1, row))
    given = cluster.trace.frames["InitProducerIdResponse#1"].body
    assert {"producer_id": given.producer_id, "producer_epoch": given.producer_epoch} == {
        k: v for k, v in lab15_e2.PRODUCER.items() if k != "coordinator_epoch"
    }
    assert cluster.unused_faults == ()


def test_the_commit_that_an_administrator_has_torn_is_answered_with_success() -> None:
    cluster = ran(lab15_e2.scenario(1, lab15_e2.ROWS[0]))
    assert cluster.results == {"admin-1": "aborted", "app": "done"}
    assert cluster.trace.frames["EndTxnResponse#1"].error == "NONE"


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
