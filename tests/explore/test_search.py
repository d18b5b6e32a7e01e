"""The search finds the fewest faults, gives the same result every time, and says what it covered."""

from __future__ import annotations

import gc
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from kafkalab.checks.all import check_all
from kafkalab.client.exceptions import KafkaError
from kafkalab.explore.anomalies import FAILED, STUCK, parse_names
from kafkalab.explore.experiment import Job, attempt
from kafkalab.explore.programs import idempotent_produce
from kafkalab.explore.result import Coverage
from kafkalab.explore.search import explore
from kafkalab.faults.frame import Delay, Drop
from kafkalab.history.export import history_of
from kafkalab.protocol import rules
from kafkalab.reference.rule_matrix import scenario_of
from kafkalab.sim.app import App
from kafkalab.sim.cluster import ran
from kafkalab.sim.kernel.kernel import no_collections
from kafkalab.sim.scenario import Program, Scenario

OFF = [rules.DEDUPLICATION.name]


def one_send() -> Scenario:
    """A producer that sends one record."""
    program = Program("p", "operations", {"steps": [["send", "out", "x"], ["flush"]]})
    return Scenario(title="one record", topics={"out": 1}, programs=(program,))


def test_a_duplicate_needs_one_fault_and_its_scenario_shows_it() -> None:
    found = explore(one_send(), "duplicate", OFF, most_faults=1)
    assert (found.verdict, found.size) == ("found", 1)
    assert found.found is not None
    assert "duplicate" in check_all(history_of(ran(found.found))).violated
    assert check_all(history_of(ran(replace(found.found, rules_off=())))).violated == ()
    assert found.step == max(found.findings[0].steps)


def test_a_run_leaves_little_to_the_garbage_collector() -> None:
    attempt(Job(scenario=one_send(), find=parse_names(())))
    gc.collect()
    with no_collections():
        attempt(Job(scenario=one_send(), find=parse_names(())))
        assert gc.collect() < 400  # without `discard` there are 675


def test_a_saved_find_runs_again_with_the_same_digest(tmp_path: Path) -> None:
    found = explore(one_send(), "duplicate", OFF, most_faults=1)
    assert found.found is not None
    found.found.save(tmp_path / "found.klab")
    assert ran(Scenario.load(tmp_path / "found.klab")).trace.digest() == found.cluster.trace.digest()


def test_with_all_rules_on_one_fault_breaks_nothing() -> None:
    found = explore(one_send(), most_faults=1)
    assert found.verdict == "none"
    assert "a forbidden anomaly never shows with at most 1 fault of the kinds drop, late" in str(found)
    assert found.covered.tried[1] > 40
    assert found.covered.futures < found.covered.runs


@pytest.mark.parametrize("engine", ["lineage", "random", "informed"])
def test_readers_that_come_after_the_run_are_not_struck(engine: str) -> None:
    found = explore(one_send(), most_faults=1, engine=engine, runs=60, read=True)
    assert found.verdict in ("none", "unknown")
    struck = explore(one_send(), "duplicate", OFF, 1, engine=engine, read=True)
    assert struck.verdict == "found"


def test_the_bound_counts_faults_and_kinds() -> None:
    assert explore(one_send(), "duplicate", OFF, most_faults=0).verdict == "none"
    assert explore(one_send(), "duplicate", OFF, most_faults=1, kinds=("upgrade",)).verdict == "none"


def test_two_faults_are_found_where_one_is_not_enough() -> None:
    scenario = scenario_of(rules.STATE_OUTLIVES_DATA, Path(__file__).parents[2])
    bare = replace(scenario, faults=())
    off = [rules.STATE_OUTLIVES_DATA.name]
    assert explore(bare, "duplicate", off, 1, kinds=("drop", "delete")).verdict == "none"
    found = explore(bare, "duplicate", off, 2, kinds=("drop", "delete"))
    assert (found.verdict, found.size) == ("found", 2)


