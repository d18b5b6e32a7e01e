"""Folders for a class: the labs without solutions, and for a retake the labs without explanations."""

from __future__ import annotations

import re
from pathlib import Path

from kafkalab.grading.builder import (
    LABS,
    SOLUTIONS,
    Cell,
    Notebook,
    as_text,
    copies,
    is_check,
    read,
    sources,
    student,
    write_changed,
)

HEADINGS = re.compile(r"^#{1,4} .*$", re.M)
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")
LINK_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./[^)]*\)")


def clean(solution: Notebook) -> Notebook:
    """Return the learner's copy without outputs, and of its texts only the headings and what the exercises ask.

    What is asked is in the texts between an exercise's heading and its answer.
    """
    copy = student(solution)
    asked = _find_texts(copy["cells"])
    kept = []
    for place, cell in enumerate(copy["cells"]):
        if cell["cell_type"] == "code":
            cell["outputs"] = []
            kept.append(cell)
            continue
        text = "".join(cell["source"])
        left = LINK.sub(r"\1", text) if place in asked else "\n\n".join(HEADINGS.findall(text))
        if left.strip():
            cell["source"] = left.splitlines(keepends=True)
            kept.append(cell)
    copy["cells"] = kept
    return copy


def _find_texts(cells: list[Cell]) -> set[int]:
    """The places of the texts that set an exercise: back from each answer to the last heading before it."""
    found: set[int] = set()
    for place, cell in enumerate(cells):
        facts = cell["metadata"].get("nbgrader", {})
        if not facts.get("solution") or is_check(cell):
            continue
        for before in range(place - 1, -1, -1):
            if cells[before]["cell_type"] == "markdown":
                found.add(before)
                if HEADINGS.search("".join(cells[before]["source"])):
                    break
    return found


def build_clean(root: Path, folder: Path) -> list[Path]:
    """Write the clean variant of every lab with exercises into `folder`; return the paths that changed."""
    folder.mkdir(parents=True, exist_ok=True)
    solutions = {folder / path.name: read(path) for path in sources(root)}
    graded = {path: solution for path, solution in solutions.items() if any(map(is_check, solution["cells"]))}
    return write_changed({path: as_text(clean(solution)) for path, solution in graded.items()})


def write_learners_folder(root: Path, folder: Path, page: str) -> list[Path]:
    """Write the learners' notebooks and their README, `page`, into `folder`/labs; return the paths that changed.

    `kafkalab lab` works there as it does in `root`. No solution is in it, and no link to pages outside of it: the
    teacher's page has answers. ValueError if there is a solution by then.
    """
    labs = folder / LABS
    if (folder / SOLUTIONS).exists():
        raise ValueError(f"{folder / SOLUTIONS} is there; give a folder without solutions")
    labs.mkdir(parents=True, exist_ok=True)
    made = {labs / name: text for name, text in copies(root).items()} | {labs / "README.md": page}
    return write_changed({path: LINK_OUTSIDE.sub(r"\1", text) for path, text in made.items()})
