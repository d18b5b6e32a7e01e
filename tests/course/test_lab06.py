"""Lab 06's exercises: names for instances, a zombie's charge, whose charge counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.course.lab06 import exercise_1 as lab06_e1
from kafkalab.course.lab06 import exercise_2 as lab06_e2
from kafkalab.course.lab06 import exercise_3 as lab06_e3
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.check import check, counterexample, hint
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.programs.confluent import KafkaException
from kafkalab.sim.cluster import Cluster

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
ASLEEP: list[Fault] = [Pause("till-1", at_ms=300), Resume("till-1", at_ms=5_300)]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer schedules than a learner's check runs."""
    monkeypatch.setattr(lab06_e1, "SCHEDULES", 6)
    monkeypatch.setattr(lab06_e3, "SCHEDULES", 16)


def right(facts: dict[str, Any]) -> str:
    return f"{facts['environment']}/{facts['app']}/{facts['instance']}"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solutions_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L6.E1", right) == "L6.E1 ✓ 24 of 24 schedules"
    assert check("L6.E2", ASLEEP) == "L6.E2 ✓ 2 presses, the fewest there are"
    assert check("L6.E3", service()) == "L6.E3 ✓ 16 of 16 schedules"


@pytest.mark.parametrize(
    ("name", "says", "miss"),
    [
        (lambda f: f["app"], "although nobody was to replace it", "What tells them apart?"),
        (lambda f: f"{f['app']}-{f['environment']}", "although nobody was to replace it", "What tells them apart?"),
        (lambda f: f"{f['app']}-{f['instance']}", "Production and test", "What tells production from test?"),
        (lambda f: f"{right(f)}-{f['host']}", "One instance", "share with the instance that it replaces?"),
        (lambda f: f"{right(f)}-{f['started_ms']}", "One instance", "share with the instance that it replaces?"),
        (lambda f: f["host"], "One instance", "share with the instance that it replaces?"),
    ],
)
def test_a_bad_name_does_harm_and_the_hint_says_which(name: Callable[[Any], str], says: str, miss: str) -> None:
    with pytest.raises(WrongAnswer, match=says):
        check("L6.E1", name)
    assert isinstance(counterexample(), Cluster)
    assert miss in hint("L6.E1")


def test_a_stranger_charges_twice_or_leaves_readers_waiting() -> None:
    found = [lab06_e1.audit(_run(s)) for s in lab06_e1.scenarios(1, lambda f: f["host"]) if s.faults]
    told = [break_off.says for break_off in found if break_off is not None]
    assert any("was charged twice" in says for says in told)
    assert any("cannot see the last" in says for says in told)


def _run(scenario: Any) -> Cluster:
    cluster = Cluster(scenario)
    cluster.run()
    return cluster


