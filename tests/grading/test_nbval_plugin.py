"""Plain nbval grades, too: of a blank notebook the checks fail and nothing else, of a solved one nothing does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import nbformat
import pytest

from kafkalab.grading.builder import LABS, SOLUTIONS, is_check, read
from kafkalab.grading.progress import VARIABLE

LAB = "02_coordinator.ipynb"


def test_pytest_finds_the_plugin_where_kafkalab_is_installed(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"]["kafkalab-labs"] == "kafkalab.grading.nbval_plugin"


def nbval(folder: Path, mode: str) -> subprocess.CompletedProcess[str]:
    """Run the notebooks of the folder as somebody does who has set no variable."""
    command = [sys.executable, "-m", "pytest", mode, "--nbval-current-env", "--color=no", "-q", "."]
    if "kafkalab-labs" not in {found.name for found in entry_points(group="pytest11")}:
        command += ["-p", "kafkalab.grading.nbval_plugin"]  # an environment from before the plugin
    env = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


SLOW = """
import time
from kafkalab.grading import progress
from kafkalab.grading.progress_line import show_progress
for _ in show_progress(range(8), 8, "schedules"):
    time.sleep(0.5)
progress.note("L3.E1", True)
"""


@pytest.mark.notebooks
def test_a_slow_check_passes_in_strict_mode_and_leaves_no_progress(tmp_path: Path) -> None:
    """After two seconds a line said how far it was; nbval's strict mode found an output more than was saved."""
    cell = nbformat.v4.new_code_cell(SLOW, execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "slow.ipynb")
    run = nbval(tmp_path, "--nbval")
    assert "1 passed" in run.stdout, run.stdout
    assert {path.name for path in tmp_path.iterdir()} - {".pytest_cache", "__pycache__"} == {"slow.ipynb"}


@pytest.mark.smoke
@pytest.mark.notebooks
def test_of_a_blank_notebook_exactly_the_checks_fail_and_of_a_solved_one_nothing(root: Path, tmp_path: Path) -> None:
    shutil.copy(root / LABS / LAB, tmp_path / "blank.ipynb")
    shutil.copy(root / SOLUTIONS / LAB, tmp_path / "solved.ipynb")
    codes = [cell for cell in read(root / LABS / LAB)["cells"] if cell["cell_type"] == "code"]
    checks = {f"blank.ipynb::Cell {number}" for number, cell in enumerate(codes) if is_check(cell)}
    run = nbval(tmp_path, "--nbval-lax")
    assert set(re.findall(r"^FAILED (.*?) - ", run.stdout, re.M)) == checks
    assert f"{len(checks)} failed, {2 * len(codes) - len(checks)} passed" in run.stdout
