"""The frame around the code: environments that agree, a Makefile that installs once, Binder, workflows, forms."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import kafkalab


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, object]:
    """The [project] table of pyproject.toml."""
    table: dict[str, object] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return table


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """A folder with a copy of what `make lab` reads before anything is installed."""
    shutil.copytree(root / "binder", tmp_path / "binder")
    for name in ("Makefile", "constraints.txt", "pyproject.toml"):
        shutil.copy(root / name, tmp_path)
    return tmp_path


def constraints(root: Path) -> dict[str, str]:
    """Return the version of each package that constraints.txt pins."""
    lines = (root / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def make(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """One call of make, outside of any make that runs these tests, and without the variables given to that one."""
    own = re.findall(r"\b([A-Z]+) *[:?]?=|\$\(([A-Z]+)\)", (folder / "Makefile").read_text())
    outer = {name for names in own for name in names} | {"MFLAGS"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k not in outer - {"PATH"}}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def test_every_requirement_is_pinned_once_to_a_version_in_its_range(root: Path, project: dict[str, Any]) -> None:
    ranges = [Requirement(r) for r in (*project["dependencies"], *sum(project["optional-dependencies"].values(), []))]
    pinned = constraints(root)
    assert sorted(pinned) == sorted(r.name for r in ranges)
    assert [str(r) for r in ranges if pinned[r.name] not in r.specifier] == []


def test_constraints_are_exact_and_sorted(root: Path) -> None:
    lines = (root / "constraints.txt").read_text().splitlines()[1:]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9.]+([.]post[0-9]+)?", line)] == []
    assert lines == sorted(lines, key=lambda line: line.partition("==")[0])


def test_the_core_has_neither_jupyterlab_nor_a_compiled_client(project: dict[str, Any]) -> None:
    core = {Requirement(r).name for r in project["dependencies"]}
    assert core == {"ipywidgets", "anywidget", "crc32c"}
    assert {"jupyterlab", "ipykernel"} <= {Requirement(r).name for r in project["optional-dependencies"]["lab"]}


def test_make_installs_with_the_constraints(root: Path) -> None:
    installs = re.findall(r"pip install .*", (root / "Makefile").read_text())
    assert [line for line in installs if "--editable" in line and "--constraint constraints.txt" not in line] == []
    assert any("--editable" in line for line in installs)


def test_the_distribution_is_not_called_kafkalab(project: dict[str, Any]) -> None:
    assert project["name"] == "kafkalab-course"


def test_spark_is_an_extra(project: dict[str, Any]) -> None:
    connect = {"protobuf", "grpcio", "grpcio-status", "googleapis-common-protos", "zstandard"}
    wanted = {"pyspark", "pyarrow", "pandas", "numpy"} | connect
    assert {Requirement(r).name for r in project["optional-dependencies"]["spark"]} == wanted


def test_both_conda_environments_are_the_same_file(root: Path) -> None:
    assert (root / "environment.yml").read_bytes() == (root / "binder" / "environment.yml").read_bytes()


def test_conda_brings_only_what_pip_cannot(root: Path) -> None:
    environment = yaml.safe_load((root / "environment.yml").read_text())
    assert (environment["name"], environment["channels"]) == ("kafkalab", ["conda-forge"])
    *conda, by_pip = environment["dependencies"]
    # Binder reads the Python version only where it is given with one equals sign.
    assert conda == ["python=3.12", "openjdk=17", "graphviz", "pip"]
    assert list(by_pip) == ["pip"]


def test_pip_brings_the_rest_in_the_versions_of_the_constraints(root: Path, project: dict[str, Any]) -> None:
    environment = yaml.safe_load((root / "environment.yml").read_text())
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["lab"], *extras["spark"], *extras["clients"], "pytest", "nbval"]
    pinned = constraints(root)
    exactly = [f"{name}=={pinned[name]}" for name in (Requirement(r).name for r in wanted)]
    assert sorted(environment["dependencies"][-1]["pip"]) == sorted(exactly)


def test_workflows_name_each_action_by_its_commit_and_may_only_read(root: Path) -> None:
    workflows = sorted((root / ".github" / "workflows").glob("*.yml"))
    uses = [line.strip() for path in workflows for line in path.read_text().splitlines() if "uses:" in line]
    assert uses
    assert [line for line in uses if not re.fullmatch(r"(- )?uses: [\w./-]+@[0-9a-f]{40}  # v[0-9.]+", line)] == []
    assert {path.name: yaml.safe_load(path.read_text())["permissions"]["contents"] for path in workflows} == {
        path.name: "read" for path in workflows
    }


def test_the_citation_has_the_version_and_the_newest_date_of_the_changelog(root: Path) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    released = re.findall(r"^## ([0-9.]+) - ([0-9-]+)$", (root / "CHANGELOG.md").read_text(), re.M)
    assert (citation["version"], str(citation["date-released"])) == released[0]
    assert citation["version"] == kafkalab.__version__


@pytest.mark.parametrize("name", ["bug", "teaching", "unlike_kafka"])
def test_issue_forms_ask_for_what_is_needed(name: str, root: Path) -> None:
    form = yaml.safe_load((root / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert {"name", "description", "body"} <= set(form)
    assert [field["id"] for field in form["body"] if not field["attributes"]["label"]] == []
    assert all(field["validations"]["required"] for field in form["body"])


PAGE = "labs/00_start.ipynb"
SERVED = f"--ServerApp.default_url=/lab/tree/{PAGE} --LabApp.default_url=/lab/tree/{PAGE}"


@pytest.mark.parametrize(
    ("given", "started"),
    [
        ("jupyter notebook --ip=0 --ServerApp.default_url=/lab --port=1", f"jupyter notebook --ip=0 --port=1 {SERVED}"),
        ("jupyter lab --ip=0", f"jupyter lab --ip=0 {SERVED}"),
        ("jupyter-lab", f"jupyter-lab {SERVED}"),
        ("jupyterhub-singleuser --ip=0", f"jupyterhub-singleuser --ip=0 {SERVED}"),
        ("jupyter trust a.ipynb", "jupyter trust a.ipynb"),
        ("python -m http.server", "python -m http.server"),
    ],
)
def test_binder_starts_the_server_on_the_start_page(given: str, started: str, root: Path, tmp_path: Path) -> None:
    for name in ("jupyter", "jupyter-lab", "jupyterhub-singleuser", "python"):
        (tmp_path / name).write_text('#!/bin/sh\necho "$(basename "$0") $@"\n')
        (tmp_path / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [str(root / "binder" / "start"), *given.split()]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (run.stdout.strip(), run.stderr) == (started, "")
    assert (root / PAGE).is_file()


def test_scripts_can_be_executed(root: Path) -> None:
    scripts = ("binder/postBuild", "binder/start", ".ci/run", ".ci/limit_cpu")
    assert [p for p in scripts if not os.access(root / p, os.X_OK)] == []


def test_post_build_installs_the_package_and_the_settings_and_may_run_twice(checkout: Path) -> None:
    prefix, log = checkout / "prefix", checkout / "calls"
    python = checkout / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && echo "{prefix}" || echo "$@" >> "{log}"\n')
    python.chmod(0o755)
    environment = os.environ | {"PATH": f"{python.parent}:{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run([checkout / "binder" / "postBuild"], env=environment, check=True, timeout=60)
    calls = ["-m pip install --no-deps --editable .", "-m kafkalab.cli.lab", "-m kafkalab.spark.session.keep_classes"]
    assert log.read_text().splitlines() == calls * 2
    settings = prefix / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    assert settings.read_bytes() == (checkout / "binder" / "overrides.json").read_bytes()


def test_make_lab_says_what_is_wrong_where_no_python_is_new_enough(checkout: Path) -> None:
    run = make("lab", "PYTHONS=python2 no-such-python", folder=checkout)
    assert run.returncode != 0
    assert "needs Python 3.11 or newer" in run.stdout
    assert "make lab PYTHON=" in run.stdout
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("name", ["PYTHON", "ARGS", "PYTHONS"])
def test_a_make_within_a_make_does_not_see_its_variables(
    name: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = make("-n", "lab", folder=checkout).stdout
    monkeypatch.setenv(name, "of-the-outer-make")
    assert make("-n", "lab", folder=checkout).stdout == alone


def test_make_lab_installs_only_once(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    stamp = checkout / ".venv" / "lab.stamp"
    assert "pip install" in make("-n", "lab", folder=checkout).stdout
    stamp.touch()
    assert make("-n", "lab", "ARGS=--no-browser", folder=checkout).stdout == ".venv/bin/kafkalab lab --no-browser\n"
    os.utime(checkout / "pyproject.toml", (stamp.stat().st_mtime + 5,) * 2)
    assert "pip install" in make("-n", "lab", folder=checkout).stdout


def test_every_file_that_the_readme_points_to_exists(root: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", (root / "README.md").read_text())
    assert targets
    assert [t for t in targets if not (root / t).exists()] == []


@pytest.mark.parametrize(
    ("minutes", "code", "status"),
    [("1", "pass", 0), ("0.001", "while time.process_time() < 0.2: pass", 1), ("0", "raise SystemExit(3)", 3)],
)
def test_a_command_that_needs_more_cpu_time_than_allowed_fails(
    minutes: str, code: str, status: int, root: Path
) -> None:
    command = [sys.executable, str(root / ".ci" / "limit_cpu"), minutes, sys.executable, "-c", f"import time\n{code}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == status
    assert f"CPU minutes of {minutes}, in " in run.stdout


def test_every_test_is_in_one_of_the_two_commands_and_none_in_both(root: Path) -> None:
    asked = [make("-n", target, "ARGS=", folder=root).stdout for target in ("test", "test-rest")]
    daily, rest = (re.findall(r'-m "([^"]+)"', printed)[-1] for printed in asked)
    assert rest == f"not ({daily})"
