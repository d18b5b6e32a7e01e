"""What lab 7 says of its runs is so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab.course.lab07.clocks import clocks
from kafkalab.course.lab07.scenario import crashed_counter, idle_for, lab07, ninety_seconds
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.protocol.rules import TIMEOUT_ABORT
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.trace import Trace

LAB = read(Path(__file__).resolve().parents[2] / SOLUTIONS / "07_timeouts.ipynb")
OLD, NEW = "4.x/TV1", "4.x/TV2"
SHELF = ("A top", "A bottom")


def read_printed(cell: str) -> list[str]:
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    return "".join("".join(o.get("text", [])) for o in found["outputs"]).splitlines()


def read_figure(cell: str) -> list[str]:
    """The text twin of the cell's figure."""
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    return "".join(found["outputs"][0]["data"]["text/plain"]).splitlines()


def list_expired(trace: Trace) -> set[str]:
    return {e.name for e in trace.events if "expired" in e.name}


def test_its_questions_are_marked_where_they_are_answered() -> None:
    marked = [n for c in LAB["cells"] for n in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(marked) == [14, 15, 16, 22, 23]


@pytest.mark.parametrize("seed", range(1, 6))
def test_without_the_timeout_a_reader_waits_for_a_dead_counter(seed: int) -> None:
    for off, values in (((TIMEOUT_ABORT.name,), ()), ((), SHELF)):
        day = Cluster(replace(crashed_counter(seed), rules_off=off))
        day.run_for(86_400_000)
        assert (day.results, day.outcome().committed["stock-0"]) == ({"other": ["committed"]}, values)


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_coordinator_tells_nobody_and_the_next_request_is_refused(seed: int) -> None:
    cluster = ran(lab07(seed=seed))
    abort = next(e for e in cluster.trace.of("state", "transaction") if e.data["state"] == "PrepareAbort")
    assert abort.at_ms > 65_000
    to_counter = [f for f in cluster.trace.frames.values() if f.receiver == "counter" and f.sent_ms >= abort.at_ms]
    assert to_counter[0].sent_ms > 76_000
    assert cluster.trace.frames["ProduceResponse#2"].error == "INVALID_PRODUCER_EPOCH"
    assert cluster.outcome().committed["stock-0"] == SHELF


@pytest.mark.parametrize("seed", range(1, 6))
def test_version_1_is_done_and_version_2_goes_on(seed: int) -> None:
    assert ran(lab07(seed, OLD)).results["counter"][-1] == "abort_transaction: ProducerFencedError"
    assert ran(lab07(seed, NEW)).results["counter"][-1] == "committed"


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_jump_of_the_clocks_is_noticed_at_the_commit(seed: int) -> None:
    ends = {how: ran(ninety_seconds(how, seed)).results["counter"] for how in ("slow", "long GC", "jump")}
    assert ends["slow"] == ends["long GC"] == ["send: InvalidProducerEpochError", "committed"]
    assert ends["jump"] == ["commit_transaction: InvalidTxnStateError", "abort_transaction: KafkaError"]


def test_how_the_ninety_seconds_pass_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="slow, long GC, jump"):
        ninety_seconds("nap")


def test_a_timeout_above_the_brokers_maximum_is_refused() -> None:
    assert read_printed("limit") == [
        "900000 of 900000 ['committed']",
        "3600000 of 900000 ['init_transactions: KafkaError']",
        "3600000 of 3600000 ['committed']",
    ]


def test_each_clock_strikes_when_it_should() -> None:
    (part,) = clocks().parts
    struck = {lane.name: lane.bars[0] for lane in part.lanes}
    assert str(clocks()).splitlines() == read_figure("clocks")
    assert all(bar.limit_ms <= bar.end_ms <= bar.limit_ms + 11_000 for bar in struck.values())
    assert [n for n, bar in struck.items() if bar.end_ms > bar.limit_ms + 1_000] == ["transaction.timeout.ms"]
    assert [bar.end_ms for bar in struck.values()] == sorted(bar.end_ms for bar in struck.values())


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("profile", [OLD, NEW])
def test_a_day_is_nothing_and_a_week_is_too_much(seed: int, profile: str) -> None:
    for days in (2, 6):
        cluster = ran(idle_for(days, seed, profile))
        assert cluster.results["counter"] == ["committed"]
        assert list_expired(cluster.trace) == {"producer ids expired"}
    cluster = ran(idle_for(8, seed, profile))
    assert cluster.results["counter"] == ["send: InvalidPidMappingError"]
    assert "transactional id expired" in list_expired(cluster.trace)
    assert ran(idle_for(8, seed, profile, keep_days=30)).results["counter"] == ["committed"]


@pytest.mark.parametrize("seed", range(1, 6))
def test_only_a_new_producer_ends_the_loop(seed: int) -> None:
    ends = {remedy: ran(idle_for(8, seed, remedy=remedy)) for remedy in ("retry", "abort", "recreate")}
    assert [c.results["counter"][-1] for c in ends.values()] == [
        "send: KafkaError", "abort_transaction: KafkaError", "committed",
    ]  # fmt: skip
    assert ends["recreate"].trace.frames["InitProducerIdResponse#2"].body.producer_id != 1000
