"""Plain nbval grades, too: of a blank notebook the checks fail and nothing else, of a solved one nothing does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from kafkalab.grading.builder import LABS, SOLUTIONS, is_check, read

LAB = "02_coordinator.ipynb"


def test_pytest_finds_the_plugin_where_kafkalab_is_installed(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"]["kafkalab-labs"] == "kafkalab.grading.nbval_plugin"


@pytest.mark.smoke
@pytest.mark.notebooks
def test_of_a_blank_notebook_exactly_the_checks_fail_and_of_a_solved_one_nothing(root: Path, tmp_path: Path) -> None:
    shutil.copy(root / LABS / LAB, tmp_path / "blank.ipynb")
    shutil.copy(root / SOLUTIONS / LAB, tmp_path / "solved.ipynb")
    codes = [cell for cell in read(root / LABS / LAB)["cells"] if cell["cell_type"] == "code"]
    checks = {f"blank.ipynb::Cell {number}" for number, cell in enumerate(codes) if is_check(cell)}
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "--color=no", "-q", "."]
    if "kafkalab-labs" not in {found.name for found in entry_points(group="pytest11")}:
        command += ["-p", "kafkalab.grading.nbval_plugin"]  # an environment from before the plugin
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert set(re.findall(r"^FAILED (.*?) - ", run.stdout, re.M)) == checks
    assert f"{len(checks)} failed, {2 * len(codes) - len(checks)} passed" in run.stdout
