"""The start page says what labs there are, and explains every term in both languages."""

from __future__ import annotations

import re
from pathlib import Path

from kafkalab.course.labs import COURSE
from kafkalab.course.measures import Measures, measure_labs
from kafkalab.course.outline import TRACKS
from kafkalab.course.start_page import (
    START,
    begin,
    map_of_labs,
    picture,
    refresh_start_page,
    short_ways,
)
from kafkalab.grading.builder import SOLUTIONS, as_text, read

FIRST_CELLS = 2


def texts(root: Path) -> dict[str, str]:
    return {c["id"]: "".join(c["source"]) for c in read(root / START)["cells"]}


def test_the_start_page_is_up_to_date(root: Path) -> None:
    there = measure_labs(root)
    found = texts(root)
    assert found["begin"] == begin(there), "run `kafkalab build-labs`"
    assert found["map-of-the-labs"] == map_of_labs(there), "run `kafkalab build-labs`"
    assert found["short-ways"] == short_ways(there), "run `kafkalab build-labs`"
    (shown,) = next(c for c in read(root / START)["cells"] if c["id"] == "where")["outputs"]
    assert shown["data"] == picture(), "run `kafkalab build-labs`"


def test_the_way_to_the_first_lab_is_on_the_first_screen(root: Path) -> None:
    cells = list(texts(root))
    assert cells[:FIRST_CELLS] == ["welcome", "begin"]


def test_labs_that_are_there_are_linked_and_others_are_planned() -> None:
    one = Measures(words=900, before_picture=60, presses=(24,), walk_minutes=20, exercise_minutes=25)
    there = dict.fromkeys(("00_meet_the_machine", "03_a_full_commit"), one)
    *rows, empty, planned = map_of_labs(there).splitlines()[4:]
    assert [row.split(" | ")[0] for row in rows] == ["| 0", "| 3"]
    assert all("](" in row for row in rows)
    assert (empty, planned[:28], planned.count("(")) == ("", "Planned: The idempotent prod", len(COURSE) - len(there))
    assert begin(there).startswith("## [Start here: Meet the machine →](00_meet_the_machine.ipynb)")
    assert "Stepping through its runs takes 20 minutes; the exercises take 25." in begin(there)
    assert "not there yet" in begin({})
    ways = short_ways(there)
    links = "[L0](00_meet_the_machine.ipynb) → [L3](03_a_full_commit.ipynb)"
    assert f"| A meetup, 90 minutes | {links} | 40 | 50 |" in ways
    assert f"| At your own pace | {links} | 40 | 50 |" in ways
    assert "Data engineers" not in ways


def test_every_short_way_consists_of_labs_that_are_there(root: Path) -> None:
    rows = [row for row in short_ways(measure_labs(root)).splitlines() if "→" in row]
    assert len(rows) == len(TRACKS) + 1
    for row in rows:
        stops = row.split(" | ")[1].split(" → ")
        assert all(re.fullmatch(r"\[L\d+\]\(\w+\.ipynb\)", stop) for stop in stops), row


def test_only_what_changed_is_written(root: Path, tmp_path: Path) -> None:
    assert refresh_start_page(tmp_path) == []
    (tmp_path / SOLUTIONS).mkdir(parents=True)
    (tmp_path / START).write_text(as_text(read(root / START)))
    assert refresh_start_page(tmp_path) == [tmp_path / START]
    assert refresh_start_page(tmp_path) == []
    assert "](" not in texts(tmp_path)["map-of-the-labs"]
