"""Lab 02's exercises: the model answers pass under any seed, each mistake is found, wrong answers get their hint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab import lab02
from kafkalab.course.lab02 import exercise_1 as lab02_e1
from kafkalab.course.lab02 import exercise_2 as lab02_e2
from kafkalab.course.lab02 import exercise_3 as lab02_e3
from kafkalab.faults.node import Crash
from kafkalab.grading.check import check, counterexample, hint, question
from kafkalab.grading.exercise import WrongType, WrongValue
from kafkalab.grading.schedules import with_program
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster, ran
from tests.grading.told import catch_wrong_answer, open_counterexample

pytestmark = pytest.mark.usefixtures("no_hints_given")

SEEDS = ("1", "2026", "77")
E1 = {
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "initTransactions",
    "transaction.timeout.ms": "initTransactions",
    "enable.idempotence": "constructor",
    "acks": "constructor",
    "isolation.level": "reads aborted",
    "auto.offset.reset": "reads nothing",
}
NINE = [
    "FindCoordinator", "InitProducerId", "InitProducerIdResponse", "Produce", "AddPartitionsToTxn", "ProduceResponse",
    "EndTxn", "EndTxnResponse", "WriteTxnMarkers",
]  # fmt: skip


async def write(debits: Any, credits: Any, amount: int) -> None:
    await debits.send("accounts", f"-{amount}", partition=0)
    if amount > 100:
        raise ValueError(f"{amount} is over the limit")
    await credits.send("accounts", f"+{amount}", partition=1)


async def book(app: Any, transfers: list[int]) -> None:
    producer = app.producer(transactional_id="bank-0", linger_ms=0)
    await producer.init_transactions()
    for amount in transfers:
        producer.begin_transaction()
        try:
            await write(producer, producer, amount)
            await producer.commit_transaction()
        except ValueError:
            await producer.abort_transaction()


async def as_it_came(app: Any, transfers: list[int]) -> None:
    debits = app.producer(transactional_id="bank-0", linger_ms=0)
    credits = app.producer(linger_ms=0)
    debits.begin_transaction()
    await debits.init_transactions()
    for amount in transfers:
        await write(debits, credits, amount)


async def with_two_producers(app: Any, transfers: list[int]) -> None:
    producer, credits = app.producer(transactional_id="bank-0", linger_ms=0), app.producer(linger_ms=0)
    await producer.init_transactions()
    for amount in transfers:
        producer.begin_transaction()
        try:
            await write(producer, credits, amount)
            await producer.commit_transaction()
        except ValueError:
            await producer.abort_transaction()


async def without_abort(app: Any, transfers: list[int]) -> None:
    producer = app.producer(transactional_id="bank-0", linger_ms=0)
    await producer.init_transactions()
    producer.begin_transaction()
    for amount in transfers:
        try:
            await write(producer, producer, amount)
            await producer.commit_transaction()
            producer.begin_transaction()
        except ValueError:
            continue


async def begun_twice(app: Any, transfers: list[int]) -> None:
    producer = app.producer(transactional_id="bank-0", linger_ms=0)
    await producer.init_transactions()
    for amount in transfers:
        producer.begin_transaction()
        try:
            await write(producer, producer, amount)
            await producer.commit_transaction()
        except ValueError:
            continue


async def ended_early(app: Any, transfers: list[int]) -> None:
    producer = app.producer(transactional_id="bank-0", linger_ms=0)
    await producer.init_transactions()
    for amount in transfers:
        producer.begin_transaction()
        try:
            await write(producer, producer, amount)
            await producer.commit_transaction()
        except ValueError:
            await producer.abort_transaction()
            return


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L2.E1", E1) == "L2.E1 ✓ 11 of 11 lines"
    assert check("L2.E2", NINE) == "L2.E2 ✓ 9 of 9 in order"
    assert check("L2.E3", book) == "L2.E3 ✓ 60 of 60 schedules"


# exercise 1


def test_the_values_that_are_to_be_faulty_break_what_they_are_to_break_and_no_others_break_anything() -> None:
    met = set()
    for seed in range(1, 13):
        drawn = lab02_e1.values(seed)
        for setting in lab02_e1.SETTINGS:
            broken = lab02_e1.find_broken(seed, setting)
            assert bool(broken) is (drawn[setting.name] in setting.faulty), (seed, setting.name)
            met.add(broken)
    assert met == {*lab02_e1.WORDS, ""}


def test_each_faulty_value_of_each_line_breaks_something() -> None:
    for setting in lab02_e1.SETTINGS:
        for value in (*setting.fine, *setting.faulty):
            files = {s.name: s.fine[0] for s in lab02_e1.SETTINGS} | {setting.name: value}
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(lab02_e1, "values", lambda seed, files=files: files)
                result = ran(lab02_e1.scenario(1, setting)).results["app"]
            assert (result == ["order 2"]) is (value in setting.fine), (setting.name, value)


def test_the_same_lines_are_faulty_for_every_seed_and_another_seed_draws_others() -> None:
    faulty = [[s.name for s in lab02_e1.SETTINGS if lab02_e1.values(n)[s.name] in s.faulty] for n in range(1, 9)]
    assert {tuple(names) for names in faulty} == {tuple(faulty[0])}
    assert len({tuple(lab02_e1.draw_faulty(n)) for n in range(1, 9)}) > 4
    assert len({lab02_e1.show_files(n) for n in range(1, 9)}) > 4


def test_the_files_are_shown_and_not_what_is_wrong_with_them() -> None:
    text = str(question("L2.E1"))
    assert "image: apache/kafka:4.3.1" in text
    assert all(f"{s.printed}" in text for s in lab02_e1.SETTINGS)
    assert not any(word in text for word in lab02_e1.WORDS)


@pytest.mark.parametrize(
    ("change", "miss", "hint_says"),
    [
        ({"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": ""}, "one broker holds one replica", "more replicas than"),
        ({"transaction.timeout.ms": "constructor"}, "two files must agree", "sends its transaction timeout"),
        ({"acks": ""}, "a transaction needs idempotence", "must be idempotent"),
        ({"isolation.level": "reads nothing"}, "readers must ask for committed", "default of a consumer"),
        ({"retries": "constructor"}, "strange is not wrong", "only not the default"),
    ],
)
def test_each_wrong_line_is_named_with_its_run_and_its_hint(change: dict[str, str], miss: str, hint_says: str) -> None:
    answer = {name: word for name, word in {**E1, **change}.items() if word}
    error = catch_wrong_answer("L2.E1", answer)
    assert error.miss == miss
    assert "10 of 11 lines are judged right" in str(error)
    assert f"not: {next(iter(change))}. " in str(error).replace("\n", " ")
    assert hint_says in hint("L2.E1")
    cluster = Cluster(open_counterexample())
    cluster.run()
    name = next(iter(change)).removeprefix("KAFKA_").lower().replace("_", ".")
    setting = next(s for s in lab02_e1.SETTINGS if s.name == name)
    assert repr(cluster.results["app"]) == repr(lab02_e1.run(1, setting).results["app"])


def test_names_may_be_written_as_in_either_file_and_other_answers_are_refused() -> None:
    dotted = {name.removeprefix("KAFKA_").lower().replace("_", "."): word for name, word in E1.items()}
    assert check("L2.E1", dotted)
    with pytest.raises(WrongValue, match=r"no line 'linger\.ms' to judge"):
        check("L2.E1", {"linger.ms": "constructor"})
    with pytest.raises(WrongValue, match="no word of this exercise"):
        check("L2.E1", {"acks": "broken"})
    with pytest.raises(WrongType, match="Give a dict with the faulty lines only"):
        check("L2.E1", ["acks"])
    blanks: tuple[Any, ...] = ({}, ..., None)
    for blank in blanks:
        assert "still blank" in str(catch_wrong_answer("L2.E1", blank))


# exercise 2


def test_the_nine_frames_fly_in_this_order_for_every_seed() -> None:
    assert [s for s in range(1, 31) if list(lab02_e2.ORDER.sort(s)) != NINE] == []
    assert sorted(question("L2.E2")) == sorted(NINE) != question("L2.E2")


def test_the_order_comes_from_a_run() -> None:
    old = replace(lab02_e2.ORDER, run=lambda seed: ran(lab02("4.x/TV1", seed)))
    names = list(old.sort(1))
    assert names.index("AddPartitionsToTxn") < names.index("Produce")


@pytest.mark.parametrize(
    ("swap", "miss", "hint_says"),
    [
        (("FindCoordinator", "InitProducerId"), "FindCoordinator", "which broker that is"),
        (("Produce", "AddPartitionsToTxn"), "who adds the partition", "the leader of the partition"),
        (("EndTxnResponse", "WriteTxnMarkers"), "markers before the answer", "as soon as the decision is safe"),
    ],
)
def test_each_swap_is_named_and_hinted(swap: tuple[str, str], miss: str, hint_says: str) -> None:
    one, other = swap
    answer = [{one: other, other: one}.get(name, name) for name in NINE]
    error = catch_wrong_answer("L2.E2", answer)
    assert error.miss == miss
    assert f"'{other}' is not before '{one}'" in str(error).replace("\n", " ")
    assert hint_says in hint("L2.E2")


def test_every_swap_of_neighbours_is_caught() -> None:
    for i in range(8):
        answer = [*NINE[:i], NINE[i + 1], NINE[i], *NINE[i + 2 :]]
        assert "7 of 9 are in their places" in str(catch_wrong_answer("L2.E2", answer))


def test_a_list_of_another_form_is_refused_with_what_is_missing() -> None:
    with pytest.raises(WrongValue, match="missing: 'WriteTxnMarkers'"):
        check("L2.E2", [*NINE[:8], NINE[0]])
    with pytest.raises(WrongValue, match="'Fetch' is none of the names"):
        check("L2.E2", [*NINE[:8], "Fetch"])
    with pytest.raises(WrongType, match="Give the list of the nine names"):
        check("L2.E2", {1: "Produce"})
    for blank in ([], ..., None, [""] * 9):
        assert "still blank" in str(catch_wrong_answer("L2.E2", blank))
    assert check("L2.E2", [f"{name}#1" for name in NINE])


# exercise 3


@pytest.mark.parametrize(
    ("program", "miss", "says", "hint_says"),
    [
        (with_two_producers, "outside", "is booked on one side: 0 debits, 1 credit", "writes at once"),
        (without_abort, "not aborted", "is over the limit, and is booked: 1 debit, 0 credits", "also commits"),
        (begun_twice, "stops", "from state IN_TRANSACTION to state IN_TRANSACTION", "Which state"),
        (ended_early, "not booked", "is booked 0 times", "a transaction of its own"),
    ],
)
def test_each_mistake_is_named_with_a_run_that_shows_it(program: Any, miss: str, says: str, hint_says: str) -> None:
    error = catch_wrong_answer("L2.E3", program)
    assert error.miss == miss
    assert says in str(error).replace("\n", " ")
    assert counterexample() is error.run
    assert hint_says in hint("L2.E3")


@pytest.mark.parametrize("seed", range(1, 7))
def test_under_every_seed_some_schedule_shows_each_mistake(seed: int) -> None:
    for program, miss in ((with_two_producers, "outside"), (without_abort, "not aborted")):
        runs = (ran(with_program(scenario, program)) for scenario in lab02_e3.scenarios(seed))
        found = [finding.miss for run in runs if (finding := lab02_e3.audit(run)) is not None]
        assert found.count(miss) >= 3, (seed, miss)


def test_the_schedules_are_drawn_and_their_crashes_strike() -> None:
    scenarios = list(lab02_e3.scenarios(1))
    assert len(scenarios) == lab02_e3.SCHEDULES
    assert len({repr(scenario) for scenario in scenarios}) == lab02_e3.SCHEDULES
    assert all(any(t > 100 for t in s.programs[0].args["transfers"]) for s in scenarios)
    crashed = [s for s in scenarios if any(isinstance(fault, Crash) for fault in s.faults)]
    runs = [ran(with_program(scenario, book)) for scenario in crashed]
    assert sum(not run.unused_faults for run in runs) > len(runs) / 2


def test_a_program_that_ends_as_the_one_that_came_is_blank_and_is_told_its_error() -> None:
    for program in (as_it_came, lab02_e3.careless):
        text = str(catch_wrong_answer("L2.E3", program)).replace("\n", " ")
        assert "still blank" in text
        assert "from state UNINITIALIZED to state IN_TRANSACTION" in text
    first = next(lab02_e3.scenarios(1))
    assert "UNINITIALIZED to state IN_TRANSACTION" in str(ran(with_program(first, as_it_came)).results["app"])
