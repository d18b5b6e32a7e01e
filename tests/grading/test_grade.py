"""A folder of notebooks is graded: good ones get their points, hostile ones a row, and none stops the others."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalab.cli.main import main
from kafkalab.grading import seeds
from kafkalab.grading.builder import as_text
from kafkalab.grading.grade import Row, grade
from kafkalab.grading.judge import Judge
from kafkalab.grading.report import as_csv, as_html
from kafkalab.grading.runner import Limits, sandbox_here
from kafkalab.grading.sandbox import LEFT_OPEN
from kafkalab.grading.sheet import lab_of, sheet
from kafkalab.grading.submissions import NoNotebook, code_cells, submissions

LAB = "03_table"
TIME_S = 12
RIGHT = """e2 = {1: "appended", 2: "known", 3: "OUT_OF_ORDER_SEQUENCE_NUMBER", 4: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    5: "appended", 6: "appended", 7: "appended", 8: "INVALID_PRODUCER_EPOCH", 9: "OUT_OF_ORDER_SEQUENCE_NUMBER"}"""
CHECK = 'check("L1.E1", e2)'
NEIGHBOUR = "SECRET = 'the answer of a neighbour'"


def notebook(*sources: str, check: str = CHECK, check_id: str = "e2-check") -> dict[str, Any]:
    """A lab's notebook: these cells, and then the check."""
    facts = {"grade": True, "grade_id": check_id, "locked": True, "points": 6, "schema_version": 3, "solution": False}
    rows: list[tuple[str, str, dict[str, Any]]] = [(f"c{n}", source, {}) for n, source in enumerate(sources)]
    rows += [(check_id, check, {"nbgrader": facts})] if check_id else []
    cells = [
        {"cell_type": "code", "execution_count": None, "id": i, "metadata": m, "outputs": [], "source": [s]}
        for i, s, m in rows
    ]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


