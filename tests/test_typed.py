"""The types that users see: the stub has every exported name, and a type checker finds a wrong argument."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kafkalab
from kafkalab.course.labs import names
from kafkalab.faults.registry import TYPES

SCRIPT = """from kafkalab import Cluster, Crash, Scenario, Sequence, lab03
import kafkalab

reveal_type(kafkalab.Sequence)
reveal_type(lab03)
run = Cluster(lab03())
view = Sequence(run)
run.run_for("a second")
Crash(node=1)
kafkalab.Sequenec
Sequence(view)
with kafkalab.LiveCluster() as live:
    Sequence(live)
"""
"""Lines 8 to 10 are wrong."""


def stub_names(root: Path) -> dict[str, str]:
    """Return the module of each name that the stub exports."""
    tree = ast.parse((root / "kafkalab" / "__init__.pyi").read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    rows = ((str(node.module), alias) for node in imports for alias in node.names)
    return {name: module for module, alias in rows for name in _names_of(module, alias)}


def _names_of(module: str, alias: ast.alias) -> list[str]:
    return list(import_module(module).__all__) if alias.name == "*" else [alias.asname or ""]


def test_the_stub_has_every_name_and_no_other(root: Path) -> None:
    places = vars(kafkalab)  # the stub has no private names
    labs = {name: made.__module__ for name, made in names().items()}
    faults = {name: kind.__module__ for name, kind in TYPES.items()}
    assert stub_names(root) == {**places["_PLACES"], **places["_LIVE"], **faults, **labs}


@pytest.mark.parametrize("name", ["PROVIDERS", "__version__"])
def test_the_stub_declares_what_the_module_defines_itself(name: str, root: Path) -> None:
    tree = ast.parse((root / "kafkalab" / "__init__.pyi").read_text("utf-8"))
    declared = {ast.unparse(node.target) for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert name in declared
    assert hasattr(kafkalab, name)


def test_mypy_finds_wrong_arguments_in_a_users_script(root: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "script.py"]
    environment = {"MYPYPATH": str(root), "PATH": "", "MYPY_CACHE_DIR": str(tmp_path / "cache")}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    found = {int(line.split(":")[1]): line for line in run.stdout.splitlines() if line.startswith("script.py:")}
    assert found[4].endswith('-> kafkalab.widgets.views.sequence.Sequence"'), run.stdout
    assert found[5].endswith('-> kafkalab.sim.scenario.Scenario"'), run.stdout
    assert {line for line, text in found.items() if "error:" in text} == {8, 9, 10}, run.stdout