def test_the_same_search_gives_the_same_result_in_any_number_of_processes() -> None:
    alone = explore(idempotent_produce(), "sequence gap", [rules.SEQUENCE_GAPS.name], 1)
    with get_context("spawn").Pool(2) as pool:
        shared = explore(idempotent_produce(), "sequence gap", [rules.SEQUENCE_GAPS.name], 1, mapper=pool.imap)
    assert alone.found is not None
    assert (str(alone), alone.found) == (str(shared), shared.found)


def test_a_frame_that_may_be_late_but_not_lost_is_late_enough_to_be_sent_again() -> None:
    found = explore(one_send(), "duplicate", OFF, 1, kinds=("late",))
    assert found.verdict == "found"
    assert isinstance(found.faults[0], Delay)


def test_a_budget_that_is_used_up_is_no_proof() -> None:
    found = explore(one_send(), most_faults=1, runs=20)
    assert found.verdict == "unknown"
    assert "the budget of 20 runs was used up" in str(found)
    assert found.covered.open[1] > 0


def test_a_search_can_be_stopped_and_keeps_what_it_covered() -> None:
    def stop(covered: Coverage) -> str:
        return "enough" if covered.runs >= 10 else ""

    found = explore(one_send(), most_faults=1, stop=stop)
    assert (found.verdict, found.stopped, found.covered.runs) == ("unknown", "enough", 10)


@pytest.mark.parametrize("engine", ["lineage", "random", "informed"])
def test_an_interrupt_keeps_what_was_covered(engine: str) -> None:
    def stop(covered: Coverage) -> str:
        if covered.runs >= 10:
            raise KeyboardInterrupt
        return ""

    found = explore(one_send(), most_faults=1, engine=engine, stop=stop)
    assert (found.verdict, found.stopped, found.covered.runs) == ("unknown", "it was interrupted", 10)


@pytest.mark.parametrize("engine", ["random", "informed"])
def test_what_draws_finds_it_too_and_draws_the_same_for_a_seed(engine: str) -> None:
    first = explore(one_send(), "duplicate", OFF, 1, engine=engine, seed=3)
    again = explore(one_send(), "duplicate", OFF, 1, engine=engine, seed=3)
    other = explore(one_send(), "duplicate", OFF, 1, engine=engine, seed=4)
    assert first.verdict == "found"
    assert (str(first), first.found) == (str(again), again.found)
    assert other.covered.runs != first.covered.runs or other.found != first.found


def test_the_informed_engine_needs_fewer_draws() -> None:
    def draws(engine: str) -> int:
        return sum(explore(one_send(), "duplicate", OFF, 1, engine=engine, seed=n).covered.runs for n in range(1, 7))

    assert 1.5 * draws("informed") < draws("random")


async def waits_for_ever(app: App) -> None:
    """Poll a topic that stays empty."""
    consumer = app.consumer(group_id="g", auto_offset_reset="earliest")
    consumer.assign(["out-0"])
    while not await consumer.poll(500):
        pass


async def divides_by_zero(app: App) -> float:
    """Raise an error that is none of Kafka's."""
    await app.sleep(1)
    return 1 / 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"find": "duplicates"}, "no anomaly is called 'duplicates'; did you mean 'duplicate'?"),
        ({"rules_off": ["dedup"]}, "no rule 'dedup'"),
        ({"kinds": ("dorp",)}, "no kind of fault is called 'dorp'; there are drop, late"),
        ({"engine": "brute"}, "engine is lineage, random or informed, not 'brute'"),
        ({"most_faults": -1}, "most_faults is a number from 0 to 9, not -1"),
    ],
)
def test_a_name_that_does_not_exist_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        explore(one_send(), **change)  # type: ignore[arg-type]


def test_a_program_that_does_not_end_is_refused_unless_that_is_looked_for() -> None:
    endless = Scenario(title="endless", topics={"out": 1}, programs=(Program("c", waits_for_ever),))
    with pytest.raises(ValueError, match="'endless' does not end without any fault: a program waits for ever"):
        explore(endless, "duplicate")
    with pytest.raises(ValueError, match=f"shows {STUCK} already"):
        explore(endless, STUCK)


