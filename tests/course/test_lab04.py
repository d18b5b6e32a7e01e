"""Lab 04's exercises: the model answers pass under any seed, every mutant is caught, wrong answers get their hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.course.lab04 import dumps, exercise_1, exercise_2, exercise_3
from kafkalab.course.lab04.scenario import price_list
from kafkalab.grading.check import check, counterexample, hint, question
from kafkalab.grading.exercise import WrongType
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from tests.grading.told import catch_wrong_answer

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2026", "77")
Row = dict[str, Any]


def five_numbers(seen: Row) -> dict[str, int]:
    committed, high, stable = seen["committed"], seen["high_watermark"], seen["last_stable_offset"]
    behind = [row for row in seen["rows"] if committed <= row["offset"] < stable]
    given = [row for row in behind if row["fate"] in ("committed", "plain")]
    before = {"records-lag": stable - committed, "LAG": high - committed}
    return {**before, "records": len(given), "position": stable, "LAG later": high - stable}


def count(dump: list[Row]) -> dict[str, int]:
    counts, fate = {"committed": 0, "aborted": 0, "open": 0}, dict[int, str]()
    for batch in reversed(dump):
        producer = batch["producerId"]
        if batch["isControl"]:
            fate[producer] = "committed" if batch["endTxnMarker"] == "COMMIT" else "aborted"
        else:
            counts[fate.get(producer, "open") if batch["isTransactional"] else "committed"] += batch["count"]
    return counts


def reader(app: App, partition: str, **settings: Any) -> Any:
    consumer = app.consumer(**{"isolation_level": "read_committed", "auto_offset_reset": "earliest", **settings})
    consumer.assign([partition])
    return consumer


async def drain(app: App, partition: str) -> list[str]:
    consumer = reader(app, partition)
    end, values = await consumer.end_offset(partition), list[str]()
    while await consumer.position(partition) < end:
        values += [record.value for record in await consumer.poll()]
    return values


async def until_the_record(app: App, partition: str) -> list[str]:
    consumer = reader(app, partition)
    end, values, last = await consumer.end_offset(partition), list[str](), -1
    while last < end - 1:
        for record in await consumer.poll():
            last, values = record.offset, [*values, record.value]
    return values


async def until_counted(app: App, partition: str) -> list[str]:
    consumer = reader(app, partition)
    (begin, end), values = (
        ((await consumer.beginning_offsets([partition]))[partition], await consumer.end_offset(partition)),
        list[str](),
    )
    while len(values) < end - begin:
        values += [record.value for record in await consumer.poll()]
    return values


async def until_empty(app: App, partition: str) -> list[str]:
    consumer, values = reader(app, partition), list[str]()
    while records := await consumer.poll():
        values += [record.value for record in records]
    return values


async def one_poll(app: App, partition: str) -> list[str]:
    return [record.value for record in await reader(app, partition).poll()]


async def dirty(app: App, partition: str) -> list[str]:
    consumer = reader(app, partition, isolation_level="read_uncommitted")
    end, values = await consumer.end_offset(partition), list[str]()
    while await consumer.position(partition) < end:
        values += [record.value for record in await consumer.poll()]
    return values


async def from_the_end(app: App, partition: str) -> list[str]:
    consumer = reader(app, partition, auto_offset_reset="latest")
    end, values = await consumer.end_offset(partition), list[str]()
    while await consumer.position(partition) < end:
        values += [record.value for record in await consumer.poll()]
    return values


async def at_least_one(app: App, partition: str) -> list[str]:
    consumer, values = reader(app, partition), list[str]()
    end = await consumer.end_offset(partition)
    while not values or await consumer.position(partition) < end:
        values += [record.value for record in await consumer.poll()]
    return values


async def twice(app: App, partition: str) -> list[str]:
    return [*await drain(app, partition), *await drain(app, partition)]


async def divides(app: App, partition: str) -> list[str]:
    return [str(1 // (len(await one_poll(app, partition)) * 0))]


async def offsets(app: App, partition: str) -> list[Any]:
    return [record.offset for record in await reader(app, partition).poll()]


async def for_ever(app: App, partition: str) -> list[str]:
    consumer, values = reader(app, partition), list[str]()
    while True:
        values += [record.value for record in await consumer.poll(100)]
        if len(values) > 40:
            return values


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L4.E1", five_numbers) == "L4.E1 ✓ 30 of 30 cases"
    assert check("L4.E2", drain) == "L4.E2 ✓ 36 of 36 schedules"
    assert check("L4.E3", count) == "L4.E3 ✓ 24 of 24 cases"


def test_with_no_rule_switched_the_functions_are_what_the_runs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(4):
        monkeypatch.setenv(VARIABLE, str(seed))
        assert all(exercise_1.five(*c) == exercise_1.measure(*c) for c in exercise_1.cases(seed))
        assert all(exercise_3.count_records(*c) == exercise_3.truth(*c) for c in exercise_3.cases(seed))


def test_every_mutant_differs_from_the_reference_whatever_the_seed() -> None:
    for seed in range(6):
        for mutant in exercise_1.MUTANTS:
            assert any(mutant.function(*c) != exercise_1.five(*c) for c in exercise_1.cases(seed)), (seed, mutant.name)
        for mutant in exercise_3.MUTANTS:
            cases = exercise_3.cases(seed)
            assert any(mutant.function(*c) != exercise_3.count_records(*c) for c in cases), (seed, mutant.name)


@pytest.mark.parametrize(
    ("exercise_id", "mutant"),
    [("L4.E1", m) for m in exercise_1.MUTANTS] + [("L4.E3", m) for m in exercise_3.MUTANTS],
    ids=lambda value: getattr(value, "name", value),
)
def test_each_mutant_is_named_as_itself_has_a_hint_and_shows_its_log(exercise_id: str, mutant: Any) -> None:
    error = catch_wrong_answer(exercise_id, mutant.function)
    assert error.miss == mutant.name
    assert mutant.says in " ".join(str(error).split())
    assert hint(exercise_id).startswith("Hint for this answer")
    assert counterexample() is error.run
    module = {"L4.E1": exercise_1, "L4.E3": exercise_3}[exercise_id]
    shown = module.show_case(*module.cases(1)[-1])
    assert shown["view"] == "LogTape"
    assert 0 < shown["step"] < shown["run"].trace.steps


@pytest.mark.parametrize(
    ("answer", "miss", "says"),
    [
        (until_the_record, "waits for a record", "has not ended after 20 seconds"),
        (until_counted, "waits for a record", "has not ended after 20 seconds"),
        (at_least_one, "waits for a record", "it is empty"),
        (for_ever, "waits for a record", "has not ended"),
        (until_empty, "an empty poll", "The leader was slow to answer here"),
        (one_poll, "an empty poll", "The leader was slow to answer here"),
        (from_the_end, "too early", "which could be read when it began"),
        (dirty, "not committed", "which is not committed"),
        (twice, "twice", "returns a value twice"),
        (divides, "stops", "stops with ZeroDivisionError"),
        (offsets, "form", "not a list of values"),
    ],
)
def test_each_wrong_reader_is_found_and_gets_its_hint(answer: Callable[..., Any], miss: str, says: str) -> None:
    error = catch_wrong_answer("L4.E2", answer)
    assert (error.miss, says in str(error)) == (miss, True), str(error)
    assert counterexample() is error.run
    assert hint("L4.E2").startswith("Hint for this answer")


def test_a_reader_that_runs_after_the_end_is_told_that_somebody_goes_on_writing() -> None:
    busy = next(night for night in exercise_2.nights(1) if night.end == "busy")
    cluster = Cluster(exercise_2.run_of(busy, until_empty))
    cluster.run()
    broken = exercise_2.audit(busy, cluster)
    assert broken is not None
    assert (broken.miss, "Somebody goes on writing" in broken.says) == ("the end moves", True)


def test_each_way_to_end_a_log_is_there_four_times_and_the_start_is_cut() -> None:
    nights = exercise_2.nights(5)
    assert [sum(n.end == end for n in nights) for end in exercise_2.ENDS] == [4] * len(exercise_2.ENDS)
    cut = next(n for n in nights if n.end == "start")
    cluster = Cluster(exercise_2.run_of(cut, drain))
    cluster.run()
    assert cluster.log_of("ledger-0").log_start_offset > 0


@pytest.mark.parametrize("exercise_id", ["L4.E1", "L4.E3"])
def test_what_was_learnt_by_heart_fails_under_the_graders_seed(
    exercise_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, Callable[..., Any]] = {"L4.E1": five_numbers, "L4.E3": count}
    right = answers[exercise_id]
    known = {repr(case): right(*case) for case in {"L4.E1": exercise_1, "L4.E3": exercise_3}[exercise_id].cases(1)}

    def typed_in(*case: Any) -> Any:
        return known.get(repr(case), {})

    assert check(exercise_id, typed_in)
    monkeypatch.setenv(VARIABLE, "2026")
    catch_wrong_answer(exercise_id, typed_in)


def test_blank_answers_are_called_blank_and_other_forms_refused() -> None:
    async def blank(app: App, partition: str) -> Any: ...

    assert "still blank" in str(catch_wrong_answer("L4.E1", lambda seen: ...))
    assert "still blank" in str(catch_wrong_answer("L4.E2", blank))
    assert "still blank" in str(catch_wrong_answer("L4.E2", ...))
    assert "still blank" in str(catch_wrong_answer("L4.E3", lambda dump: ...))
    with pytest.raises(WrongType, match="async def"):
        check("L4.E2", lambda app, partition: [])


def test_the_examples_show_what_the_exercises_are_about() -> None:
    seen = question("L4.E1")[0]
    assert len({row["fate"] for row in seen["rows"]}) >= 3
    whole, thinned = question("L4.E3")
    assert whole
    assert any(row["count"] < row["lastOffset"] - row["baseOffset"] + 1 for row in thinned)


def test_a_dump_is_told_with_the_names_of_kafkas_tool_and_without_what_came_after_it() -> None:
    told_by_hand = dumps.Story(((7, ("tea", "bun")), (7, True), (8, ("cake",))), "")
    cluster = Cluster(dumps.scenario(told_by_hand))
    cluster.run()
    names = ("baseOffset", "lastOffset", "count", "producerId", "isTransactional", "isControl", "endTxnMarker")
    assert dumps.dump(cluster, told_by_hand) == [
        dict(zip(names, row, strict=True))
        for row in ((0, 1, 2, 7, True, False, ""), (2, 2, 1, 7, True, True, "COMMIT"), (3, 3, 1, 8, True, False, ""))
    ]
    assert told_by_hand.open == (8,)
    assert cluster.results["read_committed"] == [[["orders-0", "0a"], ["orders-0", "0b"]]]


def test_a_price_list_is_cleaned_in_a_way_that_there_is() -> None:
    with pytest.raises(ValueError, match='is "", "compacted" or "deleted", not \'gone\''):
        price_list("gone")
