"""Windows: a thread of a broker stands still between two steps, only where a Stall demands it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab import Crash, Drop, Duplicate, Scenario, Stall
from kafkalab.explore.fault_sequence import KINDS
from kafkalab.explore.search import explore
from kafkalab.explore.small_programs import next_transaction_in_small
from kafkalab.faults.registry import TYPES, fault_of_words
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.rules import WATERMARK_ONCE
from kafkalab.protocol.windows import WINDOWS
from kafkalab.reference.bug import FOLDER
from kafkalab.sim.cluster import ran
from kafkalab.trace import Event, Trace

WITH_STALLS = (*KINDS, "stall")
MOST_RUNS = 12_000


def load(root: Path, name: str) -> Scenario:
    return Scenario.load(root / FOLDER / name)


def windows(trace: Trace) -> list[Event]:
    return [event for event in trace.events if event.name in ("window opens", "window closes")]


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_is_in_the_handling_of_a_request_and_has_rules_without_which_it_does_harm(name: str) -> None:
    window = WINDOWS[name]
    assert window.api in BY_NAME
    assert window.rules
    assert all((window.between, window.may_come, window.source))


def test_a_thread_stands_still_while_others_come_in(root: Path) -> None:
    trace = ran(load(root, "kafka_9807.klab")).trace
    opens, closes = windows(trace)
    assert (opens.name, closes.name, closes.cause) == ("window opens", "window closes", opens.step)
    assert closes.at_ms - opens.at_ms == 30
    between = trace.events[opens.step + 1 : closes.step]
    assert "watermark" in [event.name for event in between if event.node == opens.node]
    assert trace.frames["Fetch#1"].received_step == opens.cause


def test_without_a_stall_there_is_no_window(root: Path) -> None:
    scenario = load(root, "kafka_9807.klab")
    without_rule = replace(scenario, faults=(), rules_off=(WATERMARK_ONCE.name,))
    assert not windows(ran(without_rule).trace)
    assert ran(without_rule).trace.digest() == ran(replace(scenario, faults=())).trace.digest()


def test_a_request_that_arrives_twice_is_stalled_once(root: Path) -> None:
    cluster = ran(load(root, "kafka_9807.klab").with_faults(Duplicate("Fetch#1")))
    assert len(windows(cluster.trace)) == 2
    assert not cluster.unused_faults


def test_a_crash_ends_the_thread(root: Path) -> None:
    scenario = load(root, "kafka_9807.klab")
    opens, _ = windows(ran(scenario).trace)
    cluster = ran(scenario.with_faults(Crash(opens.node, at_step=opens.step)))
    assert [event.name for event in windows(cluster.trace)] == ["window opens"]


@pytest.mark.parametrize("more", [Drop("Fetch#1"), None])
def test_a_stall_whose_window_is_not_met_is_unused(root: Path, more: Drop | None) -> None:
    scenario = load(root, "kafka_9807.klab")
    stall = Stall("Fetch#1" if more else "Fetch#99", "fetch-bound", 30)
    cluster = ran(replace(scenario, faults=(more, stall) if more else (stall,)))
    assert stall in cluster.unused_faults
    assert not windows(cluster.trace)


@pytest.mark.parametrize(
    ("stall", "message"),
    [
        (("Fetch#1", "fetch-bond"), "no window is called 'fetch-bond'.*did you mean fetch-bound"),
        (("EndTxn#1", "fetch-bound"), "the window fetch-bound is in the handling of Fetch, not of 'EndTxn'"),
        (("FetchResponse#1", "fetch-bound"), "not of 'FetchResponse'"),
        (("Fetch#1", "fetch-bound", 0), "stall_ms is a number of milliseconds from 1 on"),
    ],
)
def test_a_stall_that_cannot_be_is_refused(stall: tuple[str, str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scenario(topics={"out": 1}, faults=(Stall(*stall),))


def test_a_command_line_names_a_stall_also_by_its_client() -> None:
    read = fault_of_words("Stall:reader:Fetch#1:fetch-bound:30", TYPES.values(), "…")
    assert read == Stall("reader:Fetch#1", "fetch-bound", 30)


def test_a_search_finds_the_fetch_that_reads_the_high_watermark_twice() -> None:
    found = explore(next_transaction_in_small(), "G1a", [WATERMARK_ONCE.name], 2, runs=MOST_RUNS, kinds=WITH_STALLS)
    (sequence,) = found.sequences
    assert [type(fault) for fault in sequence.faults] == [Stall]


def test_a_search_finds_nothing_there_with_the_rule_on() -> None:
    result = explore(next_transaction_in_small(), "G1a", (), 1, runs=MOST_RUNS, kinds=("stall",))
    assert result.verdict == "none"
