"""docs/teaching.md says what is true: its paths are those of the start page, its plans name what the labs have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkalab.course.labs import BY_NUMBER, COURSE
from kafkalab.course.outline import TRACKS
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.grading.exercise import EXERCISES

PLAN = re.compile(r"^\| (\d+) \| (.+?) \|", re.M)
TRACK = re.compile(r"^\| ([A-Z][^|]+?) \| (\d+) \| ([^|]+?) \|$", re.M)
DAY = re.compile(r"^\| (\d+):(\d\d) \| (.+?) \|", re.M)
NAMED = re.compile(r"\*([A-Z][^*]+?)\*")
LAB = re.compile(r"\bLab (\d+)")
EXERCISE = re.compile(r"\b(\d+)\.(\d)\b")
BUTTONS = {"What happened?", "Verdict", "Ongoing", "Undo", "PrepareCommit", "CompleteCommit", "Two soups", "LSO"}
"""The names in a plan that are no headings."""


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return (root / "docs" / "teaching.md").read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return the text below the heading that begins so, up to the next one."""
    (found,) = [part for part in text.split("\n## ") if part.startswith(heading)]
    return found


def rows(text: str, heading: str) -> list[tuple[int, str]]:
    return [(int(minute), what) for minute, what in PLAN.findall(section(text, heading))]


def headings(root: Path, number: int) -> set[str]:
    cells = read(root / SOLUTIONS / f"{BY_NUMBER[number].name}.ipynb")["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return set(re.findall(r"^#{1,4} (.+)$", text, re.M))


@pytest.mark.parametrize(("heading", "length", "labs"), [("90 minutes", 90, (0, 3, 5, 9)), ("45 minutes", 45, (9,))])
def test_a_plan_fills_its_time_and_names_parts_of_its_labs(
    root: Path, text: str, heading: str, length: int, labs: tuple[int, ...]
) -> None:
    plan = rows(text, heading)
    minutes = [minute for minute, _ in plan]
    assert minutes[0] == 0
    assert all(2 <= later - minute <= 9 for minute, later in zip(minutes, [*minutes[1:], length], strict=True))
    lab, met = labs[0], [labs[0]]
    for _, what in plan:
        if named := LAB.search(what):
            lab = int(named[1])
            met.append(lab)
        known = headings(root, lab) if "of lab" not in what else headings(root, int(what.split("of lab ")[1][0]))
        for name in set(NAMED.findall(what)) - BUTTONS:
            assert any(one.startswith(name) for one in known), f"lab {lab} has no part {name!r}"
    assert tuple(dict.fromkeys(met)) == labs


def test_the_day_fills_its_time_and_names_parts_of_its_labs(root: Path, text: str) -> None:
    part = section(text, "One day")
    plan = [(60 * int(h) + int(m), what) for h, m, what in DAY.findall(part)]
    times = [time for time, _ in plan]
    assert times[0] == 0
    assert all(10 <= later - time <= 60 for time, later in zip(times, [*times[1:], 435], strict=True))
    assert "Seven hours and a quarter" in part
    lab, met = 0, []
    for _, what in plan:
        lab = int(named[1]) if (named := LAB.search(what)) else lab
        met.append(lab)
        for name in set(NAMED.findall(what)) - BUTTONS:
            parts = headings(root, lab)
            assert name == "What people believe" or name in parts, f"lab {lab} has no part {name!r}"
        for number, exercise in EXERCISE.findall(what):
            assert (int(number), f"L{number}.E{exercise}" in EXERCISES) == (lab, True)
    assert tuple(dict.fromkeys(met)) == TRACKS["A team, one day"]


def test_the_paths_are_those_of_the_start_page_and_their_exercises_exist(root: Path, text: str) -> None:
    found = TRACK.findall(section(text, "The paths"))
    there = [lab.number for lab in COURSE if (root / SOLUTIONS / f"{lab.name}.ipynb").exists()]
    assert {name: tuple(int(lab) for n, lab, _ in found if n == name) for name in TRACKS} == TRACKS
    for _, lab, exercises in found:
        named = EXERCISE.findall(exercises)
        assert named
        assert {number for number, _ in named} == {lab}
        if int(lab) in there:
            assert [f"L{a}.E{b}" for a, b in named if f"L{a}.E{b}" not in EXERCISES] == []
