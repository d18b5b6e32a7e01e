"""The cost meter: its rows are those of the run at the step shown, as text and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kafkalab import lab13
from kafkalab.history.costs import COLUMNS, costs_of
from kafkalab.sim.cluster import ran
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.cost_meter import ONE, CostMeter, format_cost
from kafkalab.wire.frame_bytes import frame_bytes


def test_the_rows_are_those_of_the_run_at_the_step_that_is_shown() -> None:
    journey = Journey(lab13())
    meter, costs = CostMeter(journey, size_of=frame_bytes), costs_of(ran(lab13()), frame_bytes)
    for step in (0, 60, 120, len(journey.payload["events"]) - 1):
        journey.step = step
        for by in ("api", "phase"):
            meter.press("by", by)
            rows = [row for row in meter.rows() if row["name"] != ONE]
            assert rows == costs.rows(by, step)
    assert meter.rows()[-1] == {"name": ONE, **costs.per_transaction()}


def test_the_text_has_a_line_for_each_row_and_says_how_many_were_decided() -> None:
    meter = CostMeter(lab13(), by="phase", size_of=frame_bytes)
    assert meter.text().splitlines()[0] == f"Cost by phase: No transactions decided by step {meter.step}."
    meter.press("end")
    head, columns, *lines = meter.text().splitlines()
    assert head == f"Cost by phase: 2 transactions decided by step {meter.step}."
    assert columns.split() == ["frames", "bytes", "log", "entries", "round", "trips", "ms"]
    assert [line.split()[0] for line in lines] == ["start", "write", "decide", "markers", "all", "per"]
    for row, line in zip(meter.rows(), lines, strict=True):
        assert line.split()[-len(COLUMNS) :] == [format_cost(row[key]) for key in COLUMNS]


def test_without_a_codec_no_bytes_are_known() -> None:
    meter = CostMeter(lab13())
    meter.press("end")
    assert {row["bytes"] for row in meter.rows()} == {None}
    assert "–" in meter.text()


def test_the_meter_follows_the_run_that_is_shown() -> None:
    journey = Journey(lab13())
    meter = CostMeter(journey)
    journey.step = journey.payload["frames"]["EndTxn#1"]["sent"]
    journey.press("drop", "EndTxn#1")
    journey.press("end")
    assert next(row for row in meter.rows() if row["name"] == "EndTxn")["frames"] == 5
    journey.press("undo")
    journey.press("end")
    assert next(row for row in meter.rows() if row["name"] == "EndTxn")["frames"] == 4


def test_another_by_is_refused() -> None:
    for wrong in (lambda: CostMeter(lab13(), by="size"), lambda: CostMeter(lab13()).press("by", "size")):
        with pytest.raises(ValueError, match="by is 'api' or 'phase', not 'size'"):
            wrong()


def test_the_picture_is_an_svg_with_every_number() -> None:
    meter = CostMeter(lab13(), size_of=frame_bytes)
    meter.press("end")
    texts = [e.text for e in ET.fromstring(meter.svg()).iter() if e.tag.endswith("text")]
    for row in meter.rows():
        assert {row["name"], *(format_cost(row[key]) for key in COLUMNS)} <= set(texts)
    assert "var(" not in meter.svg()
