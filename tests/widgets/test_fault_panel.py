"""The fault panel's Python half: what can be pressed, as text and as a picture; the tree of runs."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kafkalab import lab03
from kafkalab.faults.registry import BY_PRESS
from kafkalab.protocol.rules import EPOCH_PER_TRANSACTION, REGISTRY
from kafkalab.widgets.views.fault_panel import FaultPanel, buttons, chosen_frame


@pytest.fixture
def panel() -> FaultPanel:
    return FaultPanel(lab03())


def test_each_action_has_a_button_but_for_those_that_need_a_second_frame_or_a_window(panel: FaultPanel) -> None:
    offered = {action for _, row in panel.groups_of_buttons() for action, _, _ in row}
    assert offered == set(BY_PRESS) - {"reorder", "late", "stall"}


def test_the_text_gives_a_button_in_brackets_or_the_reason_why_not(panel: FaultPanel) -> None:
    panel.press("drop", "EndTxn#1")
    lines = panel.text().splitlines()
    assert lines[0].startswith(f"Faults at step {panel.step}, t = ")
    at = lines.index("Frame EndTxn#1:")
    assert lines[at + 1] == "  - drop: EndTxn#1 is dropped already"
    at = lines.index("b1:")
    sends_nothing = "  - crash after sending: b1 sends no frame at this step"
    assert lines[at + 1 : at + 4] == ["  [crash]", sends_nothing, "  - restart: b1 is not down"]
    assert lines[-2:] == [
        "  0 the scenario, committed",
        f">    1 Drop('EndTxn#1'), from step {panel.step - 1}, committed",
    ]


def test_the_chosen_frame_is_the_events_own_or_that_of_its_cause(panel: FaultPanel) -> None:
    payload = panel.payload
    received = payload["frames"]["EndTxn#1"]["received"]
    assert chosen_frame(payload, received) == "EndTxn#1"
    caused = next(e["step"] for e in payload["events"] if e["cause"] == received and not e["frame"])
    assert chosen_frame(payload, caused) == "EndTxn#1"
    assert chosen_frame(payload, 0) == ""


def test_an_out_of_sync_replica_is_offered_an_unclean_election(panel: FaultPanel) -> None:
    panel.step = 60
    panel.press("crash", "b2")
    panel.press("end")
    row = dict(buttons(panel.payload, panel.step))["accounts-0"]
    assert ("elect", "accounts-0", {"broker": "b2", "unclean": True}) in row
    reason = panel.possible("elect", "accounts-0", broker="b2", unclean=True)
    assert reason == "b2 is not alive for the controller"


@pytest.mark.campaign
def test_the_rules_that_matter_to_this_run_are_found_by_trying_them(panel: FaultPanel) -> None:
    matter = [name for name, why in panel.rules().items() if not why]
    assert EPOCH_PER_TRANSACTION.name in matter
    assert len(matter) < len(panel.rules()) == len(REGISTRY)
    panel.press("rule_off", EPOCH_PER_TRANSACTION.name)
    assert panel.reasons["place"] == 0
    assert panel.rules()[EPOCH_PER_TRANSACTION.name] == ""
    assert panel.reasons["off"] == [EPOCH_PER_TRANSACTION.name]


def test_the_picture_has_a_box_for_each_button_and_literal_colours(panel: FaultPanel) -> None:
    panel.press("drop", "EndTxn#1")
    svg = panel.svg()
    boxes = [e for e in ET.fromstring(svg).iter() if e.tag.endswith("rect")]
    assert len(boxes) == 1 + sum(len(row) for _, row in panel.groups_of_buttons())
    assert "var(" not in svg
    assert "Drop(&#x27;EndTxn#1&#x27;)" in svg or "Drop('EndTxn#1')" in svg
