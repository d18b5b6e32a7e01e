"""A lab is found by its folder: its facts, its exercises, its scenarios, and the names that notebooks import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kafkalab
from kafkalab.course.labs import COURSE, FOUND
from kafkalab.course.start_page import README, refresh_start_page
from kafkalab.grading.builder import SOLUTIONS
from kafkalab.grading.check import find
from kafkalab.grading.exercise import EXERCISES
from kafkalab.grading.forms import Form
from kafkalab.sim.scenario_names import SCENARIOS


def test_every_folder_is_a_lab_with_a_solution_and_every_exercise_file_an_exercise(root: Path) -> None:
    folders = sorted((root / "kafkalab" / "course").glob("lab[0-9][0-9]"))
    assert [f"lab{lab.number:02}" for lab in FOUND] == [folder.name for folder in folders]
    assert [lab for lab in FOUND if not (root / SOLUTIONS / f"{lab.name}.ipynb").exists()] == []
    assert len(EXERCISES) == sum(len(list(folder.glob("exercise_*.py"))) for folder in folders)
    assert [name for name in EXERCISES if find(name).id != name] == []
    assert set(FOUND) <= set(COURSE)


def test_at_most_eight_exercises_are_tables() -> None:
    """A table can be guessed cell by cell; an order, a repair, a review or a function cannot."""
    forms = {name: form for name in EXERCISES if isinstance(form := find(name).check, Form)}
    tables = [name for name, form in forms.items() if form.kind == "table"]
    eight = ["L1.E1", "L3.E1", "L7.E2", "L9.E3", "L10.E2", "L11.E1", "L12.E4", "L14.E1"]
    assert sorted(tables) == sorted(eight)
    assert {name: form.kind for name, form in forms.items() if name not in tables} == {
        "L5.E4": "mixed questions",
        "L14.E2": "mixed questions",
    }


def test_a_lab_is_read_after_the_one_that_it_names() -> None:
    numbers = [lab.number for lab in COURSE]
    assert [numbers[numbers.index(number) + 1] for number in (8, 11, 12)] == [15, 17, 16]
    assert [number for number in numbers if number < 15] == sorted(set(numbers) - {15, 16, 17})


def test_a_notebook_imports_the_labs_scenarios_from_kafkalab() -> None:
    from kafkalab import hanging, lab05, two_accounts, two_charges

    lazy: Any = kafkalab
    assert two_accounts().title == "Two accounts"
    assert hanging is SCENARIOS["hanging"].func
    assert lab05 is SCENARIOS["lab05-"].func
    assert SCENARIOS["lab05-"]() == lab05(isolation_level="read_uncommitted")
    assert {"lab03", "two_charges", "Sequence"} <= set(lazy.__all__) <= set(dir(kafkalab))
    assert two_charges.__module__ == "kafkalab.course.lab06.scenario"
    with pytest.raises(AttributeError, match="module 'kafkalab' has no attribute 'lab99'"):
        _ = lazy.lab99


def test_a_new_process_finds_scenarios_programs_and_exercises_without_importing_the_course_before(root: Path) -> None:
    code = (
        "import sys; from kafkalab.sim.codec import scenario_of_code; from kafkalab.sim.cluster import Cluster\n"
        "assert not [m for m in sys.modules if m.startswith(('kafkalab.course', 'kafkalab.programs.'))]\n"
        "Cluster(scenario_of_code('K1-HF398-M024E-G0SN4-1E2ZW-BHP60-8000Y-FB')).run()\n"
        "from kafkalab.grading.exercise import EXERCISES; print(EXERCISES['L3.E1'])\n"
        "print([m for m in sys.modules if 'exercise_' in m])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("kafkalab.course.lab03.exercise_1\n[]\n", "")


def test_the_readmes_table_of_labs_is_written_by_build_labs(root: Path, tmp_path: Path) -> None:
    (tmp_path / "labs").symlink_to(root / "labs")
    text = (root / README).read_text(encoding="utf-8")
    (tmp_path / README).write_text(text, encoding="utf-8")
    assert refresh_start_page(tmp_path) == []
    (tmp_path / README).write_text(text.replace("The idempotent producer](", "Another title](", 1), encoding="utf-8")
    assert refresh_start_page(tmp_path) == [tmp_path / README]
    assert (tmp_path / README).read_text(encoding="utf-8") == text
