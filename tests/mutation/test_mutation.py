"""The mutation command itself: its parts name files and tests that exist, and its list of survivors holds reasons."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.mutation import __main__ as command
from tests.mutation.__main__ import (
    SURVIVORS,
    environment,
    find_part,
    part_of_the_day,
    parts,
    prepare,
    read_listed,
    with_plain_properties,
)

PROPERTY = '''class Log:
    @property
    def end(self) -> int:
        """The end."""
        return 1

    def start(self) -> int:
        return self.end
'''


def test_every_part_names_files_and_tests_that_exist(root: Path) -> None:
    for name, part in parts().items():
        assert part["mutate"], name
        assert [t for t in part["tests"] if not (root / t).exists()] == [], name


def test_every_folder_of_the_package_with_code_is_in_a_part(root: Path) -> None:
    broken = {str(Path(file).parent) for part in parts().values() for file in part["mutate"]}
    files = (f.relative_to(root) for f in (root / "kafkalab").rglob("*.py") if "def " in f.read_text("utf-8"))
    assert sorted({str(file.parent) for file in files} - broken) == []


def test_every_part_has_its_day() -> None:
    assert {part_of_the_day(day) for day in range(700_000, 700_000 + len(parts()))} == set(parts())


def test_a_file_is_broken_alone_with_the_tests_of_its_part() -> None:
    name, part = find_part("kafkalab/checks/exactly_once.py") or ("", {})
    assert (name, part["mutate"], part["tests"]) == ("checks", ["kafkalab/checks/exactly_once.py"], ["tests/checks"])
    assert find_part("kafkalab/checks/gone.py") is None


def test_the_tests_of_every_part_are_found_in_the_folder_that_is_made_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "BUILD", tmp_path)
    folder = prepare("schedule", parts()["schedule"])
    tests = sorted({test for part in parts().values() for test in part["tests"]})
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", *tests]
    found = subprocess.run(collect, cwd=folder, env=environment(folder), capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]


def test_every_survivor_belongs_to_a_part_and_stands_in_its_files_with_a_reason(root: Path) -> None:
    assert set(tomllib.loads(SURVIVORS.read_text("utf-8"))) <= set(parts())
    for name, part in parts().items():
        text = " ".join(" ".join((root / f).read_text("utf-8").split()) for f in part["mutate"])
        for mutant, why in read_listed(name).items():
            assert " ".join(mutant.line.split()) in text, mutant
            assert why.endswith("."), mutant


def test_a_property_becomes_a_plain_method_that_mutmut_breaks() -> None:
    plain = with_plain_properties(PROPERTY)
    assert "@property" not in plain
    found: dict[str, type] = {}
    exec(compile(ast.parse(plain), "log", "exec"), found)
    assert found["Log"]().start() == 1
