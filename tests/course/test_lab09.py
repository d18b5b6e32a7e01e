"""Lab 9's exercises: presses for three anomalies, a careful shop, a search, a real client, and an upgrade."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalab.client.exceptions import KafkaError, KafkaTimeoutError
from kafkalab.course.lab09 import exercise_1 as lab09_e1
from kafkalab.course.lab09 import exercise_2 as lab09_e2
from kafkalab.course.lab09 import exercise_3 as lab09_e3
from kafkalab.course.lab09 import exercise_4 as lab09_e4
from kafkalab.course.lab09 import exercise_5 as lab09_e5
from kafkalab.course.lab09.scenario import lab09, lost_session
from kafkalab.course.lab09.worked_example import FAULTS, show_runs
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Release
from kafkalab.faults.node import Crash
from kafkalab.grading.check import check, counterexample, hint
from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue
from kafkalab.grading.schedules import with_program
from kafkalab.grading.seeds import VARIABLE
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from tests.grading.told import as_learner, catch_wrong_answer, tell

SEEDS = ("1", "2026")
pytestmark = pytest.mark.usefixtures("no_hints_given")
PRESSES: dict[str, list[Fault]] = {
    "G1a": [Delay("EndTxn#1", 31_000)],
    "lost write": [Delay("EndTxn#2", 31_000)],
    "torn": [Delay("EndTxn#1", 33_200)],
}
CLAIMS = dict(enumerate(("refuted", "shown", "shown", *["open"] * 4, *["refuted"] * 3), 1))


# exercise 1


@pytest.mark.parametrize("seed", SEEDS)
def test_one_press_is_enough_for_each_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L9.E1", PRESSES) == "L9.E1 ✓ 3 of 3 found, in 3 presses"


@pytest.mark.parametrize("name", PRESSES)
def test_each_list_of_presses_shows_what_it_is_for_and_no_other_does(name: str) -> None:
    run = ran(lab09_e1.scenario().with_faults(*PRESSES[name]))
    assert [wanted for wanted in PRESSES if lab09_e1.shows(run, wanted)] == [name]


@pytest.mark.parametrize("name", PRESSES)
def test_under_version_2_the_same_presses_do_no_harm(name: str) -> None:
    run = ran(replace(lab09_e1.scenario(), profile="4.x/TV2").with_faults(*PRESSES[name]))
    assert lab09_e1.shown_by(run) == ()


def test_what_was_held_and_released_by_hand_counts_too() -> None:
    held: list[Fault] = [Hold("EndTxn#1"), Release("EndTxn#1", at_ms=33_000)]
    assert check("L9.E1", PRESSES | {"G1a": held}) == "L9.E1 ✓ 3 of 3 found, in 4 presses; 3 would be enough"
    pressed = ran(lab09_e1.scenario().with_faults(*held))
    assert check("L9.E1", PRESSES | {"G1a": pressed}).endswith("in 4 presses; 3 would be enough")


@pytest.mark.parametrize(
    ("name", "presses", "says", "miss"),
    [
        ("G1a", [Delay("EndTxn#1", 10_000)], "No EndTxn was sent a second time", "too early"),
        ("G1a", [Drop("EndTxn#1")], "the late one ended nothing", "between"),
        ("G1a", [Duplicate("EndTxn#1")], "the late one ended nothing", "between"),
        ("G1a", [Delay("EndTxn#1", 40_000)], "the late one ended nothing", "between"),
        ("G1a", [Delay("EndTxn#1", 33_200)], "must be a commit", "another order"),
        ("lost write", [Delay("EndTxn#1", 31_000)], "must be an abort", "another order"),
        ("torn", [Delay("EndTxn#1", 31_000)], "before the second half is written", "another order"),
        ("torn", [Delay("EndTxn#2", 31_000)], "before the second half is written", "another order"),
    ],
)
def test_presses_that_miss_are_told_what_their_run_shows(name: str, presses: Any, says: str, miss: str) -> None:
    error = catch_wrong_answer("L9.E1", PRESSES | {name: presses})
    assert error.miss == miss
    assert f"{name}: This run shows no" in str(error)
    assert says in str(error)
    assert isinstance(counterexample(), Cluster)
    assert "Hint for this answer" in hint("L9.E1")


@pytest.mark.parametrize("delay_ms", [30_110, 31_000, 33_200])
def test_a_counterexample_opens_where_the_late_request_arrives(delay_ms: int) -> None:
    error = catch_wrong_answer("L9.E1", PRESSES | {"lost write": [Delay("EndTxn#1", delay_ms)]})
    run = ran(lab09_e1.scenario().with_faults(Delay("EndTxn#1", delay_ms)))
    event = run.trace.events[lab09_e1._step(run)]
    assert (event.kind, event.frame) == ("receive", "EndTxn#1")
    assert error.run is not None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ([], WrongType),
        ({"zombie": []}, WrongValue),
        (PRESSES | {"torn": [Crash("b1", at_ms=5)]}, WrongValue),
        (PRESSES | {"torn": "EndTxn#1"}, WrongType),
        (dict.fromkeys(PRESSES, ()), WrongAnswer),
    ],
)
def test_what_has_not_the_form_is_told_so(answer: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        check("L9.E1", answer)


# exercise 2

Shop = Callable[[Any, Any], Awaitable[None]]
PATIENCE = {"max_block_ms": 20_000}


async def one_order(app: Any, producer: Any, order: str, cancelled: bool) -> None:
    producer.begin_transaction()
    await producer.send("payments", order, partition=0)
    await producer.flush()
    await app.sleep(2_000)
    await producer.send("deliveries", order, partition=0)
    await producer.flush()
    await (producer.abort_transaction() if cancelled else producer.commit_transaction())


async def read_booked(app: Any, level: str = "read_committed") -> list[str]:
    reader = app.consumer(isolation_level=level, auto_offset_reset="earliest")
    reader.assign(["payments-0"])
    orders: list[str] = []
    end = await reader.end_offset("payments-0")
    while await reader.position("payments-0") < end:
        orders += [record.value for record in await reader.poll()]
    return orders


async def fresh(app: Any, name: str = "shop-0", **settings: Any) -> Any:
    while True:
        producer = app.producer(transactional_id=name, **(settings or PATIENCE))
        try:
            await producer.init_transactions()
            return producer
        except KafkaTimeoutError:
            await producer.close(timeout_ms=0)


def in_doubt(
    close: bool = True, before: bool = False, level: str = "read_committed", look: bool = True, again: bool = True,
    names: Callable[[int], str] = lambda _: "shop-0", each: bool = True,
) -> Shop:  # fmt: skip
    """Return a shop that makes a new producer for each try of an order; the arguments leave something out.

    Unless `each` it makes one only where an order is in doubt.
    """

    async def careful(app: Any, orders: Any) -> None:
        producers = 0
        producer = await fresh(app, names(producers))
        for place, (order, cancelled) in enumerate(orders):
            if each and place:
                producer = await fresh(app, names(producers))
            while True:
                try:
                    await one_order(app, producer, order, cancelled)
                    break
                except KafkaError:
                    if close:
                        await producer.close(timeout_ms=0)
                    there = before and order in await read_booked(app, level)
                    producers += 1
                    producer = await fresh(app, names(producers))
                    if look and not before:
                        there = order in await read_booked(app, level)
                    if cancelled or there or not again:
                        break

    return careful


async def a_producer_for_each(app: Any, orders: Any, max_block_ms: int = 60_000) -> None:
    for order, cancelled in orders:
        while True:
            producer = app.producer(transactional_id="shop-0", max_block_ms=max_block_ms)
            try:
                await producer.init_transactions()
                if order in await read_booked(app):
                    break
                await one_order(app, producer, order, cancelled)
                break
            except KafkaError:
                await producer.close(timeout_ms=0)


def naive(**settings: Any) -> Shop:
    async def shop(app: Any, orders: Any) -> None:
        producer = await fresh(app, **settings)
        for order, cancelled in orders:
            await one_order(app, producer, order, cancelled)

    return shop


def after_a_timeout(call: Callable[[Any, bool], Awaitable[None]]) -> Shop:
    async def shop(app: Any, orders: Any) -> None:
        producer = await fresh(app)
        for order, cancelled in orders:
            try:
                await one_order(app, producer, order, cancelled)
            except KafkaTimeoutError:
                await call(producer, cancelled)

    return shop


async def asks_again(producer: Any, cancelled: bool) -> None:
    while True:
        try:
            await (producer.abort_transaction() if cancelled else producer.commit_transaction())
            return
        except KafkaTimeoutError:
            continue


async def aborts(producer: Any, cancelled: bool) -> None:
    await producer.abort_transaction()


async def a_producer_for_each_with_less_patience(app: Any, orders: Any) -> None:
    await a_producer_for_each(app, orders, **PATIENCE)


RIGHT = {
    "one for each": a_producer_for_each,
    "with less patience": a_producer_for_each_with_less_patience,
    "without a look before": in_doubt(),
    "without close": in_doubt(close=False),
}
WRONG = {
    "nothing was changed": (naive(max_block_ms=60_000), "torn"),
    "only less patience": (naive(**PATIENCE), "not caught"),
    "asks again": (after_a_timeout(asks_again), "torn"),
    "aborts": (after_a_timeout(aborts), "abort or begin"),
    "books again without a look": (in_doubt(look=False), "twice"),
    "never books again": (in_doubt(again=False), "lost"),
    "looks too early": (in_doubt(before=True), "twice"),
    "reads what is not committed": (in_doubt(level="read_uncommitted"), "lost"),
    "a new producer only when in doubt": (in_doubt(each=False), "late marker"),
    "a new name": (in_doubt(names=lambda number: f"shop-{number}"), "another name"),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shop", RIGHT)
def test_a_careful_shop_passes_under_every_seed(shop: str, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L9.E2", RIGHT[shop]) == "L9.E2 ✓ 20 of 20 schedules"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shop", WRONG)
def test_every_wrong_shop_is_found_and_named(shop: str, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    function, miss = WRONG[shop]
    error = catch_wrong_answer("L9.E2", function)
    assert error.miss == miss
    assert "of 20 schedules end well" in str(error)
    assert isinstance(counterexample(), Cluster)
    sentence = lab09_e2.EXERCISE.misses[miss]
    assert isinstance(sentence, str)
    assert sentence in hint("L9.E2")


def test_the_schedules_are_as_many_as_the_lab_says_and_begin_with_a_calm_day() -> None:
    scenarios = list(lab09_e2.scenarios(1))
    assert len(scenarios) == 20
    assert scenarios[0].faults == ()
    assert all(scenario.faults for scenario in scenarios[1:])
    assert {scenario.profile for scenario in scenarios} == {"4.x/TV1"}


def test_an_order_that_two_decisions_commit_is_torn_though_nothing_is_lost_of_it() -> None:
    base = with_program(next(lab09_e2.scenarios(1)), naive(max_block_ms=60_000))
    orders = [[order, False] for order, _ in base.programs[0].args["orders"]]
    late = replace(base, programs=(replace(base.programs[0], args={"orders": orders}),))
    assert lab09_e2.audit(ran(late)) is None
    broken = lab09_e2.audit(ran(late.with_faults(Delay("EndTxn#1", 31_000))))
    assert broken is not None
    assert (broken.miss, broken.says.endswith("two decisions for one order.")) == ("torn", True)


def test_the_broker_that_crashes_is_the_coordinator() -> None:
    calm = Cluster(with_program(next(lab09_e2.scenarios(1)), in_doubt()))
    asked = [f for f in calm.run().frames.values() if f.name == "EndTxn"]
    assert {f.receiver for f in asked} == {lab09_e2.coordinator()}


@pytest.mark.parametrize("answer", [..., None])
def test_a_blank_shop_is_called_blank(answer: Any) -> None:
    assert "still blank" in str(catch_wrong_answer("L9.E2", answer))

    async def nothing(app: Any, orders: Any) -> None: ...

    assert "still blank" in str(catch_wrong_answer("L9.E2", nothing))


def test_a_function_that_is_not_async_is_refused() -> None:
    with pytest.raises(WrongType, match="async def"):
        check("L9.E2", lambda app, orders: None)


# exercise 3


def test_the_claims_are_what_the_runs_say() -> None:
    assert {n: claim.truth for n, claim in enumerate(lab09_e3.CLAIMS, 1)} == CLAIMS
    assert check("L9.E3", CLAIMS) == "L9.E3 ✓ 10 of 10 claims"


@pytest.mark.parametrize("number", CLAIMS)
@pytest.mark.parametrize("word", lab09_e3.WORDS)
def test_every_wrong_word_is_found_and_has_its_hint(number: int, word: str) -> None:
    if word == CLAIMS[number]:
        return
    told = tell("L9.E3", number, word)
    assert f"claim {number}, " in told.refutes
    assert told.belief in lab09_e3.EXERCISE.misses
    assert (told.run is not None) is (CLAIMS[number] == "refuted")


@pytest.mark.parametrize(("number", "node"), [(9, "b3"), (10, "b3")])
def test_what_refutes_a_claim_opens_where_it_shows(number: int, node: str) -> None:
    fact = lab09_e3.facts()[number - 1]
    assert fact.run is not None
    assert fact.step is not None
    run = ran(fact.run())  # type: ignore[arg-type]
    assert run.trace.events[fact.step(run)].node == node


def test_a_claim_is_shown_only_by_a_search_that_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab09_e3, "_v2", lambda: lab09("4.x/TV1"))
    claim = replace(lab09_e3.CLAIMS[1], scenario=lab09_e3._v2)
    assert (claim.covered, claim.truth) == (False, "open")


# the sessions of real clients


@pytest.mark.parametrize(("kept", "saved"), [("librdkafka", "torn_for_real"), ("java", "torn_for_real_java")])
def test_the_sessions_of_the_lab_are_those_of_data(kept: str, saved: str, root: Path) -> None:
    here = json.loads((root / "kafkalab" / "course" / "lab09" / f"{kept}.json").read_text(encoding="utf-8"))
    assert here == json.loads((root / "data" / f"{saved}.klab").read_text(encoding="utf-8"))
    assert Scenario.from_json(here) == Scenario.load(root / "data" / f"{saved}.klab")


def test_the_session_that_lost_half_of_an_order_is_librdkafkas_on_a_cluster_of_level_2() -> None:
    session = lost_session()
    run = ran(session)
    assert session.profile == "4.x/TV2"
    assert run.outcome().committed == {"out-0": ("tea",), "out-1": ("tea", "pot")}
    assert {f.version for f in run.trace.frames.values() if f.name == "EndTxn"} == {1}
    assert lab09_e4.decides(run) == "EndTxn#2"


# the worked example before exercise 2


async def fill_in(app: Any, name: str = "shop-0") -> None:
    producer = app.producer(transactional_id="shop-0", max_block_ms=20_000)
    await producer.init_transactions()
    try:
        await one_order(app, producer, "tea", False)
    except KafkaTimeoutError:
        await producer.close(timeout_ms=0)
        producer = app.producer(transactional_id=name)
        await producer.init_transactions()
        if "tea" not in await lab09_e4.list_booked(app):
            await one_order(app, producer, "tea", False)


async def fill_in_another_name(app: Any) -> None:
    await fill_in(app, "shop-1")


async def leave_blank(app: Any) -> None:
    producer = app.producer(transactional_id="shop-0", max_block_ms=20_000)
    await producer.init_transactions()
    try:
        await one_order(app, producer, "tea", False)
    except KafkaTimeoutError:
        await producer.close(timeout_ms=0)
        if "tea" not in await lab09_e4.list_booked(app):
            await one_order(app, producer, "tea", False)


def test_the_worked_example_says_what_its_two_lines_do() -> None:
    assert str(show_runs(fill_in)).endswith("✓ right")
    assert str(show_runs(fill_in)).count("1 payment, 1 delivery") == len(FAULTS)
    blank = str(show_runs(leave_blank))
    assert "EndTxn#1 is lost    IllegalStateError: Cannot perform operation after producer has been closed" in blank
    assert blank.endswith("Not yet.")
    assert "EndTxn#1 is late    2 payments, 2 deliveries" in str(show_runs(fill_in_another_name))


# exercise 4


async def new_each_time(app: Any, orders: Any) -> None:
    for order, cancelled in orders:
        while order not in await lab09_e4.list_booked(app):
            producer = await lab09_e4.start_producer(app)
            try:
                await one_order(app, producer, order, cancelled)
                break
            except KafkaError:
                await producer.close(timeout_ms=0)


def of_client(frame: str = "EndTxn#2", program: Any = new_each_time) -> dict[str, Any]:
    return {"frame": frame, "program": program}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_frame_and_either_repair_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    said = "L9.E4 ✓ EndTxn#2 decides; 12 of 12 schedules"
    assert check("L9.E4", of_client()) == said
    monkeypatch.setitem(lab09_e4.SETTINGS, "max_block_ms", 20_000)
    assert check("L9.E4", of_client(program=lab09_e4.bill)) == said


@pytest.mark.parametrize(
    ("answer", "miss", "part"),
    [
        (of_client("EndTxn#3"), "another EndTxn", 0),
        (of_client("WriteTxnMarkers#5"), "the effect", 0),
        (of_client("Produce#1"), "", 0),
        (of_client(program=lab09_e4.bill), "torn", 0.5 + 7 / 24),
    ],
)
def test_a_wrong_frame_and_the_old_program_are_told_so(answer: dict[str, Any], miss: str, part: float) -> None:
    with pytest.raises(WrongAnswer) as caught:
        lab09_e4.check(answer)
    assert (caught.value.miss, round(caught.value.part, 4)) == (miss, round(part, 4))
    assert caught.value.run is not None
    assert caught.value.step >= 0


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (of_client("", lab09_e4.bill), BlankAnswer, "still blank"),
        (of_client(""), WrongAnswer, "The frame is still blank"),
        (of_client("EndTxn#99"), WrongValue, "no frame 'EndTxn#99'"),
        ("EndTxn#2", WrongType, "Give a dict"),
        (of_client(program="bill"), WrongType, "your bill"),
    ],
)
def test_an_answer_of_another_form_is_told_so(answer: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        lab09_e4.check(answer)


# exercise 5


def plan(services: list[dict[str, Any]]) -> dict[str, str]:
    found = {}
    for service in services:
        old = service["version"] < (4, 0)
        found[service["name"]] = "new producers" if service["library"] != "Java" else "new client" if old else "nothing"
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_the_plan_is_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L9.E5", as_learner(plan)) == "L9.E5 ✓ 12 of 12 cases"


@pytest.mark.parametrize("seed", range(1, 4))
def test_the_level_protects_a_client_of_protocol_2_and_a_new_producer_each_time_the_other(seed: int) -> None:
    torn = {(speaks, apart): lab09_e5.find_torn(speaks, apart, seed) for speaks in (1, 2) for apart in (False, True)}
    assert [pair for pair, found in torn.items() if found] == [(1, False)]
    for scenario in lab09_e5.scenarios(2, False, seed):
        assert ran(scenario).unused_faults == ()


@pytest.mark.parametrize("mutant", lab09_e5.MUTANTS, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_belief_about_the_upgrade_is_named_and_opens_a_torn_run(
    mutant: Any, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer("L9.E5", mutant.function)
    assert error.miss == mutant.name


def test_a_plan_that_is_still_blank_is_told_so() -> None:
    assert "still blank" in str(catch_wrong_answer("L9.E5", lambda services: ...))
