"""The cluster map without a browser: roles, replicas, walls and frames in flight, as text and as a static picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from kafkalab import lab03, lab17
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.frame import Hold
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause
from kafkalab.programs.groups import two_members
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.payload.cluster import in_flight, node_words, partition_words, replica_word, walls
from kafkalab.widgets.payload.text import replay
from kafkalab.widgets.views.cluster_map import ClusterMap

DATA = Path(__file__).parents[2] / "data"


def test_nodes_tell_what_they_lead_and_coordinate_once_it_is_asked_for() -> None:
    view = ClusterMap(lab03())
    assert "b3: up; leads __transaction_state-22\n" in str(view)
    view.press("end")
    text = str(view)
    assert "b3: up; leads __transaction_state-22; coordinates payments-0" in text
    assert "b2: up; leads accounts-1, __consumer_offsets-13; coordinates group payments" in text
    assert "app: up; READY; producer 2000, epoch 1; commit_transaction() returns" in text


def test_replicas_are_leader_in_sync_or_out_of_sync_as_the_controller_says() -> None:
    faults = (Cut("b1", ("b2", "b3"), at_step=100), AdvanceClock(40_000, at_step=150))
    view = ClusterMap(lab03().with_faults(*faults))
    final = view.cluster.controller.metadata
    shown = replay(view.payload, len(view.payload["events"]) - 1)
    for partition in view.payload["partitions"]:
        info = final.partitions[partition]
        words = {b: replica_word(shown, partition, b) for b in info.replicas}
        assert [b for b, word in words.items() if word == "leader"] == ([info.leader] if info.leader else [])
        assert {b for b, word in words.items() if word == "out of sync"} == set(info.replicas) - set(info.isr)
    assert any("out of sync" in partition_words(view.payload, shown, p) for p in view.payload["partitions"])


def test_a_cut_is_a_wall_until_it_is_healed() -> None:
    view = ClusterMap(lab03().with_faults(Cut("b1", ("b2", "controller"), at_step=100), Heal("b1", "b2", at_step=130)))
    events = view.payload["events"]
    cut = next(e["step"] for e in events if e["name"] == "Cut")
    heal = next(e["step"] for e in events if e["name"] == "Heal")
    assert walls(view.payload, replay(view.payload, cut - 1)) == []
    assert walls(view.payload, replay(view.payload, cut)) == ["b1 | b2", "b1 | controller"]
    assert walls(view.payload, replay(view.payload, heal)) == ["b1 | controller"]
    view.step = cut
    assert "  cut: b1 | b2" in str(view)
    assert view.svg().count(">cut<") == 2


def test_paused_and_crashed_nodes_say_so() -> None:
    view = ClusterMap(lab03().with_faults(Pause("b1", at_step=100), Crash("b2", at_step=101)))
    view.press("end")
    assert "b1: paused" in str(view)
    assert "b2: crashed" in str(view)
    assert "‖ paused" in view.svg()
    assert "✕ crashed" in view.svg()


def test_a_frame_is_in_flight_from_its_sending_to_its_end() -> None:
    view = ClusterMap(lab03())
    frame = view.payload["frames"]["EndTxn#1"]
    groups = ("transaction",)
    for step, there in (
        (frame["sent"] - 1, False),
        (frame["sent"], True),
        (frame["received"] - 1, True),
        (frame["received"], False),
    ):
        assert ("EndTxn#1" in [f["id"] for f in in_flight(view.payload, step, groups)]) == there
    view.step = frame["sent"]
    assert "  in flight: EndTxn#1: app → b3" in str(view)
    assert "EndTxn#1" in view.svg()
    assert in_flight(view.payload, frame["sent"], ("metadata",)) == []


def test_a_frame_that_is_kept_is_told_as_held() -> None:
    view = ClusterMap(lab03().with_faults(Hold("EndTxn#1")))
    view.step = view.payload["frames"]["EndTxn#1"]["sent"] + 2
    assert "EndTxn#1: app → b3, held" in str(view)
    assert "EndTxn#1, held" in view.svg()


def test_nodes_are_gone_through_and_chosen() -> None:
    view = ClusterMap(lab03())
    view.press("down")
    assert view.node == "app"
    assert "> app: up" in str(view)
    with pytest.raises(ValueError, match="this is the first node"):
        view.press("up")
    view.press("node", "b2")
    view.press("node", "")
    view.press("up")
    assert view.node == "controller"
    with pytest.raises(ValueError, match="no node 'b9' in this run; there are app, b1, b2, b3, controller"):
        view.press("node", "b9")
    with pytest.raises(ValueError, match="no node 'b9'"):
        ClusterMap(lab03(), node="b9")


@pytest.mark.parametrize(
    "scenario", [lab03(), two_members(), Scenario.load(DATA / "kafka_17754.klab")], ids=lambda s: s.title
)
def test_each_step_has_a_text_and_a_picture(scenario: Scenario) -> None:
    view = ClusterMap(scenario)
    for step in range(0, len(view.payload["events"]), 29):
        view.step = step
        picture = view.svg()
        assert ET.fromstring(picture).tag.endswith("svg")
        assert "var(" not in picture
        for node in view.payload["nodes"]:
            assert node_words(view.payload, replay(view.payload, step), node) in str(view)


def test_a_table_of_a_database_has_no_leader_and_no_replicas() -> None:
    text = str(ClusterMap(lab17()))
    assert "receipts-0: b1 leader" in text
    assert "table positions" not in text
    assert "no leader" not in text
