"""Lab 10's exercises: a packing loop to repair, where a consumer reads on after an abort, a zombie's parcels."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from kafkalab.checks.all import check_all
from kafkalab.checks.check import VIOLATED
from kafkalab.client.exceptions import IllegalStateError, KafkaError
from kafkalab.client.results import GroupMetadata
from kafkalab.course.lab10 import exercise_1 as lab10_e1
from kafkalab.course.lab10 import exercise_2 as lab10_e2
from kafkalab.course.lab10 import exercise_3 as lab10_e3
from kafkalab.course.lab10 import exercise_4 as lab10_e4
from kafkalab.course.lab10.scenario import aiokafka_session, librdkafka_session
from kafkalab.explore.search import explore
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.check import check, hint
from kafkalab.grading.counterexamples import picture
from kafkalab.grading.exercise import WrongAnswer, WrongType, WrongValue
from kafkalab.grading.schedules import with_program
from kafkalab.grading.seeds import VARIABLE
from kafkalab.history.export import history_of
from kafkalab.protocol.rules import GENERATION_CHECK
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.findings import report_of
from tests.grading.told import catch_wrong_answer, tell

SEEDS = ("1", "2026")
FEW = 32
pytestmark = pytest.mark.usefixtures("no_hints_given")
RIGHT_2 = dict(
    enumerate(
        ("unchanged", "unchanged", "rewind", "rewind", "further", "rewind", "unchanged", "unchanged", "unchanged",
         "rewind"), 1,
    )
)  # fmt: skip
ASLEEP: list[Fault] = [Pause("anna", at_ms=4_000), Resume("anna", at_ms=55_000)]
READS = {"group_id": "packers", "auto_offset_reset": "earliest", "session_timeout_ms": 10_000}
Loop = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer schedules than a learner's check runs."""
    monkeypatch.setattr(lab10_e1, "SCHEDULES", FEW)


def loop(
    isolation: str = "read_committed",
    automatic: bool = False,
    sync: bool = False,
    named: bool = True,
    behind: int = 1,
    back: str = "committed",
    stops: bool = False,
    raises: type[Exception] | None = None,
) -> Loop:
    """The loop repaired, but for what is given."""

    async def packer(app: Any, name: str, start_ms: int, stop_ms: int) -> None:
        await app.sleep(start_ms)
        times = {"request_timeout_ms": 2_000, "delivery_timeout_ms": 4_000, "transaction_timeout_ms": 4_200}
        producer = app.producer(transactional_id=name, linger_ms=0, **times)
        await producer.init_transactions()
        consumer = app.consumer(**READS, isolation_level=isolation, enable_auto_commit=automatic)
        consumer.subscribe(["orders"])
        while app.now < stop_ms:
            orders = await consumer.poll()
            if not orders:
                continue
            if stops:
                raise IllegalStateError("no paper")
            try:
                producer.begin_transaction()
                for order in orders:
                    await app.sleep(150)
                    await producer.send("parcels", order.value, partition=0, headers=made_from(order))
                if raises:
                    raise raises("no paper")
                if sync:
                    await consumer.commit_sync()
                else:
                    member = consumer.group_metadata() if named else GroupMetadata("packers")
                    offsets = {order.partition: order.offset + behind for order in orders}
                    await producer.send_offsets_to_transaction(offsets, member)
                await producer.commit_transaction()
            except KafkaError:
                await producer.abort_transaction()
                if back == "committed":
                    for partition, offset in (await consumer.committed(consumer.assignment())).items():
                        consumer.seek(partition, max(offset, 0))
                elif back == "the start":
                    for partition in consumer.assignment():
                        consumer.seek(partition, 0)
        await consumer.close()

    return packer


def catch_error(check: Callable[[Any], str], answer: Any) -> WrongAnswer:
    """The exercise's own error, which has the step that decides."""
    with pytest.raises(WrongAnswer) as caught:
        check(answer)
    return caught.value