def test_a_replacement_knows_the_instance_and_not_the_host() -> None:
    seen: list[dict[str, Any]] = []
    list(lab06_e1.scenarios(1, lambda facts: seen.append(facts) or "x"))  # type: ignore[func-returns-value]
    first, second = seen[:2]
    assert {k for k in first if first[k] == second[k]} == {"app", "environment", "instance"}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("billing-0", WrongType),
        (lambda facts: 7, WrongValue),
        (lambda facts: None, WrongAnswer),
        (lambda facts: facts["nothing"], WrongAnswer),
    ],
)
def test_what_gives_no_name_is_told_so(answer: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        check("L6.E1", answer)


@pytest.mark.parametrize(
    ("presses", "miss"),
    [
        ([Pause("till-1", at_ms=3_000), Resume("till-1", at_ms=6_000)], "did all of its work"),
        ([Pause("till-1", at_ms=620), Resume("till-1", at_ms=5_300)], "asked the coordinator before it wrote"),
        ([Pause("till-1", at_ms=300), Resume("till-1", at_ms=9_000)], "nothing committed it"),
        ([*ASLEEP, Crash("b2", at_ms=30_000)], "Can you do it with 2"),
        ([], "still blank"),
    ],
)
def test_presses_that_miss_are_told_what_this_run_shows(presses: list[Any], miss: str) -> None:
    with pytest.raises(WrongAnswer, match=miss):
        check("L6.E2", presses)


def test_frames_may_not_be_pressed() -> None:
    with pytest.raises(WrongValue, match="may not be pressed"):
        check("L6.E2", [Delay("Produce#1", 5_000)])


def test_with_the_epoch_compared_the_same_presses_charge_once() -> None:
    assert lab06_e2.twice(_run(lab06_e2.scenario().with_faults(*ASLEEP)))
    assert not lab06_e2.twice(_run(lab06_e2.scenario(epochs=True).with_faults(*ASLEEP)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("mistake", "says", "miss"),
    [
        ("goes on", "was fenced, and claimed the name again", "What does init_transactions() do to its replacement?"),
        ("aborts in doubt", "ended with KafkaException", "Which call is allowed?"),
        ("forgets", "Its transaction was aborted", "Where must the consumer go?"),
    ],
)
def test_each_mistake_of_the_service_is_found_and_gets_its_hint(
    mistake: str, says: str, miss: str, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    with pytest.raises(WrongAnswer, match=says):
        check("L6.E3", service(mistake))
    assert isinstance(counterexample(), Cluster)
    assert miss in hint("L6.E3")


def test_a_service_that_charges_again_after_a_lost_answer_charges_twice() -> None:
    with pytest.raises(WrongAnswer, match="is charged 2 times"):
        check("L6.E3", service("sends again"))
    assert "Which of them had a result that you did not wait for?" in hint("L6.E3")


def test_the_service_as_it_came_is_blank_and_one_repair_is_not() -> None:
    with pytest.raises(BlankAnswer):
        lab06_e3.EXERCISE.check(lab06_e3.careless)
    for repaired in ("fatal", "retriable", "aborted"):
        with pytest.raises(WrongAnswer) as caught:
            lab06_e3.EXERCISE.check(repair_one(repaired))
        assert not isinstance(caught.value, BlankAnswer)


def repair_one(mistake: str) -> Callable[..., Any]:
    """The service as it came, but for one repair."""

    async def billing(app: Any, name: str, start_ms: int, stop_ms: int) -> None:
        consumer, producer = await lab06_e3.start(app, name, start_ms)
        while app.now < stop_ms:
            for order in await consumer.poll():
                try:
                    await lab06_e3.charge(app, producer, consumer, order)
                    call = producer.commit_transaction
                    await (until_it_returns(call) if mistake == "retriable" else call())
                except KafkaException as failed:
                    if failed.args[0].fatal():
                        if mistake == "fatal":
                            return
                        consumer, producer = await lab06_e3.start(app, name, app.now)
                    else:
                        await producer.abort_transaction()
                        if mistake == "aborted":
                            consumer.seek(order.partition, order.offset)
                            break

    return billing


async def until_it_returns(call: Callable[[], Any]) -> Any:
    while True:
        try:
            return await call()
        except KafkaException as failed:
            if not failed.args[0].retriable():
                raise


def test_an_error_of_the_program_itself_is_told() -> None:
    async def break_off(app: Any, name: str, start_ms: int, stop_ms: int) -> None:
        await app.sleep(10)
        raise ValueError("no paper")

    with pytest.raises(WrongAnswer, match="no paper"):
        check("L6.E3", break_off)
    with pytest.raises(WrongType, match="async def"):
        check("L6.E3", "billing")


def service(*mistakes: str) -> Callable[..., Any]:
    """The service repaired, but for these mistakes."""

    async def billing(app: Any, name: str, start_ms: int, stop_ms: int) -> None:
        consumer, producer = await lab06_e3.start(app, name, start_ms)
        while app.now < stop_ms:
            for order in await consumer.poll():
                try:
                    await lab06_e3.charge(app, producer, consumer, order)
                    if "aborts in doubt" in mistakes or "sends again" in mistakes:
                        await producer.commit_transaction()
                    else:
                        await until_it_returns(producer.commit_transaction)
                except KafkaException as failed:
                    if failed.args[0].fatal() and "goes on" not in mistakes:
                        return
                    if failed.args[0].fatal() or ("sends again" in mistakes and failed.args[0].retriable()):
                        consumer, producer = await until_it_returns(lambda: lab06_e3.start(app, name, app.now))
                        if "sends again" in mistakes:
                            await lab06_e3.charge(app, producer, consumer, order)
                            await producer.commit_transaction()
                            consumer.seek(order.partition, order.offset + 1)
                        break
                    await until_it_returns(producer.abort_transaction)
                    if "forgets" not in mistakes:
                        consumer.seek(order.partition, order.offset)
                        break

    return billing


def test_the_presses_that_charge_twice_do_no_harm_with_the_rule_on() -> None:
    presses = [Pause("till-1", at_ms=300), Resume("till-1", at_ms=5_300)]
    assert check("L6.E2", presses)
    for given in (presses, []):
        charges = lab06_e2.with_epochs(given).outcome().committed["charges-0"]
        assert len(charges) == len(set(charges)) == 3
