"""A crash of a sender loses the frame that it was about to send, or not: `Crash(node, at_step, sent=True)`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab import lab03
from kafkalab.faults.frame import Drop, Hold
from kafkalab.faults.node import Crash
from kafkalab.faults.registry import check_fault, fault_from_json, fault_to_json
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey


def ran(*faults: Crash | Drop) -> Cluster:
    cluster = Cluster(lab03().with_faults(*faults))
    cluster.run()
    assert cluster.unused_faults == ()
    return cluster


END = ran().trace.frames["EndTxn#1"]


@pytest.mark.parametrize(("sent", "fate", "verdict"), [(False, "lost", "aborted"), (True, "delivered", "committed")])
def test_the_service_dies_as_it_asks_for_the_commit(sent: bool, fate: str, verdict: str) -> None:
    cluster = ran(Crash("app", at_step=END.sent_step, sent=sent))
    assert cluster.trace.frames["EndTxn#1"].fate == fate
    assert cluster.outcome().verdict == verdict
    (crash,) = cluster.trace.of("crash", "app")
    assert crash.data == ({"node": "app", "sent": True} if sent else {"node": "app"})


def test_what_was_sent_in_an_earlier_event_arrives_in_both_cases() -> None:
    for sent in (False, True):
        cluster = ran(Crash("app", at_step=END.sent_step + 1, sent=sent))
        assert cluster.trace.frames["EndTxn#1"].fate == "delivered"


def test_a_frame_that_leaves_meets_the_faults_of_its_way() -> None:
    cluster = ran(Crash("app", at_step=END.sent_step, sent=True), Drop("EndTxn#1"))
    assert cluster.trace.frames["EndTxn#1"].fate == "dropped"


def test_a_broker_may_answer_and_die() -> None:
    response = ran().trace.frames["EndTxnResponse#1"]
    cluster = ran(Crash(response.sender, at_step=response.sent_step, sent=True))
    assert cluster.trace.frames["EndTxnResponse#1"].fate == "delivered"


def test_a_frame_that_leaves_can_be_held_and_one_that_does_not_cannot() -> None:
    for sent, reason in ((False, "EndTxn#1 never leaves: app crashes in that moment"), (True, "")):
        assert Hold("EndTxn#1").why_not(ran(Crash("app", at_step=END.sent_step, sent=sent))) == reason


def test_it_is_written_only_where_it_is_chosen(tmp_path: Path) -> None:
    plain, chosen = Crash("app", at_step=7), Crash("app", at_step=7, sent=True)
    assert fault_to_json(plain) == {"fault": "Crash", "node": "app", "at_step": 7, "at_ms": -1}
    assert fault_to_json(chosen)["sent"] is True
    assert [fault_from_json(fault_to_json(f)) for f in (plain, chosen)] == [plain, chosen]
    assert [repr(plain), repr(chosen)] == ["Crash('app', at_step=7)", "Crash('app', at_step=7, sent=True)"]
    scenario = lab03().with_faults(chosen)
    scenario.save(tmp_path / "x.klab")
    assert Scenario.load(tmp_path / "x.klab") == scenario


def test_it_is_true_or_false() -> None:
    with pytest.raises(TypeError, match="sent is True or False, not 'yes'"):
        check_fault(Crash("app", at_step=7, sent="yes"), ("app",))  # type: ignore[arg-type]


@pytest.mark.parametrize("sent", [False, True])
def test_a_press_may_say_so(sent: bool) -> None:
    journey = Journey(lab03(), step=END.sent_step)
    journey.press("crash", "app", sent=sent)
    assert journey.scenario.faults == (Crash("app", at_step=END.sent_step, sent=sent),)