@pytest.mark.parametrize("seed", SEEDS)
def test_the_solutions_are_right_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L10.E1", loop()) == f"L10.E1 ✓ {FEW} of {FEW} schedules"
    assert check("L10.E2", RIGHT_2) == "L10.E2 ✓ 10 of 10 rows"
    assert check("L10.E3", ASLEEP) == "L10.E3 ✓ 2 presses, the fewest there are"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("mutant", "miss", "says"),
    [
        ({"isolation": "read_uncommitted"}, "undecided", "was aborted by the shop, and has a parcel"),
        ({"behind": 0}, "at the last", "has 2 parcels"),
        ({"named": False}, "nobody", "has 2 parcels"),
        ({"back": "not at all"}, "no rewind", "nobody will read it again"),
        ({"back": "the start"}, "twice", "has 2 parcels"),
        ({"sync": True}, "outside", "has committed offsets outside of its transaction"),
        ({"automatic": True}, "outside", "has committed offsets outside of its transaction"),
    ],
    ids=lambda value: "_".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_every_mistake_is_found_and_opens_at_its_step(
    mutant: dict[str, Any], miss: str, says: str, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    found = catch_error(lab10_e1.check, loop(**mutant))
    assert found.miss == miss
    assert says in str(found)
    assert miss in lab10_e1.EXERCISE.misses
    assert isinstance(found.run, Cluster)
    assert 0 < found.step < found.run.trace.steps


def test_the_run_that_is_shown_breaks_a_promise_and_opens_where_it_does() -> None:
    found = catch_wrong_answer("L10.E1", loop(named=False))
    assert isinstance(found.run, Cluster)
    assert report_of(found.run)["verdict"] == VIOLATED
    step = catch_error(lab10_e1.check, loop(named=False)).step
    assert picture(found.run, step).step == step
    assert "which member sends them" in hint("L10.E1")


def test_a_loop_that_an_error_leaves_is_told_which() -> None:
    found = catch_wrong_answer("L10.E1", loop(stops=True))
    assert found.miss == "stops"
    assert "was stopped by IllegalStateError: no paper" in str(found)


def test_of_two_mistakes_the_one_that_the_run_shows_is_told() -> None:
    assert catch_wrong_answer("L10.E1", loop(named=False, back="not at all")).miss in ("no rewind", "nobody")
    lost = catch_error(lab10_e1.check, loop(named=False, back="not at all"))
    assert ("has no parcel" in str(lost)) == (lost.miss == "no rewind")


def test_another_error_of_the_program_is_told_as_it_is() -> None:
    assert "Your program stops with ValueError: no paper" in str(catch_wrong_answer("L10.E1", loop(raises=ValueError)))


def test_the_loop_as_it_comes_is_a_blank_form() -> None:
    with pytest.raises(WrongAnswer, match="still blank"):
        check("L10.E1", lab10_e1.careless)


@pytest.mark.parametrize("answer", ["packer", 7, lambda: None])
def test_what_is_no_async_function_is_told_so(answer: Any) -> None:
    with pytest.raises(WrongType):
        check("L10.E1", answer)


# exercise 2


@pytest.mark.parametrize("number", RIGHT_2)
@pytest.mark.parametrize("word", lab10_e2.WORDS)
def test_every_wrong_word_is_found_with_its_run(number: int, word: str) -> None:
    if word == RIGHT_2[number]:
        return
    found = tell("L10.E2", number, word)
    assert f"row {number}, " in found.refutes
    polls = [e.step for e in ran(found.run).trace.of("complete", "poll") if e.data["records"]]  # type: ignore[arg-type]
    assert found.step == polls[-1]


@pytest.mark.parametrize(
    ("number", "word", "miss"),
    [
        (1, "rewind", "the abort rewinds"),
        (2, "rewind", "the abort rewinds"),
        (3, "unchanged", "pending counts"),
        (4, "further", "committed is far back"),
        (5, "rewind", "the beginning is what is committed"),
        (6, "unchanged", "positions outlive consumers"),
        (7, "rewind", "automatic commits know of aborts"),
        (8, "rewind", "commit_sync is in the transaction"),
        (9, "rewind", "the abort rewinds"),
        (10, "unchanged", "positions outlive consumers"),
    ],
)
def test_a_misconception_picks_its_hint(number: int, word: str, miss: str) -> None:
    assert tell("L10.E2", number, word).belief == miss
    assert miss in lab10_e2.EXERCISE.misses


# exercise 3


@pytest.mark.parametrize(
    ("presses", "miss", "says"),
    [
        ([Pause("anna", at_ms=12_000), Resume("anna", at_ms=55_000)], "nobody slept", "had committed before"),
        ([Pause("anna", at_ms=6_000), Resume("anna", at_ms=55_000)], "pending", "her offsets were sent already"),
        ([Crash("anna", at_ms=4_000)], "never wakes", "never wakes up"),
        ([Pause("anna", at_ms=4_000), Resume("anna", at_ms=30_000)], "still a member", "nothing left to pack"),
        ([Pause("anna", at_ms=4_000), Resume("anna", at_ms=75_000)], "too late", "had been aborted by then"),
        ([Pause("anna", at_ms=4_000)], "does not end", "does not end"),
        ([*ASLEEP, Crash("b2", at_ms=90_000)], "too many", "Can you do it with 2"),
        ([], "", "still blank"),
    ],
)
def test_presses_that_miss_are_told_what_this_run_shows(presses: list[Any], miss: str, says: str) -> None:
    found = catch_wrong_answer("L10.E3", presses)
    assert (found.miss, says in str(found)) == (miss, True), str(found)
    assert miss in ("", "too many") or miss in lab10_e3.EXERCISE.misses


def test_a_jump_of_the_clock_may_not_be_pressed() -> None:
    with pytest.raises(WrongValue, match="may not be pressed"):
        check("L10.E3", [AdvanceClock(50_000, at_ms=4_000)])


def test_with_the_member_compared_the_same_presses_pack_once() -> None:
    assert lab10_e3.twice(ran(lab10_e3.scenario().with_faults(*ASLEEP)))
    for given in (ASLEEP, []):
        assert not lab10_e3.twice(lab10_e3.with_members(given))


@pytest.mark.campaign
def test_the_search_finds_a_zombie_with_as_many_presses_as_par_and_none_with_fewer() -> None:
    base = lab10_e3.scenario(members=True)
    kinds = ("drop", "late", "crash", "cut", "pause")
    found = explore(base, "offset/output split", [GENERATION_CHECK.name], most_faults=1, kinds=kinds)
    assert found.verdict == "found"
    assert len(found.faults) == lab10_e3.PAR
    others = explore(base, "offset/output split", [GENERATION_CHECK.name], most_faults=1, kinds=kinds[:-1])
    assert others.verdict == "none"
    assert others.covered.runs > 500


# exercise 4


async def new_each_time(app: Any, start_ms: int, count: int) -> None:
    await app.sleep(start_ms)
    consumer, orders = await lab10_e4.read_waiting(app)
    for order in orders[:count]:
        producer = app.producer(transactional_id="packer-1")
        await producer.init_transactions()
        await lab10_e4.pack_one(app, consumer, producer, order)


def of_client(frame: str = "TxnOffsetCommit#1", program: Any = new_each_time) -> dict[str, Any]:
    return {"frame": frame, "program": program}


@pytest.mark.parametrize("seed", ["1", "2026"])
def test_the_frame_and_a_producer_for_each_order_are_right(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L10.E4", of_client()) == "L10.E4 ✓ TxnOffsetCommit#1 decides; 12 of 12 schedules"


@pytest.mark.parametrize(
    ("answer", "miss", "part"),
    [
        (of_client("TxnOffsetCommit#3"), "another offset commit", 0),
        (of_client("EndTxn#2"), "the marker", 0),
        (of_client(program=lab10_e4.pack_some), "twice", 0.5 + 7 / 24),
    ],
)
def test_a_wrong_frame_and_the_old_program_are_told_so(answer: dict[str, Any], miss: str, part: float) -> None:
    with pytest.raises(WrongAnswer) as caught:
        lab10_e4.check(answer)
    assert (caught.value.miss, round(caught.value.part, 4)) == (miss, round(part, 4))
    assert caught.value.run is not None
    assert caught.value.step >= 0


def test_the_client_as_it_came_is_a_blank_answer() -> None:
    assert "still blank" in str(catch_wrong_answer("L10.E4", of_client("", lab10_e4.pack_some)))


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_only_a_client_of_protocol_1_packs_twice(profile: str) -> None:
    late = next(s for s in lab10_e4.scenarios(1) if "#1 is late by 3" in s.title and lab10_e4.audit(packed_by(s)))
    assert (lab10_e4.audit(packed_by(replace(late, profile=profile))) is None) is (profile == "4.x/TV2")


def packed_by(scenario: Scenario) -> Cluster:
    return ran(with_program(scenario, lab10_e4.pack_some))


def test_the_session_of_aiokafka_packs_an_order_twice_on_a_cluster_of_level_2() -> None:
    session = aiokafka_session()
    run = ran(session)
    assert session.profile == "4.x/TV2"
    assert run.outcome().committed["parcels-0"] == ("tea", "jam", "jam", "pot")
    assert lab10_e4.decides(run) == "TxnOffsetCommit#1"
    assert {f.version for f in run.trace.frames.values() if f.name in ("TxnOffsetCommit", "EndTxn")} == {0}


def test_the_session_of_librdkafka_loses_the_order_of_an_aborted_offset_on_a_cluster_of_level_2() -> None:
    session = librdkafka_session()
    run = ran(session)
    assert session.profile == "4.x/TV2"
    assert run.outcome().committed["parcels-0"] == ("tea", "pot")
    assert {f.version for f in run.trace.frames.values() if f.name == "TxnOffsetCommit"} == {3}
    assert {f.version for f in run.trace.frames.values() if f.name == "EndTxn"} == {1}
    assert "torn transaction" in check_all(history_of(run)).violated
