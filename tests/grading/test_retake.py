"""The clean variant asks the same and explains nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kafkalab.cli.main import main
from kafkalab.grading.builder import LABS, SOLUTIONS, execute, is_check, read, sources
from kafkalab.grading.retake import build_clean, clean


def markdown(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source.splitlines(keepends=True)}


def code(name: str, source: str, **nbgrader: Any) -> dict[str, Any]:
    metadata = {"nbgrader": nbgrader} if nbgrader else {}
    return {"cell_type": "code", "id": name, "metadata": metadata, "outputs": [{"output_type": "stream"}],
            "execution_count": 3, "source": [source]}  # fmt: skip


def prose(notebook: dict[str, Any]) -> int:
    """Return how many characters its texts have."""
    return sum(len("".join(c["source"])) for c in notebook["cells"] if c["cell_type"] == "markdown")


SOLUTION: dict[str, Any] = {
    "metadata": {},
    "cells": [
        markdown("title", "# A lab\n\nA long story."),
        markdown("story", "More of the story."),
        code("names", "import kafkalab"),
        markdown("e1", "## Exercise 1\n\nWrite x. [Back](00_start.ipynb), [KIP](https://example.org)"),
        markdown("e1-more", "It is a number."),
        code("a", "x = 0\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION", solution=True, grade=False),
        code("c", 'check("L1.E1", x)', solution=False, grade=True),
        markdown("recap", "## Recap\n\nYou know it all."),
    ],
}


def test_code_headings_and_what_is_asked_stay_and_the_rest_goes() -> None:
    cells = clean(SOLUTION)["cells"]
    assert [c["id"] for c in cells] == ["title", "names", "e1", "e1-more", "a", "c", "recap"]
    texts = {c["id"]: "".join(c["source"]) for c in cells}
    assert (texts["title"], texts["recap"], texts["a"]) == ("# A lab", "## Recap", "x = 0")
    assert texts["e1"] == "## Exercise 1\n\nWrite x. Back, [KIP](https://example.org)"
    assert all(c["outputs"] == [] for c in cells if c["cell_type"] == "code")


def test_every_lab_has_a_clean_variant_with_the_same_checks(root: Path, tmp_path: Path) -> None:
    made = build_clean(root, tmp_path / "retake")
    assert [p.name for p in made] == [p.name for p in sources(root) if any(is_check(c) for c in read(p)["cells"])]
    for path in made:
        whole, left = read(root / SOLUTIONS / path.name), read(path)
        assert [c["id"] for c in left["cells"] if is_check(c)] == [c["id"] for c in whole["cells"] if is_check(c)]
        assert 0 < prose(left) < 0.7 * prose(whole)
        assert "BEGIN SOLUTION" not in path.read_text(encoding="utf-8")
    assert build_clean(root, tmp_path / "retake") == []


def test_a_retake_runs_as_the_lab_does(root: Path, tmp_path: Path) -> None:
    """Its code is the learner's copy, cell by cell, and no cell looks for a file beside the labs."""
    for path in build_clean(root, tmp_path):
        left, lab = ([c for c in read(p)["cells"] if c["cell_type"] == "code"] for p in (path, root / LABS / path.name))
        assert [(c["id"], c["source"], c["metadata"]) for c in left] == [
            (c["id"], c["source"], c["metadata"]) for c in lab
        ]
        assert "../" not in "".join("".join(c["source"]) for c in left)


@pytest.mark.notebooks
def test_a_retake_in_another_folder_fails_at_exactly_its_checks(root: Path, tmp_path: Path) -> None:
    (path,) = [path for path in build_clean(root, tmp_path) if path.name.startswith("03")]
    ran = execute(read(path), tmp_path, allow_errors=True, keeps_progress=False)
    failed = {c["id"] for c in ran["cells"] if any(o["output_type"] == "error" for o in c.get("outputs", []))}
    assert failed == {c["id"] for c in ran["cells"] if is_check(c)}


def test_the_command_writes_them(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    assert main(["build-labs", "--clean", str(tmp_path / "again")]) == 0
    assert str(tmp_path / "again" / "03_a_full_commit.ipynb") in capsys.readouterr().out.splitlines()


def test_a_class_gets_the_labs_without_any_solution(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / LABS, tmp_path / LABS)
    assert main(["build-labs", "--without-solutions", str(tmp_path / "class")], tmp_path) == 0
    given = tmp_path / "class" / "labs"
    assert {p.name for p in given.iterdir()} == {p.name for p in (root / LABS).iterdir() if p.is_file()}
    assert [path for path in given.iterdir() if "### BEGIN" in path.read_text(encoding="utf-8")] == []
    assert [path for path in given.iterdir() if "](../" in path.read_text(encoding="utf-8")] == []
    assert "solutions" not in (given / "README.md").read_text(encoding="utf-8")
    (tmp_path / "class" / SOLUTIONS).mkdir()
    assert main(["build-labs", "--without-solutions", str(tmp_path / "class")], tmp_path) == 2
