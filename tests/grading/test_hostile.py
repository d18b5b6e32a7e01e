"""Notebooks that cheat, break things or never end get no point for it, and each neighbour keeps its own grade."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalab.grading import runner
from kafkalab.grading.grade import Row, grade
from kafkalab.grading.runner import Limits
from kafkalab.grading.sheet import sheet
from kafkalab.grading.submissions import submissions
from tests.grading import hostile
from tests.grading.processes import running
from tests.grading.test_grade import LAB, put

pytestmark = pytest.mark.notebooks

CHECKS = (("L1.E1", "e2", 6), ("L1.E2", "accept", 7), ("L1.E3", "stubborn", 9))
ALL = sum(points for _, _, points in CHECKS)
TIME_S, MEMORY_MB = 15, 700
NEIGHBOURS = ("0 before", "m between", "~ after")


def notebook(*sources: str) -> dict[str, Any]:
    """A notebook with these cells, and then the three checks."""
    rows: list[tuple[str, str, dict[str, Any]]] = [(f"c{n}", source, {}) for n, source in enumerate(sources)]
    for exercise, answer, points in CHECKS:
        facts = {"grade": True, "grade_id": f"{answer}-check", "points": points, "schema_version": 3}
        rows.append((f"{answer}-check", f'check("{exercise}", {answer})', {"nbgrader": facts}))
    cells = [
        {"cell_type": "code", "execution_count": None, "id": i, "metadata": m, "outputs": [], "source": [s]}
        for i, s, m in rows
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def grade_cells(root: Path, folder: Path, cells: dict[str, tuple[str, ...]], sandbox: str = "") -> dict[str, list[Row]]:
    """The rows of each student who hands in these cells, and of the honest neighbours."""
    put(root / "labs" / "solutions", f"{LAB}.ipynb", notebook(hostile.HONEST))
    for student, sources in {**cells, **dict.fromkeys(NEIGHBOURS, (hostile.HONEST,))}.items():
        put(folder / student, f"{LAB}.ipynb", notebook(*sources))
    labs = sheet(root)
    found = submissions(folder, labs)
    limits = Limits(time_s=TIME_S, memory_mb=MEMORY_MB, wall_s=4 * TIME_S)
    done = grade(found, labs, folder, root, limits, seed=271_828, sandbox=sandbox)
    return {student: [row for row in done if row.student == student] for student in (*cells, *NEIGHBOURS)}


@pytest.fixture(scope="module")
def listening() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A UDP port of this machine, and a Unix socket in its abstract name space."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unix,
    ):
        udp.bind(("127.0.0.1", 0))
        unix.bind(f"\0kafkalab-test-{os.getpid()}")
        udp.settimeout(0.1)
        unix.settimeout(0.1)
        yield udp, unix


TALKS = """import ctypes, struct, socket
libc = ctypes.CDLL(None, use_errno=True)
def send(family, address):
    libc.sendto(libc.socket(family, 2, 0), b"answer", 6, 0, address, len(address))