IMPORT = "from kafkalab import check"
HOSTILE: dict[str, tuple[str, ...]] = {
    "endless": (IMPORT, RIGHT, "while True: pass"),
    "hog": (IMPORT, RIGHT, "x = [bytes(range(256)) * 40_000 for _ in range(90)]"),
    "giant": (IMPORT, RIGHT, "x = bytearray(10_000_000_000)"),
    "leaves": (IMPORT, "import sys\nsys.exit(3)", RIGHT),
    "dies": (IMPORT, RIGHT, "import os\nos._exit(0)"),
    "killed": (IMPORT, RIGHT, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    "kills": (IMPORT, RIGHT, "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"),
    "forks": (IMPORT, RIGHT, "import os\nos.fork()"),
    "shell": (IMPORT, RIGHT, "import subprocess\nsubprocess.run(['ls'])"),
    "network": (IMPORT, RIGHT, "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)"),
    "cheats": ("import kafkalab\nkafkalab.check = check = lambda *a: 'right'", "e2 = 0"),
    "patches": (
        "from kafkalab.course.lab01 import exercise_1\nfrom dataclasses import replace",
        "exercise_1.EXERCISE = replace(exercise_1.EXERCISE, check=lambda answer: 'right')\ne2 = {'x': print}",
    ),
    "breaks": (IMPORT, "1 / 0", RIGHT),
    "syntax": (IMPORT, "def (", RIGHT),
    "noisy": (IMPORT, RIGHT, "print('x' * 10_000_000)"),
    "nothing": (IMPORT,),
    "thread": (IMPORT, RIGHT, "import threading, time\nthreading.Thread(target=time.sleep, args=(999,)).start()"),
}


def put(folder: Path, name: str, content: dict[str, Any] | bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else as_text(content).encode()
    (folder / name).write_bytes(data)


@pytest.fixture(scope="module")
def root_of_labs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("course")
    put(root / "labs" / "solutions", f"{LAB}.ipynb", notebook(IMPORT, RIGHT))
    return root


@pytest.fixture(scope="module")
def handed_in(root_of_labs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("handed in")
    for student, cells in HOSTILE.items():
        put(folder / student, f"{LAB}.ipynb", notebook(*cells))
    put(folder / "good", f"{LAB}.ipynb", notebook(IMPORT, RIGHT, NEIGHBOUR))
    there = folder / "good" / f"{LAB}.ipynb"
    put(folder / "reads", f"{LAB}.ipynb", notebook(IMPORT, RIGHT, f"text = open({str(there)!r}).read()"))
    look = "import ctypes, os\nlibc = ctypes.CDLL(None)\nassert libc.open({!r}.encode(), 0) < 0\nseen = 1"
    put(folder / "digs", f"{LAB}.ipynb", notebook(IMPORT, RIGHT, look.format(str(there))))
    lists = f"import os\nos.listdir({str(folder)!r})"
    put(folder / "lists", f"{LAB}.ipynb", notebook(IMPORT, RIGHT, lists))
    solution = root_of_labs / "labs" / "solutions" / f"{LAB}.ipynb"
    solutions = f"import pathlib\np = pathlib.Path({str(solution)!r}).read_text()"
    put(folder / "solutions", f"{LAB}.ipynb", notebook(IMPORT, RIGHT, solutions))
    put(folder / "edits", f"{LAB}.ipynb", notebook(IMPORT, "e2 = {}", check="print('L1.E1 ✓ 9 of 9 rows')"))
    put(folder / "drops", f"{LAB}.ipynb", notebook(IMPORT, RIGHT, check_id=""))
    put(folder / "text", f"{LAB}.ipynb", b"this is my homework")
    put(folder / "blank", f"{LAB}.ipynb", b"")
    put(folder / "list", f"{LAB}.ipynb", b"[1, 2]")
    put(folder / "deep", f"{LAB}.ipynb", b"[" * 100_000)
    put(folder / "link", "other.txt", b"")
    (folder / "link" / f"{LAB}.ipynb").symlink_to(there)
    (folder / "empty").mkdir()
    for group in ("group 1", "group 2"):
        put(folder / group / "Anna", f"{LAB}.ipynb", notebook(IMPORT, RIGHT if "1" in group else "e2 = {}"))
    put(folder, f"Zoë_{LAB} (1).ipynb", notebook(IMPORT, RIGHT))
    for name in (f"Eve_{LAB}.ipynb", f"{LAB}_Eve.ipynb"):
        put(folder, name, notebook(IMPORT, RIGHT))
    put(folder, "=cmd.ipynb", notebook(IMPORT, RIGHT))
    put(folder, "foreign.ipynb", notebook("x = 1", check_id=""))
    return folder


@pytest.fixture(scope="module")
def rows(root_of_labs: Path, handed_in: Path) -> dict[str, Row]:
    """The rows by student; with a short time and little memory."""
    labs = sheet(root_of_labs)
    found = submissions(handed_in, labs)
    before = dict(os.environ)
    done = grade(found, labs, handed_in, root_of_labs, Limits(time_s=TIME_S, memory_mb=700))
    assert dict(os.environ) == before
    by_student = {row.student: row for row in done}
    assert len(by_student) == len(done) - 1 == len(found) - 1  # Eve handed in two
    return by_student


GOOD = ("good", "drops", "leaves", "breaks", "syntax", "noisy", "thread", "group 1/Anna", "Zoë", "=cmd")
REFUSED = ("reads", "lists", "solutions", "kills", "forks", "shell", "network")
pytestmark = pytest.mark.notebooks


@pytest.mark.parametrize("student", GOOD)
def test_a_right_answer_gets_its_points_whatever_else_the_notebook_does(rows: dict[str, Row], student: str) -> None:
    row = rows[student]
    assert (row.points, row.of, row.result) == (6, 6, "right")
    assert row.reason == "L1.E1 ✓ 9 of 9 rows"


@pytest.mark.parametrize(
    ("student", "said"),
    [
        ("endless", f"it was stopped after {TIME_S} s of processor time in cell c2"),
        ("dies", "it ended its own process, with status 0 in cell c2"),
        ("killed", "its process was ended by SIGKILL in cell c2"),
    ],
)
def test_a_notebook_that_never_gets_to_its_check_has_a_row_that_says_where(
    rows: dict[str, Row], student: str, said: str
) -> None:
    row = rows[student]
    assert (row.points, row.of, row.result, row.notebook) == (0, 6, "not reached", said)


def test_memory_is_limited(rows: dict[str, Row]) -> None:
    for student in ("hog", "giant"):
        assert "it ran out of memory" in rows[student].notebook
        assert rows[student].points == 6


@pytest.mark.parametrize("student", REFUSED)
def test_what_is_not_the_notebooks_business_is_refused_and_told(rows: dict[str, Row], student: str) -> None:
    assert "cell c2 stops with PermissionError: a notebook that is graded" in rows[student].notebook
    assert rows[student].points == 6


def test_the_kernel_itself_hides_the_neighbours_where_it_can(rows: dict[str, Row]) -> None:
    from kafkalab.grading.landlock import version

    if not version():
        pytest.skip("this kernel has no Landlock")
    assert rows["digs"].notebook == "it ran to the end"


def test_leaving_is_told_and_the_cells_after_it_run(rows: dict[str, Row]) -> None:
    assert "cell c1 stops with SystemExit: 3" in rows["leaves"].notebook


@pytest.mark.parametrize(("student", "said"), [("edits", "was edited, and the"), ("drops", "was missing, and the")])
def test_an_edited_check_is_told_and_the_original_used(rows: dict[str, Row], student: str, said: str) -> None:
    assert f"the check cell e2-check {said}" in rows[student].notebook
    assert rows["edits"].points == 0
    assert rows["edits"].reason.startswith("L1.E1: The rows 1, 2")


def test_overwriting_the_check_is_of_no_use(rows: dict[str, Row]) -> None:
    assert (rows["cheats"].points, rows["patches"].points) == (0, 0)
    assert "it reads kafkalab.course" in rows["patches"].notebook


def test_an_answer_that_is_not_there_is_wrong(rows: dict[str, Row]) -> None:
    assert (rows["nothing"].result, rows["nothing"].reason) == ("wrong", "there is no variable e2")


@pytest.mark.parametrize(
    ("student", "said"),
    [
        ("text", "it is no notebook: it is no JSON"),
        ("deep", "it is no notebook: it is no JSON"),
        ("blank", "it is no notebook: the file is empty"),
        ("list", "it is no notebook: it has no list of cells"),
        ("link", "it is a link to another file, and links are not followed"),
        ("empty", "there is no notebook in it"),
        ("foreign", "it is of none of the labs: neither its name nor its cells say which of 03_table"),
    ],
)
def test_what_is_no_notebook_has_a_row_that_says_why(rows: dict[str, Row], student: str, said: str) -> None:
    assert (rows[student].notebook, rows[student].of, rows[student].exercise) == (said, 0, "")


def test_two_notebooks_of_one_lab_under_one_name_are_both_graded_and_told(rows: dict[str, Row]) -> None:
    assert rows["Eve"].notebook == "it ran to the end; there is another notebook of this lab under this name"
    assert rows["Eve"].points == 6
    assert "another notebook" not in rows["good"].notebook


def test_two_students_of_one_name_have_a_row_each(rows: dict[str, Row]) -> None:
    assert (rows["group 1/Anna"].points, rows["group 2/Anna"].points) == (6, 0)


def test_nothing_of_the_neighbours_is_in_the_report(rows: dict[str, Row]) -> None:
    assert not any("SECRET" in row.reason + row.notebook for row in rows.values())


def test_the_table_and_the_page_hold_every_row(rows: dict[str, Row]) -> None:
    everything = list(rows.values())
    table = list(csv.DictReader(as_csv(everything).splitlines()))
    assert [r["points"] for r in table] == [f"{r.points:g}" for r in everything]
    assert next(r for r in table if r["student"].endswith("=cmd"))["student"] == "'=cmd"
    page = as_html(everything, 7)
    assert page.count("<h2") == len(everything)
    assert "http" not in page.replace('<html lang="en">', "")
    assert all(word in page for word in ("Zoë", "with the seed 7", "group 1/Anna", "6 of 6"))


def test_the_page_says_what_the_notebooks_ran_in_and_what_that_does_not_stop(rows: dict[str, Row]) -> None:
    used = rows["good"].sandbox
    assert used == sandbox_here()
    assert f"Sandbox: {used}. {LEFT_OPEN[used]}" in as_html(list(rows.values()), 7).replace("&#x27;", "'")
    assert rows["text"].sandbox == ""


@pytest.mark.smoke
def test_a_judge_that_comes_to_its_end_costs_one_row(root_of_labs: Path, tmp_path: Path) -> None:
    put(tmp_path / "bo", f"{LAB}.ipynb", notebook(IMPORT, RIGHT))
    labs = sheet(root_of_labs)
    (found,) = submissions(tmp_path, labs)
    judge = Judge(tmp_path, root_of_labs, Limits(time_s=60), 7)
    try:
        judge._start()
        judge._process.kill()
        assert judge.story(found, labs[LAB]).end == "the grader's own process ended while it graded this"
        assert judge.story(found, labs[LAB]).outcomes["L1.E1"].solved
    finally:
        judge.close()


@pytest.mark.smoke
def test_names_and_reasons_cannot_be_code_of_the_page() -> None:
    row = Row(student="<script>1</script>", file="a&b", reason="<img src=x>", result="wrong", exercise="L1.E1")
    page = as_html([row], 1)
    assert "<script" not in page
    assert "<img" not in page
    assert "a&amp;b" in page


@pytest.mark.smoke
def test_the_command_writes_both_and_says_a_line_for_each(
    root_of_labs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "in" / "bo", f"{LAB}.ipynb", notebook(IMPORT, RIGHT))
    monkeypatch.chdir(root_of_labs)
    assert main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out" / "r.csv"), "--time", "30"]) == 0
    assert "bo/03_table.ipynb: 6 of 6 points, it ran to the end" in capsys.readouterr().out
    assert "L1.E1" in (tmp_path / "out" / "r.csv").read_text()
    assert "<h2" in (tmp_path / "out" / "r.html").read_text()


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name either a folder of notebooks or --tokens FILE"),
        (["nowhere"], "nowhere is no folder"),
        (["labs"], ""),
        (["nowhere", "--time", "0"], "a number from 1 on, not '0'"),
        (["nowhere", "--tokens", "x"], "name either a folder"),
    ],
)
def test_what_cannot_be_graded_is_said_in_a_line(
    root_of_labs: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    if arguments == ["labs"]:
        arguments, said = [str(root_of_labs / "none")], "is no folder"
    assert main(["grade", *arguments], root_of_labs) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("kafkalab grade: ")
    assert error.count("\n") == 1


def test_without_labs_or_without_notebooks_it_says_so(tmp_path: Path, root_of_labs: Path) -> None:
    with pytest.raises(ValueError, match="run it in the folder that holds labs/"):
        sheet(tmp_path)
    with pytest.raises(ValueError, match="holds no notebooks"):
        submissions(tmp_path, sheet(root_of_labs))


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda n: {**n, "cells": [7]}, "cell 1 is no cell"),
        (lambda n: {**n, "cells": [{"cell_type": "code", "source": 7}]}, "the source of cell 1 is no text"),
        (lambda n: {"worksheets": [n]}, "no list of cells"),
    ],
)
def test_notebooks_of_another_form_are_refused(change: Callable[[Any], Any], why: str) -> None:
    with pytest.raises(NoNotebook, match=why):
        code_cells(json.dumps(change(notebook("x"))).encode())


