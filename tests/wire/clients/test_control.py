"""The helpers of docs/control in four languages: the same three faults against one service each, for real."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs_found import give_up
from tests.wire.clients.native import node_modules

RUN_S = 300
HELPERS = {
    "python": ("kafkalab_control.py", "test_payments.py", r"def test_.*?(?=\n\S|\Z)"),
    "java": ("src/test/java/KafkaLab.java", "src/test/java/PaymentsTest.java", r"    @ParameterizedTest.*?\n    }\n"),
    "go": ("kafkalab_test.go", "payments_test.go", r"(?<=\t\tt.Run).*?(?=\n\t\t}\))"),
    "node": ("kafkalab.js", "payments.test.js", r"(?<=\ttest).*?(?=\n\t}\))"),
}
"""By language the helper, the test, and an expression that finds the test's lines."""
FAULTS = '"Drop:EndTxnResponse#1", "Drop:TxnOffsetCommit#1", "Duplicate:EndTxn#1"'


@pytest.mark.parametrize("language", HELPERS)
def test_a_helper_is_short_and_its_test_has_at_most_15_lines(language: str, root: Path) -> None:
    helper, test, lines = HELPERS[language]
    folder = root / "docs/control" / language
    assert len((folder / helper).read_text(encoding="utf-8").splitlines()) <= 100
    text = (folder / test).read_text(encoding="utf-8")
    assert FAULTS in text
    found = re.search(lines, text, re.DOTALL)
    assert found is not None
    assert len(found.group().strip().splitlines()) <= 15


def run(language: str, root: Path, tmp_path: Path, *command: str, **more: str) -> str:
    """Run the tests of a language in a copy of its folder; return what they print. They pass."""
    folder = tmp_path / language
    shutil.copytree(root / "docs/control" / language, folder)
    lab = f"{sys.executable} -m kafkalab.cli.main"
    environment = {**os.environ, "KAFKALAB": lab, "PYTHONPATH": str(root), **more}
    environment.pop("KAFKALAB_CONTROL", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=RUN_S)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    return done.stdout


@pytest.mark.clients
def test_python(root: Path, tmp_path: Path) -> None:
    paths = os.pathsep.join(map(str, (root, root / "docs/testing")))
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", ".")
    assert "3 passed" in run("python", root, tmp_path, *command, PYTHONPATH=paths)


@pytest.mark.clients
def test_java(root: Path, tmp_path: Path) -> None:
    if shutil.which("mvn") is None or shutil.which("java") is None:
        give_up("the helper of Java needs java and Maven", "index", "java")
    run("java", root, tmp_path, "mvn", "-q", "-B", "test")
    report = (tmp_path / "java/target/surefire-reports/PaymentsTest.txt").read_text(encoding="utf-8")
    assert "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0" in report


@pytest.mark.clients
def test_go(root: Path, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        give_up("the helper of Go needs go", "go")
    said = run("go", root, tmp_path, "go", "test", "-mod=readonly", "-count=1", "-v", "./...")
    assert said.count("    --- PASS: TestEveryOrderIsPaidOnce/") == 3


@pytest.mark.clients
def test_node(root: Path, tmp_path: Path) -> None:
    modules = node_modules()
    (tmp_path / "node_modules").symlink_to(modules)
    assert "\n# pass 3\n" in run("node", root, tmp_path, "node", "--test", "--test-reporter=tap", "payments.test.js")
