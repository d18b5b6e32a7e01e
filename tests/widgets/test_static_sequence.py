"""The static picture of a run: standalone, literal colours, the same facts as the live one, the same each time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.widgets.payload.text import replay, stops
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.static_sequence import draw
from tests.widgets.sample_payload import sample

SHOWN = ("transaction", "verification")
SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 960


def texts(picture: str) -> list[str]:
    return ["".join(t.itertext()) for t in ET.fromstring(picture).iter(f"{SVG}text")]


def bold(picture: str) -> list[str]:
    drawn = ET.fromstring(picture).iter(f"{SVG}text")
    return ["".join(t.itertext()) for t in drawn if t.get("font-weight") == "bold"]


def test_each_step_gives_a_picture_with_the_facts_of_that_step(lab_run: dict[str, Any]) -> None:
    for step in stops(lab_run, SHOWN):
        shown = replay(lab_run, step)
        seen = texts(draw(lab_run, step, SHOWN))
        for tid, known in shown.transactions.items():
            assert f"{tid}: producer {known['producer_id']}, epoch {known['epoch']}" in seen
            assert known["state"] in bold(draw(lab_run, step, SHOWN))
        for partition in lab_run["partitions"]:
            _, _, mark, stable = shown.strip(partition)
            strip = seen[last(seen, partition) : last(seen, following(lab_run, partition))]
            assert f"HW {mark}" in strip
            assert f"LSO {stable}" in strip


def last(seen: list[str], text: str) -> int:
    """Return where a text stands for the last time; the end for none."""
    return max((i for i, t in enumerate(seen) if t == text), default=len(seen))


def following(payload: dict[str, Any], partition: str) -> str:
    rest = payload["partitions"][payload["partitions"].index(partition) + 1 :]
    return rest[0] if rest else ""


def pale(picture: str) -> list[str]:
    """Return the words at the pale arrows."""
    groups = [g for g in ET.fromstring(picture).iter(f"{SVG}g") if g.get("opacity")]
    return ["".join(t.itertext()) for g in groups for t in g.iter(f"{SVG}text")]


def test_before_the_first_frame_the_first_few_are_there_pale(lab_run: dict[str, Any]) -> None:
    sent = sorted(f["sent"] for f in lab_run["frames"].values() if f["category"] in SHOWN)
    names = [i for at in sent[:4] for i, f in lab_run["frames"].items() if f["sent"] == at]
    before, after = (draw(lab_run, step, SHOWN) for step in (sent[0] - 1, sent[0]))
    assert pale(before) == names
    assert pale(after) == []
    assert "in flight" not in texts(before)


def test_it_tells_nothing_of_what_comes_later(lab_run: dict[str, Any]) -> None:
    step = lab_run["frames"]["EndTxn#1"]["sent"]
    seen = texts(draw(lab_run, step, SHOWN))
    assert "EndTxn#1" in seen
    assert "in flight" in seen
    assert not [t for t in seen if "EndTxnResponse" in t or "WriteTxnMarkers" in t or "COMMIT to" in t]


def test_it_stands_alone_and_is_the_same_each_time(lab_run: dict[str, Any]) -> None:
    picture = draw(lab_run, len(lab_run["events"]) - 1, SHOWN)
    assert picture == draw(lab_run, len(lab_run["events"]) - 1, SHOWN)
    assert not re.search(r"var\(|href|<style|<script|currentColor|\bid=", picture)
    root = ET.fromstring(picture)
    assert root[0].tag == f"{SVG}rect"
    assert root[0].get("fill") == "#ffffff"
    lefts = [float(e.get("x", "0")) for e in root.iter(f"{SVG}rect")]
    assert min(lefts) >= 0
    assert max(float(e.get("x", "0")) + float(e.get("width", "0")) for e in root.iter(f"{SVG}rect")) <= WIDTH


@pytest.mark.parametrize(
    ("change", "word"), [({"drop": "EndTxn#1"}, "dropped"), ({"crash_b2": True}, "lost"), ({}, "CompleteCommit")]
)
def test_faults_are_seen(change: dict[str, Any], word: str) -> None:
    payload = sample(**change)
    assert word in texts(draw(payload, len(payload["events"]) - 1, SHOWN))


def test_of_a_long_run_the_newest_rows_are_drawn() -> None:
    payload = sample(transactions=12)
    seen = texts(draw(payload, len(payload["events"]) - 1, SHOWN))
    assert [t for t in seen if t.endswith("earlier rows")]
    assert len(seen) < 300
    assert len(draw(payload, len(payload["events"]) - 1, SHOWN)) < 60_000


def test_the_row_of_a_fault_has_its_time_and_an_arrow_counts_attempts_as_its_sentence_does() -> None:
    view = Sequence(lab03())
    view.press("drop", "EndTxn#1")
    payload = view.payload
    fault = next(e for e in payload["events"] if e["kind"] == "fault")
    sent, again = (payload["frames"][name]["sent"] for name in ("EndTxn#1", "EndTxn#2"))
    assert payload["events"][sent]["at"] == fault["at"]
    assert texts(draw(payload, again, SHOWN)).count(f"{fault['at']} ms") == 2
    assert payload["events"][again]["text"] == "app sends EndTxn#2 to b3 (attempt 2)."
    assert "EndTxn#2 · attempt 2" in texts(draw(payload, again, SHOWN))
