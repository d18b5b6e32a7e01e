"""`kafkalab build-labs --begin NN` writes a lab that runs: its exercise passes, its misconception is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalab.cli.main import main
from kafkalab.course.lab import CourseLab
from kafkalab.grading.builder import student

LAB = CourseLab(name="97_a_new_lab", title="A new lab", know="what is new")
RUN = """
import json, sys
import kafkalab.course
kafkalab.course.__path__.append(sys.argv[1] + "/kafkalab/course")
notebook = json.load(open(sys.argv[2], encoding="utf-8"))
space = {}
for cell in notebook["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), space)
number = sys.argv[3]
print(space["check"](f"L{number}.E1", space["e1"]))
try:
    space["check"](f"L{number}.E1", space["question"](f"L{number}.E1"))
except Exception as error:
    print(error.miss)
"""


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the course plan one lab more."""
    monkeypatch.setattr("kafkalab.course.new_lab.PLANNED", (LAB,))


@pytest.fixture
def begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the files of the first planned lab, and nothing else."""
    for name in ("kafkalab/course", "tests/course", "labs/solutions"):
        (tmp_path / name).mkdir(parents=True)
    assert main(["build-labs", "--begin", f"{LAB.number:02}"], tmp_path) == 0
    return tmp_path


def test_all_cells_run_the_answer_is_right_and_a_misconception_is_found(begun: Path) -> None:
    solution = begun / "labs" / "solutions" / f"{LAB.name}.ipynb"
    command = [sys.executable, "-c", RUN, str(begun), str(solution), str(LAB.number)]
    off = {**os.environ, "KAFKALAB_PROGRESS": "off"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=off)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-2:] == [f"L{LAB.number}.E1 ✓ 4 of 4 predictions", "no marker"]


def test_the_learners_copy_has_no_answer_and_the_title_is_the_courses(begun: Path) -> None:
    solution = json.loads((begun / "labs" / "solutions" / f"{LAB.name}.ipynb").read_text(encoding="utf-8"))
    texts = {c["id"]: "".join(c["source"]) for c in student(solution)["cells"]}
    assert texts["title"].startswith(f"# {LAB.title}\n")
    assert texts["e1-answer"] == "e1 = []"
    assert texts["guess"].endswith(f"\n{texts['guess-told']}")


def test_nothing_is_overwritten(begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (begun / "kafkalab" / "course" / f"lab{LAB.number:02}" / "__init__.py").write_text("mine")
    assert main(["build-labs", "--begin", str(LAB.number)], begun) == 2
    assert f"lab{LAB.number:02}/__init__.py is there already" in capsys.readouterr().err
    assert (begun / "kafkalab" / "course" / f"lab{LAB.number:02}" / "__init__.py").read_text() == "mine"


def test_a_lab_that_nobody_has_planned_is_refused_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build-labs", "--begin", "98"], tmp_path) == 2
    assert f"no lab 98 is in PLANNED of kafkalab/course/lab.py; there are {LAB.number:02}\n" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_a_plan_a_row_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kafkalab.course.new_lab.PLANNED", ())
    assert main(["build-labs", "--begin", "98"], tmp_path) == 2
    assert "there are none: write a row with its number first" in capsys.readouterr().err