@pytest.mark.smoke
def test_a_cell_is_known_by_nbgraders_name_where_its_id_is_gone() -> None:
    cells = notebook("x")
    for cell in cells["cells"]:
        cell.pop("id")
    assert [c.id for c in code_cells(json.dumps(cells).encode())] == ["cell 1", "e2-check"]


def test_a_lab_says_what_it_may_take(root_of_labs: Path, tmp_path: Path) -> None:
    def limits(name: str, **metadata: Any) -> tuple[int, int]:
        made = notebook(IMPORT)
        made["metadata"]["kafkalab"] = metadata
        lab = lab_of(name, made)
        return lab.time_s, lab.memory_mb

    assert limits("03_x") == (60, 1024)
    assert limits("12_with_spark") == (600, 3072)
    assert limits("12_with_spark", time_s=90) == (90, 3072)
    assert limits("03_x", memory_mb=2000) == (60, 2000)


def test_only_labs_with_spark_in_their_name_may_use_it() -> None:
    assert [lab_of(name, notebook()).uses_spark for name in ("03_x", "12_with_spark")] == [False, True]


def test_a_labs_own_look_behind_the_curtain_is_not_held_against_anybody(tmp_path: Path) -> None:
    look = "from kafkalab.course.lab01.exercise_1 import LOOK"
    lab = lab_of(LAB, notebook(IMPORT, look))
    put(tmp_path / "bo", f"{LAB}.ipynb", notebook(IMPORT, look, RIGHT))
    put(tmp_path / "cy", f"{LAB}.ipynb", notebook(IMPORT, look + "\n", look.replace("LOOK", "truth"), RIGHT))
    rows = grade(submissions(tmp_path, {LAB: lab}), {LAB: lab}, tmp_path, tmp_path, Limits(time_s=60))
    assert ["it reads kafkalab.course" in row.notebook for row in rows] == [False, True]
    assert [row.points for row in rows] == [6, 6]


