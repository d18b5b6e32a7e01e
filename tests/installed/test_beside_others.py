"""The wheel in other people's projects: without JupyterLab, and beside an older JupyterLab and an older pytest."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.empty_environments import empty_environment, install, pip, plain

pytestmark = pytest.mark.index

USERS_TEST = """import pytest

@pytest.mark.kafka_lab(topics={"orders": 3})
def test_brokers(kafka_lab):
    assert kafka_lab.bootstrap_servers.startswith("127.0.0.1:")

def test_types():
    import kafkalab
    assert kafkalab.Sequence(kafkalab.lab03()).press
"""


def versions(place: Path) -> dict[str, str]:
    """Return the version of each package in the environment."""
    return {row["name"]: row["version"] for row in json.loads(pip(place, "list", "--format=json"))}


def run_in(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder, outside of this checkout."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=plain())


def check_plugin(place: Path, folder: Path) -> None:
    """Run a user's two tests with the pytest of the environment."""
    folder.mkdir()
    (folder / "test_mine.py").write_text(USERS_TEST, "utf-8")
    run = run_in(folder, place / "bin" / "python", "-m", "pytest", "-q", "-W", "error")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 passed" in run.stdout


def test_the_core_has_the_plugin_and_no_jupyterlab(wheel: Path, tmp_path: Path) -> None:
    place = empty_environment(tmp_path / "environment")
    install(place, "--quiet", str(wheel), "pytest==8.*")
    found = versions(place)
    assert found["pytest"].startswith("8.")
    assert {"jupyterlab", "ipykernel", "pyspark", "cramjam"} & set(found) == set()
    check_plugin(place, tmp_path / "mine")
    empty = tmp_path / "empty"
    empty.mkdir()
    run = run_in(empty, place / "bin" / "kafkalab", "lab")
    missing = "kafkalab lab: JupyterLab is missing: pip install 'kafkalab-course[lab]'\n"
    assert (run.returncode, run.stdout, run.stderr) == (2, "", missing)
    assert list(empty.iterdir()) == []


def test_it_is_installed_beside_jupyterlab_4_4_and_pytest_8(wheel: Path, tmp_path: Path) -> None:
    place = empty_environment(tmp_path / "environment")
    install(place, "--quiet", f"{wheel}[lab,wire]", "jupyterlab==4.4.*", "pytest==8.*")
    found = versions(place)
    assert (found["jupyterlab"][:4], found["pytest"][:2]) == ("4.4.", "8.")
    assert "No broken requirements found." in pip(place, "check")
    check_plugin(place, tmp_path / "mine")
    learner = tmp_path / "learner"
    learner.mkdir()
    run = run_in(learner, place / "bin" / "kafkalab", "lab", "--version")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == found["jupyterlab"]
    assert (learner / "labs" / "00_start.ipynb").is_file()
