"""docs/teaching.md says what is true: its paths are those of the start page, its plans name what the labs have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kafkalab import Sequence
from kafkalab.course.lab03.exercise_1 import facts as lab03_facts
from kafkalab.course.labs import BY_NUMBER, COURSE
from kafkalab.course.measures import measure_labs
from kafkalab.course.outline import ALL_LABS, TRACKS
from kafkalab.course.start_page import SITTING_MINUTES, SITTINGS_HEAD
from kafkalab.faults.frame import Hold, Release
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.grading.exercise import EXERCISES
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario_names import SCENARIOS

PLAN = re.compile(r"^\| (\d+) \| (.+?) \|", re.M)
TRACK = re.compile(r"^\| ([A-Z][^|]+?) \| (\d+) \| ([^|]+?) \|$", re.M)
DAY = re.compile(r"^\| (\d+):(\d\d) \| (.+?) \|", re.M)
SITTING = re.compile(
    r"^\| (\d+) \| (\d+):(\d\d) \| (\d+) \[(.+?)\]\(\.\./labs/(\w+)\.ipynb\) \| (\d+) \| (\d+) \|$", re.M
)
HEADING = re.compile(r"^#{1,4} (.+)$", re.M)
NAMED = re.compile(r"\*([A-Z][^*]+?)\*")
LAB = re.compile(r"\bLab (\d+)")
EXERCISE = re.compile(r"\b(\d+)\.(\d)\b")
LINK = re.compile(r"\[\*([^*]+)\*\]\(\.\./labs/(\w+)\.ipynb#cell-id=([\w-]+)\)([^\[|]*)")
"""A link of a plan: the part, the notebook, the cell, and what is done there."""
PLANS = ("90 minutes", "45 minutes", "One day")
NUMBERS = {"six": 6, "seven": 7, "eight": 8}
FRAME = re.compile(r"`([A-Z]\w+#\d+)`")
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
    return set(HEADING.findall(text))


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


def test_the_path_through_all_labs_has_the_minutes_of_the_start_page(root: Path, text: str) -> None:
    part = section(text, ALL_LABS)
    plan = SITTING.findall(part)
    assert len(plan) == len([line for line in part.partition(SITTINGS_HEAD)[2].splitlines() if line.startswith("|")])
    labs = measure_labs(root)
    assert [(int(number), title, name) for _, _, _, number, title, name, _, _ in plan] == [
        (lab.number, lab.title, lab.name) for lab in COURSE if lab.name in labs
    ]
    used: dict[int, int] = {}
    for sitting, h, m, number, _, name, walk, exercises in plan:
        assert (int(walk), int(exercises)) == (labs[name].walk_minutes, labs[name].exercise_minutes), (
            "run `kafkalab build-labs`"
        )
        assert 60 * int(h) + int(m) == used.get(int(sitting), 0), (
            f"lab {number} does not begin when the one before ends"
        )
        used[int(sitting)] = used.get(int(sitting), 0) + int(walk) + int(exercises)
    assert list(used) == list(range(1, len(used) + 1))
    assert "two hours" in part
    assert max(used.values()) <= SITTING_MINUTES == 120


@pytest.mark.parametrize("plan", PLANS)
def test_each_link_of_a_plan_opens_the_part_that_it_names(root: Path, text: str, plan: str) -> None:
    links = LINK.findall(section(text, plan))
    assert len(links) >= 7
    for name, lab, cell_id, does in links:
        cells = read(root / SOLUTIONS / f"{lab}.ipynb")["cells"]
        at = next((n for n, cell in enumerate(cells) if cell["id"] == cell_id), -1)
        assert at >= 0, f"{lab} has no cell {cell_id}"
        assert name in HEADING.findall("".join(cells[at]["source"])), f"{cell_id} of {lab} does not begin {name!r}"
        if counted := re.search(r"(\w+) lines", does):
            printed = print_below(cells, at)
            inner = [line for line in printed if line.startswith(" ")]
            assert NUMBERS[counted[1]] in (len(printed), len(inner)), f"{cell_id} of {lab} prints {len(printed)} lines"


def print_below(cells: list[dict[str, Any]], at: int) -> list[str]:
    """Return the lines that the cells of a part print, up to the next heading."""
    found: list[str] = []
    for cell in cells[at + 1 :]:
        if cell["cell_type"] == "markdown" and HEADING.search("".join(cell["source"])):
            break
        for output in cell.get("outputs", ()):
            found += "".join(output.get("text", "")).splitlines()
    return found


@pytest.mark.parametrize("plan", PLANS)
def test_the_frames_that_a_plan_names_fly_in_the_run_of_their_lab(text: str, plan: str) -> None:
    """Lab 9's run has a second EndTxn once the first is held, as the plan says."""
    runs = {
        0: [SCENARIOS["lab00"]()],
        3: [SCENARIOS["lab03"]()],
        9: [SCENARIOS["lab09"]().with_faults(Hold("EndTxn#1"), Release("EndTxn#1", at_ms=33_000))],
    }
    number, met = 9 if plan == "45 minutes" else 0, 0
    for line in section(text, plan).splitlines():
        number = int(named[1]) if (named := LAB.search(line)) else number
        for frame in FRAME.findall(line) if line.startswith("|") else ():
            met += 1
            assert any(frame in ran(run).trace.frames for run in runs[number]), f"lab {number} has no {frame}"
    assert met >= 1


def test_the_rows_of_exercise_3_1_end_as_the_plan_says(text: str) -> None:
    row = next(line for line in section(text, "90 minutes").splitlines() if "Exercise 3.1, rows" in line)
    numbers = [int(number) for number in re.findall(r"\d+", row.partition("rows")[2].partition("only")[0])]
    facts = {fact.name: fact.truth for fact in lab03_facts(1)}
    assert [facts[number] for number in numbers] == re.findall(r"committed|aborted", row.split("|")[4])[: len(numbers)]


def test_the_step_that_is_the_same_on_every_screen(text: str) -> None:
    (step, frame) = re.findall(r'"go to step (\d+) of lab 3" names `(\w+#\d+)`', text)[0]
    picture = Sequence(SCENARIOS["lab03"]())
    picture.step = picture.payload["frames"][frame]["sent"]
    assert f"\nstop {step} of " in str(picture)


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
