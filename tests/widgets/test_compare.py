"""Two runs side by side: where they part, which events stand beside each other, and what both show."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from kafkalab import lab03
from kafkalab.faults.frame import Drop
from kafkalab.protocol.rules import DEDUPLICATION, EPOCH_PER_TRANSACTION
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.payload.side_by_side import parting
from kafkalab.widgets.payload.text import replay, stops
from kafkalab.widgets.views.compare import Compare


def compare_with_drop() -> Compare:
    return Compare(lab03(), lab03().with_faults(Drop("EndTxn#1")))


def long_run(seed: int) -> Scenario:
    return Scenario(
        topics={"out": 1}, programs=(Program("p0", "transactions", {"transactional_id": "t0", "count": 14}),), seed=seed
    )


def test_of_a_long_log_the_last_batches_are_shown_and_how_many_were_before() -> None:
    compare = Compare(long_run(1), long_run(2))
    compare.press("end")
    line = next(a for a, _ in compare.state() if a.startswith("out-0"))
    batches = replay(compare.left, len(compare.left["events"]) - 1).strip("out-0")[1]
    assert line.count("[") == 16
    assert f": {len(batches) - 16} earlier … [" in line


def test_the_first_difference_is_the_first_event_that_differs() -> None:
    compare = compare_with_drop()
    sent = compare.left["frames"]["EndTxn#1"]["sent"]
    assert compare.apart == sent + 1
    assert compare.left["events"][: sent + 1] == compare.right["events"][: sent + 1]
    assert compare.first_difference() == [
        f"The runs are the same up to step {sent}; at step {sent + 1} they part.",
        "no fault: b3 receives EndTxn#1.",
        "Drop('EndTxn#1'): EndTxn#1 is lost on its way.",
    ]
    assert compare.text().splitlines()[1:4] == compare.first_difference()


def test_each_stop_from_there_on_has_one_row_and_the_same_event_is_beside_itself() -> None:
    compare = compare_with_drop()
    for side, payload in ((0, compare.left), (1, compare.right)):
        steps = [row[side] for row in compare.rows if row[side] >= 0]
        after = [s for s in stops(payload, ("transaction", "verification")) if s >= compare.apart]
        assert steps[-len(after) :] == after
        assert steps == sorted(steps)
    for left, right, same, *_ in compare.rows:
        texts = [p["events"][s]["text"] if s >= 0 else "" for p, s in ((compare.left, left), (compare.right, right))]
        assert (texts[0] == texts[1]) == bool(same)


def test_events_that_say_the_same_and_change_other_data_are_not_the_same() -> None:
    compare = Compare.rule(lab03(), EPOCH_PER_TRANSACTION)
    (row,) = [i for i, row in enumerate(compare.rows) if row[0] == row[1] == compare.apart]
    told = [compare.left["events"][compare.apart]["text"], compare.right["events"][compare.apart]["text"]]
    assert told[0] == told[1]
    assert compare.columns()[row] == (
        row,
        "≠",
        f"{compare.apart} {told[0]} (client_transaction_version 2)",
        f"{compare.apart} {told[1]} (client_transaction_version 0)",
    )


def test_the_verdict_of_each_run_is_told_beside_the_other() -> None:
    stored = Scenario.load(Path(__file__).parents[2] / "data" / "rules" / "deduplication.klab")
    compare = Compare.rule(stored, DEDUPLICATION)
    assert compare.verdicts == []
    kept, broken = compare.verdict_lines()
    assert kept.startswith(f"with: {DEDUPLICATION.name}: ✓ no promise is broken. ")
    assert broken.startswith(f"without: {DEDUPLICATION.name}: ✕ duplicate")
    assert [report["verdict"] == "violated" for report in compare.verdicts] == [False, True]
    assert compare.text().split("\n")[4:6] == [kept, broken]
    assert "✕ duplicate" in compare.svg()


def test_equal_runs_are_told_to_be_equal() -> None:
    compare = Compare(lab03(), Cluster(lab03()))
    assert (compare.apart, compare.first_difference()) == (-1, ["The runs are the same to their end."])
    assert parting(compare.left, compare.left) == -1
    assert all(same for _, _, same in compare.rows)


def test_the_cursor_moves_over_rows_and_both_states_are_shown_there() -> None:
    compare = compare_with_drop()
    rows = compare.rows
    assert max(rows[compare.row][:2]) >= compare.apart
    compare.press("home")
    compare.press("left")
    assert compare.row == 0
    assert all(a == b for a, b in compare.state())
    compare.press("difference")
    compare.press("end")
    compare.press("right")
    assert compare.row == len(rows) - 1
    compare.press("goto", "4")
    assert (compare.row, "\n> " in compare.text()) == (4, True)
    for action, target, message in (("goto", "99", "from 0 to"), ("jump", "", "no action 'jump'; there are left")):
        with pytest.raises(ValueError, match=message):
            compare.press(action, target)


def test_a_rule_and_a_profile_can_be_compared_in_one_line() -> None:
    rule = Compare.rule(lab03(), EPOCH_PER_TRANSACTION)
    assert rule.names == [f"with: {EPOCH_PER_TRANSACTION.name}", f"without: {EPOCH_PER_TRANSACTION.name}"]
    assert rule.apart > 0
    assert Compare.rule(lab03(), "epoch per transaction").names == rule.names
    profiles = Compare.profiles(lab03(), "4.x/TV1", "4.x/TV2")
    assert profiles.names == ["4.x/TV1", "4.x/TV2"]
    assert profiles.left["profile"] == "4.x/TV1"
    assert profiles.apart > 0


def test_two_forks_of_a_journey_and_the_run_shown_with_its_parent() -> None:
    journey = Journey(lab03())
    follows = Compare(journey)
    assert follows.apart == -1
    journey.press("drop", "EndTxn#1")
    assert follows.names == ["run 0: the scenario", "run 1: Drop('EndTxn#1')"]
    journey.press("undo")
    journey.press("duplicate", "EndTxn#1")
    assert follows.names[1].startswith("run 2")
    both = Compare.runs(journey, 1, 2)
    assert both.left["faults"] != both.right["faults"]
    with pytest.raises(ValueError, match="no run 9 in this journey; there are 0 to 2"):
        Compare.runs(journey, 1, 9)


def test_bad_input_is_refused_with_a_clear_error() -> None:
    with pytest.raises(TypeError, match="Compare needs two runs, or one journey, not one Scenario"):
        Compare(lab03())
    with pytest.raises(TypeError, match="Compare shows scenarios, clusters or journeys"):
        Compare(lab03(), 3)
    with pytest.raises(ValueError, match="size is 'laptop' or 'projector'"):
        Compare(lab03(), lab03(), size="wall")
    with pytest.raises(ValueError, match="no rule is called 'epoch'"):
        Compare.rule(lab03(), "epoch")


def test_a_saved_notebook_has_a_picture_and_the_text() -> None:
    compare = compare_with_drop()
    data, _ = compare._repr_mimebundle_()
    assert data["text/plain"] == str(compare) == compare.text()
    assert ET.fromstring(data["image/svg+xml"]).tag.endswith("svg")
    assert "var(" not in compare.svg()
