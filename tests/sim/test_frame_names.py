"""A client's names of frames: "app:EndTxn#1" counts only what this client sends, whatever else is sent meanwhile."""

from __future__ import annotations

import pytest

from kafkalab import Delay, Drop, Duplicate, Hold, Late, Release, Reorder, lab03
from kafkalab.explore.small_programs import processor_in_small
from kafkalab.faults.registry import fault_from_json, fault_to_json
from kafkalab.sim.cluster import ran
from kafkalab.sim.codec import fault_of_row, fault_row
from kafkalab.sim.scenario import Scenario
from kafkalab.wire.live import fault_of
from tests.sim.wire import Wire


def test_each_client_counts_its_own_requests_and_responses() -> None:
    w = Wire(Drop("c:Heartbeat#2"), Drop("a:HeartbeatResponse#1"))
    ended = []
    for sender in "acac":
        ended.append(w.ask(sender, "b1"))
        w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1", "Heartbeat#2", "Heartbeat#3"]
    assert [f.name_at_client for f in w.arrived["b1"]] == ["a:Heartbeat#1", "c:Heartbeat#1", "a:Heartbeat#2"]
    for number in range(3):
        w.answer("b1", number=number)
    w.run_for(20)
    assert [one.times for one in ended] == [0, 1, 1, 0]
    assert w.cluster.unused_faults == ()


def test_frames_between_servers_have_no_such_name_and_do_not_count() -> None:
    trace = ran(processor_in_small("4.x/TV1")).trace
    verifications = [f for f in trace.frames.values() if f.name == "AddPartitionsToTxn" and f.sender.startswith("b")]
    assert all(f.name_at_client == "" == f.client for f in verifications)
    own = [f for f in trace.frames.values() if f.name == "AddPartitionsToTxn" and f.client]
    assert [f.name_at_client for f in own] == [f"m1:AddPartitionsToTxn#{n}" for n in range(1, len(own) + 1)]
    assert trace.find_frame("m1:AddPartitionsToTxn#1") is own[0]
    assert trace.find_frame(own[0].id) is own[0]
    assert trace.find_frame("m1:AddPartitionsToTxn#99") is None


@pytest.mark.parametrize("kind", [Drop, Duplicate, Delay, Hold])
def test_a_fault_strikes_the_same_under_both_names(kind: type[Drop | Duplicate | Delay | Hold]) -> None:
    name = lab03().programs[0].node
    plain, own = (ran(lab03().with_faults(kind(frame))) for frame in ("Produce#1", f"{name}:Produce#1"))
    assert own.unused_faults == plain.unused_faults == ()
    assert [e._replace(data="") for e in own.trace.events] == [e._replace(data="") for e in plain.trace.events]


def test_both_frames_of_a_fault_may_have_a_client() -> None:
    w = Wire(Reorder("a:Heartbeat#1", after="c:Heartbeat#1"), Late("a:Heartbeat#2", before="c:Heartbeat#2"))
    for sender in "aaacc":
        w.ask(sender, "b1")
        w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == [f"Heartbeat#{number}" for number in (3, 4, 1, 2)]
    w.answer("b1")
    w.run_for(20)
    assert w.arrived["b1"][-1].id == "Heartbeat#5"
    assert w.cluster.unused_faults == ()


def test_a_held_frame_is_released_by_its_clients_name() -> None:
    w = Wire(Hold("a:Heartbeat#1"), Release("a:Heartbeat#1", at_ms=500))
    w.ask("a", "b1")
    w.run_for(499)
    assert w.arrived["b1"] == []
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1"]
    assert w.cluster.unused_faults == ()


def test_a_fork_finds_the_frame() -> None:
    name, cluster = lab03().programs[0].node, ran(lab03())
    forked = cluster.fork(cluster.start, Drop(f"{name}:EndTxn#1"))
    assert forked.trace.frames["EndTxn#1"].fate == "dropped"
    with pytest.raises(ValueError, match="never flies in this run"):
        cluster.fork(cluster.start, Drop("other:EndTxn#1"))


@pytest.mark.parametrize("frame", ["app:EndTxnResponse#2", "a:b:Produce#1", "client b1:EndTxn#1"])
def test_it_is_a_file_a_code_and_words(frame: str) -> None:
    for fault in (Drop(frame), Delay(frame, 500), Late(frame, frame + "1")):
        lab03().with_faults(fault)
        assert fault_from_json(fault_to_json(fault)) == fault
        assert fault_of_row(fault_row(fault)) == fault
        assert Scenario.from_json(lab03().with_faults(fault).to_json()).faults[-1] == fault
    assert fault_of(f"Drop:{frame}") == Drop(frame)
    assert fault_of(f"Delay:{frame}:500") == Delay(frame, 500)
    assert fault_of(f"Late:{frame}:{frame}1") == Late(frame, frame + "1")


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ("b1:ReplicaFetch#1", "b1 is no client"),
        ("controller:Metadata#1", "controller is no client"),
        (":EndTxn#1", "names no client"),
        ("app:EndTxm#1", r"did you mean EndTxn"),
        ("app:EndTxn", "has no number"),
    ],
)
def test_other_names_are_refused(frame: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        lab03().with_faults(Drop(frame))
