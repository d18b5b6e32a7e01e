"""The order in which faults are tried: each kind in its turn, spread over the run, what decides first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.explore.anomalies import OTHER, parse_names
from kafkalab.explore.answers import other_answers
from kafkalab.explore.candidates import _decides, _spread, sequences_after
from kafkalab.explore.experiment import Job, attempt
from kafkalab.explore.fault_sequence import KINDS, SEARCHED, FaultSequence
from kafkalab.explore.lineage import absorbed_after, endings_of
from kafkalab.explore.moments import ABSORBED, RECOVERY, Moments, repeats_in
from kafkalab.explore.programs import two_partition_transactions
from kafkalab.explore.search import explore
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.link import Cut, Heal, nodes_of
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.protocol import rules
from kafkalab.run.again import run_scenario
from kafkalab.run.run import Run
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Event, Frame

ONE = Scenario(title="one transaction", topics={"accounts": 1}, programs=(Program("app", "first_transaction"),))


@pytest.fixture(scope="module")
def run() -> Run:
    return run_scenario(ONE)


def crashes(run: Run) -> list[FaultSequence]:
    sequences, _ = sequences_after(run, run.start, ("crash",))
    return [one for one in sequences if one.rank.tier <= RECOVERY + 1]


def test_each_beginning_covers_the_whole_run() -> None:
    events = [Event(step, 0, "b1", "append", "out-0", -1, "", None) for step in range(8)]
    none: tuple[Fault, ...] = ()
    group = [(step % 4 == 3, event, none) for step, event in enumerate(events)]
    assert [event.step for _, event, _ in _spread(group)] == [3, 7, 0, 5, 2, 1, 6, 4]
    assert _spread(group[:1]) == group[:1]


def test_a_crash_is_tried_first_where_a_decision_is_written(run: Run) -> None:
    found = crashes(run)
    decides = [_decides(run.trace.events[one.step]) for one in found]
    assert decides == sorted(decides, reverse=True)
    assert 0 < decides.count(True) < len(decides)
    steps = [one.step for one in found[: decides.count(True)]]
    assert max(steps[:2]) - min(steps[:2]) > (max(steps) - min(steps)) / 3


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_faults_of_its_own(kind: str) -> None:
    """A late frame is aimed at by the run without it; alone, it is tried at a few distances."""
    old = run_scenario(two_partition_transactions("1.0"))  # its level can be raised
    found, _ = sequences_after(old, old.start, (kind,))
    assert found
    assert {one.kind for one in found} == {kind}
    assert all(SEARCHED[kind] in map(type, one.faults) for one in found)


def test_a_broker_without_the_others_is_tried_before_every_other_cut(run: Run) -> None:
    """Rank a cut that the controller does not see before the others: the broker behind it stays leader."""
    found, _ = sequences_after(run, run.start, ("cut",))
    cuts = [(one.rank.kind, fault) for one in found for fault in one.faults if isinstance(fault, Cut)]
    assert {("controller" in nodes_of(cut.b), kind) for kind, cut in cuts} == {(False, -1), (True, KINDS.index("cut"))}


def test_the_same_run_has_the_same_order(run: Run) -> None:
    again = run_scenario(ONE)
    assert sequences_after(run, run.start) == sequences_after(again, again.start)


def test_what_both_ends_of_a_late_frame_do_while_it_flies_is_tried_early() -> None:
    late = run_scenario(two_partition_transactions().with_faults(Delay("WriteTxnMarkers#1", 2_000)))
    frame, follows = late.trace.frames["WriteTxnMarkers#1"], Moments.of(late, late.start).follows
    window = late.trace.events[frame.sent_step + 1 : frame.received_step]
    here = [e for e in window if e.node in (frame.sender, frame.receiver)]
    assert len(here) > 4
    assert all(follows[e.step] for e in here)
    assert not any(follows[: frame.sent_step])
    paused = run_scenario(ONE.with_faults(Pause("app", at_ms=10), Resume("app", at_ms=5_000)))
    follows = Moments.of(paused, paused.start).follows
    after = [e for e in paused.trace.events if e.node == "app" and e.at_ms > 5_000]
    assert len(after) > 4
    assert all(follows[e.step] for e in after)


OFF = (rules.LSO_FOR_ALL.name,)


def test_another_answer_names_the_request_and_what_differs() -> None:
    scenario = two_partition_transactions("4.x/TV1")
    clean = run_scenario(scenario)
    assert other_answers(clean, run_scenario(scenario)) == ()
    old = replace(scenario, rules_off=(rules.FENCED_CODE.name, rules.BUMP_ON_INIT.name))
    (found,) = other_answers(run_scenario(old), clean)
    assert found.anomaly == OTHER
    assert found.text.startswith("q is answered otherwise to InitProducerId#2, in producer_")


def test_a_rule_that_no_check_can_see_is_found_by_the_answer() -> None:
    reader = Program(
        "r", "consumer_operations",
        {"steps": [["assign", ["out-0"]], ["poll", 200]], "isolation_level": "read_uncommitted"},
    )  # fmt: skip
    scenario = Scenario(title="a reader", topics={"out": 1}, records={"out-0": ("a",)}, programs=(reader,))
    assert explore(scenario, parse_names(()), OFF, most_faults=0).verdict == "none"
    found = explore(scenario, OTHER, OFF, most_faults=0)
    assert (found.verdict, found.size, found.covered.runs) == ("found", 0, 2)
    assert found.findings[0].text == "r is answered otherwise to Fetch#1, in partitions"
    assert "This is other answer: r is answered otherwise to Fetch#1" in found.explanation


def test_another_answer_needs_a_rule_to_compare_with() -> None:
    with pytest.raises(ValueError, match="'other answer' compares with a run that has the rules on"):
        explore(ONE, OTHER)
    assert attempt(Job(scenario=ONE, find=(OTHER,))).findings == ()


def test_a_frame_that_is_sent_again_while_nothing_changes_is_struck_once(run: Run) -> None:
    """While its leader is cut off, a producer asks for its id every 100 ms, and is answered the same."""
    side = ("b1", "b2")
    struck = run_scenario(ONE.with_faults(Cut("b3", side, at_step=run.start + 5), Heal("b3", side, at_ms=75_000)))
    asked = [e for e in struck.trace.of("send") if e.name == "InitProducerId"]
    assert len(asked) > 100
    found, left_out = sequences_after(struck, struck.start, ("drop",))
    dropped = {fault.frame for one in found for fault in one.faults if isinstance(fault, Drop)}
    assert 0 < len(dropped & {e.frame for e in asked}) < 10
    assert asked[0].frame in dropped
    assert left_out > len(asked)


@pytest.mark.parametrize(
    ("between", "fate", "repeats"),
    [
        (("receive", "Produce"), "delivered", True),
        (("timer", "request timeout"), "delivered", False),
        (("state", "watermark"), "delivered", False),
        (("receive", "Produce"), "lost", False),
    ],
)
def test_a_frame_repeats_one_if_nothing_has_happened_since(between: tuple[str, str], fate: str, repeats: bool) -> None:
    frames = [Frame(f"Produce#{n}", "Produce", "request", "p", "b1", "", "the same", 9, n, fate=fate) for n in (1, 2)]
    sends = [Event(2 * n, n, "p", "send", "Produce", -1, frame.id, frame) for n, frame in enumerate(frames)]
    events = [sends[0], Event(1, 0, "b1", *between, 0, "", None), sends[1]]
    assert list(repeats_in(events)) == [False, False, repeats]


def test_what_strikes_where_a_run_is_as_usual_again_comes_last(run: Run) -> None:
    usual = endings_of(run.trace)
    assert absorbed_after(run.trace, usual) == -1
    doubled = run_scenario(ONE.with_faults(Duplicate("Metadata#1")))
    absorbed = absorbed_after(doubled.trace, usual)
    assert 0 < absorbed < doubled.trace.steps / 2
    found, _ = sequences_after(doubled, doubled.start, ("drop", "crash"), absorbed=absorbed)
    tiers = [one.rank.tier for one in found]
    assert tiers == sorted(tiers)
    assert all((one.step > absorbed) == (one.rank.tier == ABSORBED) for one in found)
    crashed = run_scenario(ONE.with_faults(Crash("app", at_step=run.start + 20)))
    assert absorbed_after(crashed.trace, usual) > crashed.trace.steps / 2
    without = {node: numbers for node, numbers in usual.items() if node != "app"}
    assert absorbed_after(run.trace, without) == -1
    assert absorbed_after(run.trace, {**usual, "gone": [1]}) == run.trace.steps


def test_a_fault_names_what_it_strikes(run: Run) -> None:
    places = {one.place for one in sequences_after(run, run.start)[0]}
    assert {"Produce", "EndTxnResponse", "PrepareCommit", "marker", "records"} <= places
