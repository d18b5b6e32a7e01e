"""What a graded notebook starts counts with it, and ends with it; the others are graded as if nothing had been."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalab.grading import learner, process_tree, runner
from kafkalab.grading.grade import Row, grade
from kafkalab.grading.runner import Limits
from kafkalab.grading.sheet import sheet
from kafkalab.grading.submissions import submissions
from tests.grading.processes import running
from tests.grading.test_grade import IMPORT, LAB, RIGHT, notebook, put

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of all processes")

MEMORY_MB, SEEN_WITHIN_S = 500, 20
SPAWN = """import multiprocessing
start = lambda code: multiprocessing.get_context("spawn").Process(target=exec, args=(code,))"""
EATS = "x = bytearray(b'1') * 200_000_000; import time; time.sleep(600)"
EATERS = f"""{SPAWN}
children = [start({EATS!r}) for _ in range(3)]
for child in children: child.start()
for child in children: child.join()"""
STAYS = f"time.sleep({600_000 + os.getpid()})"
"""The mark in a child's command line; a test looks for it."""
LEAVES = f"import os, sys; os.setsid(); os.execv(sys.executable, [sys.executable, '-c', 'import time; {STAYS}'])"
LINGERS = f"{SPAWN}\nchild = start({LEAVES!r})\nchild.start()\ne2 = {{f'process {{child.pid}}': ''}}"
DIES = f"""{LINGERS}
import os, time
time.sleep(2)
os._exit(0)"""
ORPHAN = """import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(600)
    os._exit(0)
time.sleep(600)"""


def lives(pid: int) -> bool:
    """Return True if there is such a process, and it is not only waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def until(true: Callable[[], object]) -> bool:
    """Return True if it becomes true within SEEN_WITHIN_S."""
    end = time.monotonic() + SEEN_WITHIN_S
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def start(code: str) -> subprocess.Popen[bytes]:
    first = "from kafkalab.grading.process_tree import adopt_orphans; adopt_orphans()\n"
    return subprocess.Popen([sys.executable, "-c", first + code], start_new_session=True)


def test_what_left_its_parent_and_its_session_is_found_and_ended() -> None:
    process = start(ORPHAN)
    try:
        seen: list[int] = []

        def is_orphaned() -> bool:
            """Whether only one is left, which is neither in the first session nor the leader of its own."""
            seen[:] = process_tree.members(process.pid)
            try:
                return len(seen) == 1 and os.getsid(seen[0]) not in (process.pid, seen[0])
            except ProcessLookupError:
                return False

        assert until(is_orphaned)
        (orphan,) = seen
        process_tree.end(process.pid)
        assert not lives(orphan)
        assert lives(process.pid), "the process itself is for its parent to end"
    finally:
        process.kill()
        process.wait()


def test_a_process_of_its_own_is_no_member_of_another_tree() -> None:
    one, other = start("import time; time.sleep(600)"), start("import time; time.sleep(600)")
    try:
        process_tree.end(one.pid)
        assert other.pid not in process_tree.members(one.pid)
        assert lives(other.pid)
    finally:
        for process in (one, other):
            process.kill()
            process.wait()


def test_memory_is_that_of_the_whole_tree_and_what_is_shared_counts_once() -> None:
    process = start("import os, time\nx = bytearray(b'1') * 100_000_000\nos.fork()\ntime.sleep(600)")
    try:
        assert until(lambda: bool(process_tree.members(process.pid)))
        everyone = [process.pid, *process_tree.members(process.pid)]
        assert until(lambda: 100 < process_tree.memory_mb(everyone) < 170)
    finally:
        process_tree.end(process.pid)
        process.kill()
        process.wait()


def find_reason(watched: learner.Learner) -> str:
    """Look once; return why the process is to be stopped, "" if it is not."""
    try:
        watched._look()
    except learner.EndedError as error:
        return str(error)
    return ""


def test_memory_that_seems_to_be_there_twice_for_one_look_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [90.0, 180.0, 90.0, 180.0, 180.0]
    said = ""
    monkeypatch.setattr(process_tree, "memory_mb", lambda pids: looks.pop(0))
    process = start("import time\ntime.sleep(600)")
    watched = learner.Learner.__new__(learner.Learner)
    watched.place = learner.Place(readable=(), hidden=(), time_s=60, memory_mb=100, seed=1)
    watched.sandbox, watched.process = runner.LANDLOCK, process
    watched._until, watched._weigh_at, watched._heavy = time.monotonic() + 60, 0.0, False
    watched._cpu, watched._cpu_at, watched._cpu_until = 0.0, 0.0, 60.0
    try:
        while looks and not said:
            said = find_reason(watched)
        assert not looks, "both of the last two looks were needed"
        assert "took more than 100 MB" in said
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module", params=[runner.sandbox_here(), runner.fallback()])
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    """Four students: two of whom start processes, one who dies and leaves one behind, and one who does nothing odd."""
    root, folder = tmp_path_factory.mktemp("course"), tmp_path_factory.mktemp("handed in")
    put(root / "labs" / "solutions", f"{LAB}.ipynb", notebook(IMPORT, RIGHT))
    cells = {
        "tree": (IMPORT, RIGHT, EATERS),
        "lingers": (IMPORT, LINGERS),
        "dies": (IMPORT, DIES),
        "good": (IMPORT, RIGHT),
    }
    for student, sources in cells.items():
        put(folder / student, f"{LAB}.ipynb", notebook(*sources))
    labs = sheet(root)
    limits = Limits(time_s=60, memory_mb=MEMORY_MB)
    done = grade(submissions(folder, labs), labs, folder, root, limits, sandbox=request.param)
    assert {row.sandbox for row in done} == {request.param}
    return {row.student: row for row in done}


@pytest.mark.notebooks
def test_children_that_take_too_much_together_end_the_notebook_with_a_row_that_says_so(rows: dict[str, Row]) -> None:
    row = rows["tree"]
    assert row.notebook.startswith("it was stopped: it and the ")
    assert row.notebook.endswith(f" processes that it had started took more than {MEMORY_MB} MB of memory in cell c2")
    assert (row.points, row.result) == (0, "not reached")


@pytest.mark.notebooks
def test_nobody_else_is_touched_by_it(rows: dict[str, Row]) -> None:
    assert (rows["good"].points, rows["good"].notebook) == (6, "it ran to the end")


@pytest.mark.notebooks
def test_no_child_outlives_its_notebook(rows: dict[str, Row]) -> None:
    assert "'process " in rows["lingers"].reason
    assert rows["dies"].notebook.startswith("it ended its own process, with status 0")
    assert running(STAYS) == [], "not even if the notebook dies first, and the child left its session"