@pytest.mark.smoke
def test_a_check_cell_of_another_form_is_refused_with_its_name() -> None:
    with pytest.raises(ValueError, match="03_x: the check cell e2-check is not of the form"):
        lab_of("03_x", notebook(IMPORT, check="check('L1.E1', e2)"))


@pytest.mark.smoke
def test_partial_points_are_given_when_asked_for(root_of_labs: Path, tmp_path: Path) -> None:
    most = RIGHT.replace('1: "appended"', '1: "known"')
    put(tmp_path / "bo", f"{LAB}.ipynb", notebook(IMPORT, most))
    labs = sheet(root_of_labs)
    for partial, points in ((False, 0), (True, 5.33)):
        found = submissions(tmp_path, labs)
        (row,) = grade(found, labs, tmp_path, root_of_labs, Limits(time_s=30), partial=partial)
        assert (row.points, row.result) == (points, "wrong")


@pytest.mark.smoke
def test_the_notebook_runs_under_the_graders_seed(root_of_labs: Path, tmp_path: Path) -> None:
    asks = "from kafkalab.grading.seeds import seed\ne2 = {1: str(seed())}"
    put(tmp_path / "bo", f"{LAB}.ipynb", notebook(asks))
    labs = sheet(root_of_labs)
    (row,) = grade(submissions(tmp_path, labs), labs, tmp_path, root_of_labs, Limits(), seed=4711)
    assert "4711" in row.reason or "missing" in row.reason
    assert seeds.VARIABLE not in os.environ