send(2, struct.pack("<H", 2) + struct.pack(">H", {port}) + bytes([127, 0, 0, 1]) + bytes(8))
send(1, struct.pack("<H", 1) + {name!r})
def partition_of(text, partitions): return -1
"""


@pytest.fixture(scope="module")
def rows(
    tmp_path_factory: pytest.TempPathFactory, listening: tuple[socket.socket, socket.socket]
) -> dict[str, list[Row]]:
    root, folder = tmp_path_factory.mktemp("course"), tmp_path_factory.mktemp("handed in")
    there = folder / NEIGHBOURS[0] / f"{LAB}.ipynb"
    reads = f"{hostile.LIBC}assert libc.open({str(there)!r}.encode(), 0) < 0"
    udp, unix = listening
    talks = TALKS.format(port=udp.getsockname()[1], name=unix.getsockname())
    more = {"reads": (hostile.NOTHING, reads), "talks": (hostile.NOTHING, talks), "gives": (GIVES,)}
    return grade_cells(root, folder, {**hostile.CELLS, **more})


GIVES = hostile.GIVE.format(answers=hostile.ANSWERS)


@pytest.mark.parametrize("student", hostile.CELLS)
def test_it_gets_no_point_and_a_row_for_each_exercise(rows: dict[str, list[Row]], student: str) -> None:
    assert [(row.exercise, row.points, row.result == "right") for row in rows[student]] == [
        (exercise, 0, False) for exercise, _, _ in CHECKS
    ]
    assert all(row.reason and row.notebook for row in rows[student])


@pytest.mark.parametrize("student", NEIGHBOURS)
def test_each_neighbour_keeps_its_points(rows: dict[str, list[Row]], student: str) -> None:
    found = [(row.points, row.reason) for row in rows[student]]
    assert [points for points, _ in found] == [points for _, _, points in CHECKS], found
    assert {row.notebook for row in rows[student]} == {"it ran to the end"}


def test_what_is_right_counts_whatever_else_the_notebook_wants(rows: dict[str, list[Row]]) -> None:
    assert [row.points for row in rows["gives"]] == [6, 0, 0]


@pytest.mark.parametrize(
    ("student", "said"),
    [
        ("loops", f"it was stopped: it waited, and was given {TIME_S} s of processor time and more by the clock in"),
        ("many cells", f"it was stopped after {TIME_S} s of processor time in cell c"),
        ("memory files", f"it was stopped: it took more than {MEMORY_MB} MB of memory in cell c1"),
        ("stops itself", "it was stopped: it waited"),
        ("never returns", f"it was stopped after {TIME_S} s of processor time in cell accept-check"),
        ("bomb", "it was stopped: it had started more than 64 processes in cell c1"),
        ("rows", "it was stopped: its answer is larger than 2 MB in cell c0"),
        ("raises", "cell c0 stops with WrongAnswer"),
    ],
)
def test_the_report_says_how_it_ended(rows: dict[str, list[Row]], student: str, said: str) -> None:
    assert rows[student][0].notebook.startswith(said)


def test_values_that_cannot_be_read_are_wrong_answers(rows: dict[str, list[Row]]) -> None:
    assert rows["large"][0].reason == "the answer cannot be read: it is larger than 2 MB"
    assert rows["deep"][0].reason.startswith("the answer cannot be read: it is nested")
    assert rows["colliding set"][0].reason == "the answer cannot be read: a set in it has more than 2,000 elements"
    assert rows["colliding dict"][0].reason == "the answer cannot be read: a dict in it has more than 2,000 elements"
    assert rows["digits"][0].reason == "the answer cannot be read: a number in it has more than 1024 bits"


def test_nothing_that_a_notebook_starts_outlives_it(rows: dict[str, list[Row]]) -> None:
    assert rows["escapes"]
    assert running(hostile.ESCAPED) == []


def test_no_file_of_a_neighbour_can_be_opened(rows: dict[str, list[Row]]) -> None:
    if rows["reads"][0].sandbox == runner.HOOK:
        pytest.skip("only bubblewrap and Landlock can refuse what Python does not see")
    assert {row.notebook for row in rows["reads"]} == {"it ran to the end"}


def test_bubblewrap_lets_nothing_out(
    rows: dict[str, list[Row]], listening: tuple[socket.socket, socket.socket], program: Any
) -> None:
    program("bwrap")
    assert {row.sandbox for row in rows["talks"]} == {"bubblewrap"}
    for end in listening:
        with pytest.raises(TimeoutError):
            end.recv(9)


def test_there_are_sixty() -> None:
    assert len(hostile.CELLS) >= 60


def test_no_reason_has_a_class_of_the_grader_or_a_traceback(rows: dict[str, list[Row]]) -> None:
    said = [text for found in rows.values() for row in found for text in (row.reason, row.notebook)]
    assert [text for text in said if "UnreadableError" in text or "Traceback" in text or "ambiguous" in text] == []


@pytest.mark.smoke
def test_five_kinds_get_no_point_and_their_neighbours_keep_theirs(tmp_path: Path) -> None:
    cells = {name: hostile.CELLS[name] for name in ("rows", "equal", "never returns", "colliding set", "escapes")}
    done = grade_cells(tmp_path / "course", tmp_path / "in", cells)
    assert {name: sum(row.points for row in found) for name, found in done.items()} == {
        **dict.fromkeys(cells, 0), **dict.fromkeys(NEIGHBOURS, ALL),
    }  # fmt: skip
    assert running(hostile.ESCAPED) == []


def test_where_there_is_no_bubblewrap_nothing_is_left_behind_or_passed_on_either(tmp_path: Path) -> None:
    names = list(hostile.CELLS)
    cells = {name: hostile.CELLS[name] for name in names} | {"gives": (GIVES,)}
    done = grade_cells(tmp_path / "course", tmp_path / "in", cells, runner.fallback())
    assert {name: sum(row.points for row in found) for name, found in done.items()} == {
        **dict.fromkeys(names, 0), "gives": 6, **dict.fromkeys(NEIGHBOURS, ALL),
    }  # fmt: skip
    assert running(hostile.ESCAPED) == []
    assert {row.sandbox for row in done["equal"]} == {runner.fallback()}
