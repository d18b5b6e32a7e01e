"""A folder that students must not see is closed even inside a folder that they may read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafkalab.course_files import SHIPPED, course_root
from kafkalab.grading import landlock
from kafkalab.grading.runner import kept_from_students
from kafkalab.grading.sandbox import _apart

TRIED = """import os, sys
from pathlib import Path
from kafkalab.grading import landlock
from kafkalab.grading.sandbox import _apart
top, hidden = map(Path, sys.argv[1:])
whole, listed = _apart([top, Path("/usr"), Path("/lib"), Path(sys.prefix), Path(sys.base_prefix)], [hidden])
assert landlock.restrict(whole, [], listed)
for path in (top / "a" / "read.txt", hidden / "answers.txt", top / "b" / "read.txt"):
    try:
        print(path.read_text())
    except PermissionError:
        print("refused")
print(sorted(os.listdir(top)))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with three below it, each with a file."""
    for name in ("a/read.txt", "a/hidden/answers.txt", "b/read.txt"):
        path = tmp_path / "top" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "top"


def test_all_but_the_hidden_folder_may_be_read(tree: Path) -> None:
    whole, listed = _apart([tree, tree.parent / "else"], [tree / "a" / "hidden"])
    assert sorted(whole) == [tree.parent / "else", tree / "a" / "read.txt", tree / "b"]
    assert sorted(listed) == [tree, tree / "a"]


def test_what_is_below_a_hidden_folder_may_not_be_read_by_its_own_name(tree: Path) -> None:
    assert _apart([tree / "a" / "hidden" / "answers.txt"], [tree / "a"]) == ([], [])


def test_a_link_to_a_hidden_folder_is_hidden(tree: Path) -> None:
    (tree / "b" / "link").symlink_to(tree / "a" / "hidden")
    whole, _ = _apart([tree / "b" / "link"], [tree / "a" / "hidden"])
    assert whole == []


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_landlock_refuses_what_is_hidden_and_nothing_else(tree: Path) -> None:
    command = [sys.executable, "-c", TRIED, str(tree), str(tree / "a" / "hidden")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.stdout.splitlines() == ["a/read.txt", "refused", "b/read.txt", "['a', 'b']"], run.stderr


def test_a_checkout_has_its_course_beside_the_package(root: Path) -> None:
    assert not SHIPPED.exists()
    assert course_root() == root
    assert kept_from_students() == (root / "labs" / "solutions",)