def hear_interrupts() -> None:
    """Let the new process hear SIGINT, also where the tests run in the background, whose processes ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_graded_is_kept_when_the_command_is_stopped(
    root_of_labs: Path, tmp_path: Path, root: Path, number: signal.Signals
) -> None:
    for name in "abcdef":
        put(tmp_path / "in" / name, f"{LAB}.ipynb", notebook(IMPORT, RIGHT))
    table = tmp_path / "r.csv"
    command = [sys.executable, "-m", "kafkalab", "grade", str(tmp_path / "in"), "--out", str(table), "--jobs", "1"]
    with subprocess.Popen(
        [*command, "--seed", "987654321"], cwd=root_of_labs, env={**os.environ, "PYTHONPATH": str(root)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_interrupts,
    ) as process:  # fmt: skip
        until = time.monotonic() + 60
        while time.monotonic() < until and not (table.exists() and "L1.E1" in table.read_text()):
            time.sleep(0.05)
        seen = Path(f"/proc/{process.pid}/cmdline")
        assert not seen.exists() or b"987654321" not in seen.read_bytes()
        process.send_signal(number)
        said, complained = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complained == ""
    with table.open(encoding="utf-8") as file:
        kept = len(list(csv.DictReader(file)))
    assert 1 <= kept < 6
    assert f"stopped: {kept} of 6 notebooks are graded, in {table} and " in said
    assert (tmp_path / "r.html").read_text().count("<h2") == kept


SPARK_CELLS = (
    IMPORT,
    "from kafkalab.spark.session.session import spark_session\nspark = spark_session(brief=True)",
    "from pyspark.sql.functions import udf\nadd = udf(lambda x: x + 1, 'long')",
    "total = spark.range(10).select(add('id').alias('y')).agg({'y': 'sum'}).collect()[0][0]\nspark.stop()",
    f"{RIGHT}\nassert total == 55",
)


@pytest.mark.spark
def test_a_notebook_that_needs_spark_is_graded_within_its_fences(
    root_of_labs: Path, tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("java")
    put(tmp_path / "bo", f"{LAB}.ipynb", notebook(*SPARK_CELLS))
    labs = {LAB: replace(sheet(root_of_labs)[LAB], name="spark")}
    found = submissions(tmp_path, labs)
    (row,) = grade(found, labs, tmp_path, root_of_labs, Limits(time_s=400, memory_mb=2048))
    assert (row.points, row.notebook) == (6, "it ran to the end")
