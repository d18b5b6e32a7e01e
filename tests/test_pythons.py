"""`make pythons` finds the Pythons that are there, runs the fast tests with each, and says which are not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import pythons


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Python 3.12.1 and 3.12.10 of pyenv, of which the latter does not run, and nothing else."""
    for version, program in (("3.12.1", "echo 3.12.1"), ("3.12.10", "exit 1"), ("3.12.2", "echo 2.7.18")):
        path = tmp_path / "versions" / version / "bin" / "python3.12"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{program}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "/bin-of-nothing")
    monkeypatch.setattr(pythons, "BUILD", tmp_path)
    return tmp_path


def test_a_python_that_does_not_run_or_is_another_version_is_passed_over(fake: Path) -> None:
    order = [Path(path).parts[-3] for path in pythons.candidates((3, 12))]
    assert order == ["3.12.10", "3.12.2", "3.12.1"]
    assert pythons.python_of((3, 12)) == (str(fake / "versions" / "3.12.1" / "bin" / "python3.12"), "3.12.1")
    assert pythons.python_of((3, 14)) is None


def test_one_that_make_has_fetched_is_found(fake: Path) -> None:
    path = fake / "python3.14-of-maven" / "bin" / "python3.14"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\necho 3.14.3\n")
    path.chmod(0o755)
    assert pythons.python_of((3, 14)) == (str(path), "3.14.3")
    assert pythons.python_of((3, 11)) is None


def test_make_fetches_it_to_where_it_is_looked_for(root: Path) -> None:
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-n", "python3.14"]
    run = subprocess.run(command, cwd=root, env=alone, capture_output=True, text=True, timeout=60, check=True)
    last = f"{pythons.BUILD.name}/python3.14-of-maven/bin/python3.14 --version"
    assert last in run.stdout.splitlines()


def test_each_python_has_a_line(
    fake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pythons, "command", lambda *_: ["/bin/sh", "-c", "echo 12 passed in 1s"])
    assert pythons.main([]) == 0
    lines = capsys.readouterr().out.splitlines()[-4:]
    assert lines[0] == "3.11: not on this machine, so not tested"
    assert lines[1] == "3.12.1: passed in 0 s: 12 passed in 1s"
    assert lines[3] == "3.14: not on this machine, so not tested (`make python3.14` gets it)"


def test_one_that_fails_fails_the_command(
    fake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pythons, "command", lambda *_: ["/bin/sh", "-c", "echo 1 failed; exit 1"])
    assert pythons.main(["--only", "3.12"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "3.12.1: FAILED in 0 s: 1 failed"


def test_the_interpreter_of_these_tests_is_found() -> None:
    here = sys.version_info[:2]
    if not any(os.access(path, os.X_OK) for path in pythons.candidates(here)):
        pytest.skip("this Python is neither on the path nor among pyenv's")
    assert pythons.python_of(here) is not None


def test_the_workflow_and_the_command_know_the_same_pythons(root: Path) -> None:
    workflow = yaml.safe_load((root / ".github" / "workflows" / "pythons.yml").read_text())
    known = ["{}.{}".format(*version) for version in pythons.KNOWN]
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == known
