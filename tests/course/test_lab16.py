"""Lab 16: the planted gaps are those of the course's own check, and each mutant is told from the truth."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.course.lab16 import balances, exercise_3, exercise_4, feed, gap_rules, traffic
from kafkalab.course.lab16.verdicts import find_mutant, marker_after, record_before
from kafkalab.grading.check import check
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType
from kafkalab.grading.mutants import Mutant
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord

pytestmark = pytest.mark.usefixtures("no_hints_given")
SEEDS = range(1, 21)


@pytest.mark.parametrize("version", traffic.VERSIONS)
def test_the_gaps_are_those_that_the_check_of_histories_finds(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "REPEATED", 0)  # the check finds repeated batches, too
    made = traffic.make_traffic.__wrapped__(version, 3)
    log = tuple(LogRecord(**r._asdict(), step=step, at_ms=step) for step, r in enumerate(made.log, 1))
    findings = BY_NAME["sequence gap"](History(log=log)).findings
    gaps = gap_rules.find_gaps(made)
    assert len(gaps) > 5
    assert {(f.keys[0], f.offsets[-1]) for f in findings} == {(key, offset) for key, offset, *_ in gaps}


@pytest.mark.parametrize("mutants", [gap_rules.MUTANTS, exercise_4.MUTANTS], ids=["E1", "E4"])
def test_no_mutant_is_right_under_both_versions(mutants: tuple[Mutant, ...]) -> None:
    find = gap_rules.find_gaps if mutants is gap_rules.MUTANTS else gap_rules.find_aborted
    for seed in SEEDS:
        made = [traffic.make_traffic(version, seed) for version in traffic.VERSIONS]
        for mutant in mutants:
            assert any(Counter(mutant.function(m)) != Counter(find(m)) for m in made), (seed, mutant.name)


@pytest.mark.parametrize(
    ("mutants", "name", "version"),
    [
        (gap_rules.MUTANTS, "no epoch", 1),
        (gap_rules.MUTANTS, "first of an epoch", 1),
        (exercise_4.MUTANTS, "next epoch", 2),
    ],
)
def test_an_answer_that_overlooks_the_epoch_is_right_by_luck_under_one_version(
    mutants: tuple[Mutant, ...], name: str, version: int
) -> None:
    (mutant,) = [m for m in mutants if m.name == name]
    find: Any = gap_rules.find_gaps if mutants is gap_rules.MUTANTS else gap_rules.find_aborted
    for seed in SEEDS:
        made = {v: traffic.make_traffic(v, seed) for v in traffic.VERSIONS}
        same = {v for v, m in made.items() if Counter(mutant.function(m)) == Counter(find(m))}
        assert same == {version}


@pytest.mark.parametrize("version", traffic.VERSIONS)
def test_a_mutants_rows_name_the_mutant(version: int) -> None:
    made = traffic.make_traffic(version, 2)
    cases = ((gap_rules.MUTANTS, gap_rules.find_gaps(made)), (exercise_4.MUTANTS, gap_rules.find_aborted(made)))
    for mutants, truth in cases:
        for mutant in mutants:
            rows = mutant.function(made)
            if Counter(rows) != Counter(truth):
                named = find_mutant(rows, truth, made, mutants)
                assert named is not None
                assert Counter(named.function(made)) == Counter(rows)
    assert find_mutant([], gap_rules.find_aborted(made), made, exercise_4.MUTANTS[2:]) is None


def test_a_record_is_shown_with_what_explains_it() -> None:
    made = traffic.make_traffic(1, 1)
    names: list[tuple[object, ...]] = []
    for before, record in pairwise(r for r in made.log if r.producer_id == 103 and r.key == "out-0" and not r.control):
        names.append((before.producer_epoch, before.sequence))
        said = record_before(made, record)
        assert said.startswith(f"offset {before.offset}: producer 103, epoch 0, sequence {before.sequence}")
        assert said.endswith(" again") is (names.count(names[-1]) > 1)
    assert len(set(names)) < len(names)
    assert marker_after(made, made.log[0]).endswith(" marker")
    assert record_before(made, made.log[0]) == "none"


def test_a_wrong_balance_names_its_mutant() -> None:
    made = balances.make_balances(1)
    truth = balances.find_newest(made)
    for mutant in balances.MUTANTS:
        assert find_mutant(mutant.function(made), truth, made, balances.MUTANTS) is mutant


def sinks(batches: exercise_3.Batches) -> dict[str, list[feed.Row]]:
    """Return what wrong sinks hold after the stops of the exercise."""
    rows = [row for batch in batches for row in batch]
    last = {minute: number for number, batch in enumerate(batches) for minute, _ in batch}
    return {
        "append": [*rows, *batches[2][:4], *batches[3]],
        "overwrite all": list(batches[-1]),
        "skip": [row for number, batch in enumerate(batches) for row in (batch[:4] if number == 2 else batch)],
        "distinct": list(set(rows)),
        "by minute": [row for number, batch in enumerate(batches) for row in batch if last[row[0]] == number],
    }


@pytest.mark.parametrize("seed", [1, 2026])
def test_each_wrong_sink_is_known_by_what_it_holds(seed: int) -> None:
    batches = feed.make_feed(seed)
    made = sinks(batches)
    assert list(made) == [mutant.name for mutant in exercise_3.MUTANTS]
    for name, rows in made.items():
        found = exercise_3.find_mutant(Counter(rows), batches)
        assert found is not None
        assert found.name == name
    assert exercise_3.find_mutant(Counter(row for batch in batches for row in batch), batches) is None


def test_rows_sent_twice_and_rows_that_are_late_are_in_the_stream() -> None:
    batches = feed.make_feed(1)
    assert all(len(set(batch)) < len(batch) for batch in batches)
    assert all({minute for minute, _ in batch} >= {number - 1, number} for number, batch in enumerate(batches[1:], 1))
    assert set(batches[0]) & set(batches[-1])
    assert feed.count_by_batch(Counter(row for batch in batches for row in batch), batches) == [12] * 5


def test_the_table_of_a_sink_begins_at_the_first_batch_that_is_wrong() -> None:
    batches = feed.make_feed(1)
    table = exercise_3.show(Counter(sinks(batches)["append"]), batches)
    assert [row[2] for row in table.rows] == [12, 12, 16, 24, 12]
    assert table.at == 2


@pytest.mark.parametrize("name", ["L16.E1", "L16.E2", "L16.E3", "L16.E4"])
def test_what_has_another_form_is_told_what_to_give(name: str) -> None:
    with pytest.raises(WrongType, match=rf"{name}: Give (a function|an SQL query)"):
        check(name, 3)


def test_the_text_as_it_came_is_blank() -> None:
    with pytest.raises(WrongAnswer, match="still blank"):
        check("L16.E4", "")
    with pytest.raises(BlankAnswer):
        exercise_4.check("")