def test_a_program_that_raises_is_refused() -> None:
    broken = Scenario(title="broken", topics={"out": 1}, programs=(Program("c", divides_by_zero),))
    with pytest.raises(ValueError, match="raises without any fault: ZeroDivisionError"):
        explore(broken, "duplicate")


def test_a_scenario_that_is_broken_already_is_refused() -> None:
    scenario = replace(one_send(), rules_off=tuple(OFF), faults=(Drop("ProduceResponse#1"),))
    with pytest.raises(ValueError, match="shows duplicate already, without any more fault"):
        explore(scenario)


async def gives_up_after_a_second(app: App) -> None:
    """Copy the records of one partition, each within a second or not at all."""
    consumer = app.consumer(group_id="g", auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.assign(["in-0"])
    producer = app.producer(request_timeout_ms=900, delivery_timeout_ms=1_000, linger_ms=0)
    while not (records := await consumer.poll(500)):
        pass
    for record in records:
        await (await producer.send("out", record.value, partition=0))


def test_a_program_of_ones_own_is_searched_as_it_is() -> None:
    found = explore(gives_up_after_a_second, FAILED, most_faults=1, kinds=("drop",))
    assert (found.verdict, found.size) == ("found", 1)
    assert "This is failed program: the program of app ended with" in found.explanation
    assert (found.find, found.findings[0].anomaly) == ((FAILED,), FAILED)
    with pytest.raises(TypeError, match="explore takes a Scenario or a program"):
        explore("my_program")  # type: ignore[arg-type]


def test_a_failed_program_can_be_that_of_one_exception() -> None:
    """The program's own timeout comes with any lost request; another exception does not."""
    of = {name: explore(gives_up_after_a_second, f"{FAILED}: {name}", most_faults=1, kinds=("drop",), runs=30)
          for name in ("KafkaTimeoutError", "REQUEST_TIMED_OUT", "ProducerFencedError")}  # fmt: skip
    assert {name: found.verdict == "found" for name, found in of.items()} == {
        "KafkaTimeoutError": True, "REQUEST_TIMED_OUT": True, "ProducerFencedError": False,
    }  # fmt: skip
    assert "KafkaTimeoutError" in of["KafkaTimeoutError"].findings[0].text


async def raises_in_vain(app: App) -> None:
    """Raise KeyError where a send fails."""
    producer = app.producer(request_timeout_ms=900, delivery_timeout_ms=1_000, linger_ms=0)
    try:
        await (await producer.send("out", "x", partition=0))
    except KafkaError:
        raise KeyError("x") from None


@pytest.mark.parametrize(("name", "verdict"), [("KeyError", "found"), ("IndexError", "none")])
def test_an_exception_of_pythons_can_be_named_too(name: str, verdict: str) -> None:
    assert explore(raises_in_vain, f"{FAILED}:{name}", most_faults=1, kinds=("drop",), runs=60).verdict == verdict


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ProducerFencedErr", "did you mean 'ProducerFencedError'"),
        ("TimeoutException!", "no exception is called 'TimeoutException!'"),
        ("", "as in 'failed program: ProducerFencedError'"),
    ],
)
def test_an_exception_that_does_not_exist_is_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        explore(gives_up_after_a_second, f"{FAILED}: {name}")


async def sends_without_idempotence(app: App) -> None:
    """Send one record by a producer without a producer id."""
    await (await app.producer(enable_idempotence=False).send("out", "x", partition=0))


def test_a_search_without_faults_names_what_is_allowed() -> None:
    """A record that is sent again without idempotence is there twice, and Kafka allows it."""
    program = Program("p", sends_without_idempotence)
    twice = replace(one_send(), programs=(program,), faults=(Drop("ProduceResponse#1"),))
    found = explore(twice, "duplicate", most_faults=0)
    assert (found.verdict, [f.anomaly for f in found.allowed]) == ("none", ["duplicate"])
    assert "\nduplicate, which is allowed: " in str(found)
    assert found.as_json()["allowed"] == ["duplicate"]
    assert explore(one_send(), "duplicate", most_faults=0).allowed == ()
