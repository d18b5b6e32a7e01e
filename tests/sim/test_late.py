"""A late frame arrives just before another one, which waits until the first has been answered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab import Crash, Drop, Journey, Late, Reorder, explore, lab03
from kafkalab.explore.candidates import sequences_after
from kafkalab.explore.fault_sequence import KINDS, kinds_named
from kafkalab.explore.small_programs import processors_in_small
from kafkalab.faults.registry import fault_from_json, fault_to_json
from kafkalab.run.again import run_scenario
from kafkalab.sim.cluster import ran
from kafkalab.sim.codec import fault_of_row, fault_row
from kafkalab.sim.scenario import Scenario
from kafkalab.wire.live import fault_of
from tests.sim.wire import Wire


def one_input_per_transaction(profile: str) -> Scenario:
    """A processor with three inputs, each in a transaction of its own, and a successor that starts after it."""
    base = processors_in_small(profile)
    first, second = base.programs
    programs = (
        replace(first, args={**first.args, "batch": 1}),
        replace(second, args={**second.args, "batch": 1, "start_after_ms": 300_000}),
    )
    return replace(base, records={"in-0": ("a", "b", "c")}, programs=programs)


def test_a_late_frame_arrives_just_before_the_other_one_which_waits_for_its_answer() -> None:
    w = Wire(Late("Heartbeat#1", before="Heartbeat#3"))
    for _ in range(3):
        w.ask("a", "b1")
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#2", "Heartbeat#1"]
    w.answer("b1")
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#2", "Heartbeat#1", "Heartbeat#3"]
    assert w.cluster.unused_faults == ()
    (fault,) = w.cluster.trace.of("fault")
    assert (fault.name, fault.frame, fault.data["before"]) == ("Late", "Heartbeat#1", "Heartbeat#3")


def test_it_may_go_to_another_broker_than_the_other_one() -> None:
    w = Wire(Late("Heartbeat#1", before="Heartbeat#2"))
    w.ask("a", "b2")
    w.ask("c", "b1")
    w.run_for(20)
    assert ([f.id for f in w.arrived["b2"]], w.arrived["b1"]) == (["Heartbeat#1"], [])
    w.answer("b2")
    w.run_for(0)
    w.run_for(1)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#2"]


def test_the_other_one_waits_no_longer_when_the_receiver_of_the_late_one_crashes() -> None:
    w = Wire(Late("Heartbeat#1", before="Heartbeat#2"), Crash("b2", at_ms=500))
    w.ask("a", "b2")
    w.ask("c", "b1")
    w.run_for(400)
    assert (len(w.arrived["b2"]), len(w.arrived["b1"])) == (1, 0)
    w.run_for(200)
    assert len(w.arrived["b1"]) == 1


def test_two_late_frames_are_both_answered_first() -> None:
    w = Wire(Late("Heartbeat#1", before="Heartbeat#3"), Late("Heartbeat#2", before="Heartbeat#3"))
    for _ in range(3):
        w.ask("a", "b1")
    w.run_for(20)
    w.answer("b1", number=0)
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1", "Heartbeat#2"]
    w.answer("b1", number=1)
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1", "Heartbeat#2", "Heartbeat#3"]


def test_a_response_is_late_for_its_client() -> None:
    w = Wire(Late("HeartbeatResponse#1", before="HeartbeatResponse#2"))
    ended = [w.ask("a", "b1"), w.ask("a", "b1")]
    w.run_for(20)
    w.answer("b1", number=0)
    w.run_for(100)
    assert ended[0].times == 0
    w.answer("b1", number=1)
    w.run_for(20)
    assert ended[0].cause < ended[1].cause


def test_if_the_other_one_is_lost_the_late_one_arrives_all_the_same() -> None:
    w = Wire(Late("Heartbeat#1", before="Heartbeat#2"), Drop("Heartbeat#2"))
    w.ask("a", "b1")
    w.ask("a", "b1")
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1"]


def test_if_the_other_one_is_never_sent_the_fault_is_unused() -> None:
    fault = Late("Heartbeat#1", before="Heartbeat#9")
    w = Wire(fault)
    w.ask("a", "b1")
    w.run_for(100)
    assert w.arrived["b1"] == []
    assert w.cluster.unused_faults == (fault,)


def test_a_frame_cannot_come_before_one_that_was_sent_before_it() -> None:
    w = Wire(Late("Heartbeat#2", before="Heartbeat#1"))
    w.ask("a", "b1")
    w.ask("a", "b1")
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1", "Heartbeat#2"]
    assert len(w.cluster.unused_faults) == 1


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_a_late_commit_of_an_offset_joins_the_next_transaction_of_an_old_client_only(profile: str) -> None:
    cluster = ran(one_input_per_transaction(profile).with_faults(Late("TxnOffsetCommit#1", before="EndTxn#3")))
    assert cluster.unused_faults == ()
    values = [str(r.value) for b in cluster.log_of("out-0").batches if b.control is None for r in b.records]
    assert sorted(values) == (["a!", "b!", "b!", "c!", "c!"] if profile == "4.x/TV1" else ["a!", "b!", "c!"])


def test_a_search_finds_it_with_one_fault_and_no_time() -> None:
    found = explore(one_input_per_transaction("4.x/TV1"), find=("exactly-once",), kinds=("before",), most_faults=1)
    (fault,) = found.faults
    assert isinstance(fault, Late)
    assert fault.frame.startswith("TxnOffsetCommit#")
    assert "before" not in KINDS
    assert kinds_named(("before",)) == ("before",)


def test_a_search_tries_it_on_requests_that_no_number_protects() -> None:
    for profile, names in (("4.x/TV1", {"TxnOffsetCommit", "EndTxn", "AddOffsetsToTxn", "AddPartitionsToTxn",
                                        "WriteTxnMarkers"}), ("4.x/TV2", set())):  # fmt: skip
        run = run_scenario(one_input_per_transaction(profile))
        found, _ = sequences_after(run, run.start, ("before",), unsupported=True)
        struck = {run.trace.frames[one.faults[0].frame].name for one in found if isinstance(one.faults[0], Late)}
        assert struck == names


def test_it_is_a_button_words_and_a_file() -> None:
    journey = Journey(lab03())
    assert "just before" in journey.possible("late", "EndTxn#1", before="") or journey.possible("late", "EndTxn#1")
    assert journey.possible("late", "EndTxn#1", before="Produce#1").endswith("so it cannot overtake it")
    journey.press("late", "Produce#1", before="EndTxn#1")
    fault = journey.scenario.faults[-1]
    assert fault == Late("Produce#1", "EndTxn#1")
    assert fault_from_json(fault_to_json(fault)) == fault
    assert fault_of_row(fault_row(Late("EndTxnResponse#1", "EndTxnResponse#2"))) == Late(
        "EndTxnResponse#1", "EndTxnResponse#2"
    )
    assert Scenario.from_json(journey.scenario.to_json()) == journey.scenario
    assert fault_of("Late:app:TxnOffsetCommit#1:EndTxn#2") == Late("app:TxnOffsetCommit#1", "EndTxn#2")
    with pytest.raises(ValueError, match="cannot arrive before itself"):
        lab03().with_faults(Late("EndTxn#1", "EndTxn#1"))
    with pytest.raises(ValueError, match="no frame is called 'EndTxm#2'"):
        lab03().with_faults(Late("EndTxn#1", "EndTxm#2"))
    assert repr(Reorder("Produce#1", "Produce#2")) == "Reorder(frame='Produce#1', after='Produce#2')"
