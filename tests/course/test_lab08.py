"""Lab 08's exercise: the markers that a failover leaves, counted."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.course.lab08 import exercise_1 as lab08_e1
from kafkalab.grading.check import check, find
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import ran
from tests.grading.told import hold, tell

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
RIGHT = dict(enumerate(("1 + 1", "0 + 0", "2 + 1", "2 + 2", "1 + 1", "2 + 1", "1 + 1", "2 + 1", "1 + 2"), 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solution_is_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L8.E1", RIGHT) == "L8.E1 ✓ 9 of 9 rows"


@pytest.mark.parametrize("number", RIGHT)
@pytest.mark.parametrize("word", lab08_e1.WORDS)
def test_every_wrong_count_is_found_with_its_run(number: int, word: str) -> None:
    if word == RIGHT[number]:
        return
    told = tell("L8.E1", number, word)
    assert f"row {number}, " in told.refutes
    assert told.run is not None


def test_every_miss_of_a_row_is_a_wrong_word_of_it_and_has_its_hint() -> None:
    used = set()
    for fact, row in zip(lab08_e1.facts(1), lab08_e1.ROWS, strict=True):
        assert set(row.misses) <= set(lab08_e1.WORDS) - {fact.truth}, row.says
        used |= set(row.misses.values())
    assert used == set(lab08_e1.EXERCISE.misses)


def test_a_misconception_picks_its_hint() -> None:
    belief = tell("L8.E1", 3, "1 + 1").belief
    assert hold("L8.E1", belief).miss == belief
    assert "only in the memory of the coordinator" in find("L8.E1").hint_for(belief)


@pytest.mark.parametrize("fact", lab08_e1.facts(1), ids=lambda fact: fact.says[:40])
def test_every_counterexample_has_a_marker_to_open_at(fact: Any) -> None:
    run = ran(fact.run())
    event = run.trace.events[fact.step(run)]
    assert event.data.control is not None
    assert event.node == run.controller.metadata.leader(event.name)


@pytest.mark.parametrize("row", lab08_e1.ROWS, ids=lambda row: row.says[:40])
def test_each_row_of_markers_has_its_leaders_and_its_faults(row: Any) -> None:
    cluster = ran(lab08_e1.scenario(1, row))
    assert cluster.unused_faults == ()
    first, second = (cluster.trace.frames.get(name) for name in (lab08_e1.FIRST, lab08_e1.SECOND))
    if first is not None and second is not None and "app" not in row.nodes:
        assert (first.receiver, list(first.body.markers[0].partitions)) == ("b1", ["accounts-0"])
        assert list(second.body.markers[0].partitions) == ["accounts-1"]
