"""The submissions of students: a folder of notebooks, whatever their names, and whatever is in them."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.grading.sheet import Lab, exercises_asked
from kafkalab.limits import NOTEBOOK
from kafkalab.saved_data import file_bytes

CELLS_MAX = 2_000


class NoNotebook(ValueError):
    """The file is none that Jupyter could open, or of none of the labs; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A code cell: nbgrader's name of it, or its id, and its source."""

    id: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One file: who handed it in, where it lies, which lab it is of and its code cells; or what is wrong with it."""

    student: str
    path: Path
    file: str
    lab: str = ""
    cells: tuple[Cell, ...] = ()
    wrong: str = ""


def submissions(folder: Path, labs: Mapping[str, Lab]) -> list[Submission]:
    """Everything handed in under `folder`, in order of student and file.

    A student is a folder below it, or, for a notebook that lies in `folder` itself, what its name says beside the
    lab's. Of a folder without a notebook there is one submission, which says so. ValueError if there is nothing.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder; give the one that holds the students' notebooks")
    found = [_open_submission(folder, path, labs) for path in _notebooks(folder)]
    having = {s.path.parent for s in found}
    for below in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
        if not any(below == p or below in p.parents for p in having):
            name = str(below.relative_to(folder))
            found.append(Submission(student=name, path=below, file=f"{name}/", wrong="there is no notebook in it"))
    if not found:
        raise ValueError(f"{folder} holds no notebooks; put each student's into a folder of its own there")
    return sorted(found, key=lambda s: (s.student.lower(), s.student, s.lab, s.file))


def _notebooks(folder: Path) -> Iterator[Path]:
    for here, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        yield from (Path(here, name) for name in sorted(names) if name.endswith(".ipynb") and not name.startswith("."))


def _open_submission(folder: Path, path: Path, labs: Mapping[str, Lab]) -> Submission:
    file = path.relative_to(folder).as_posix()
    try:
        cells = code_cells(_bytes_of(path))
        lab = _lab(path, cells, labs)
    except NoNotebook as error:
        student = _student(folder, path, _find_lab_name(path, labs))
        return Submission(student=student, path=path, file=file, wrong=str(error))
    except OSError as error:
        wrong = f"it cannot be read: {(error.strerror or 'no file').lower()}"
        return Submission(student=_student(folder, path, ""), path=path, file=file, wrong=wrong)
    return Submission(student=_student(folder, path, lab), path=path, file=file, lab=lab, cells=cells)


def _bytes_of(path: Path) -> bytes:
    """The file's bytes; NoNotebook for what is no plain file of a notebook's size. Links are not followed."""
    if path.is_symlink():
        raise NoNotebook("it is a link to another file, and links are not followed")
    if not stat.S_ISREG(path.stat().st_mode):
        raise NoNotebook("it is no file")
    try:
        return file_bytes(path, NOTEBOOK)
    except ValueError:
        raise NoNotebook(f"it is larger than {NOTEBOOK.most // 1_000_000} MB") from None


def code_cells(data: bytes) -> tuple[Cell, ...]:
    """The code cells of a notebook's bytes, in order; NoNotebook if that is not what they are."""
    if not data.strip():
        raise NoNotebook("it is no notebook: the file is empty")
    try:
        notebook = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise NoNotebook("it is no notebook: it is no JSON") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or len(cells) > CELLS_MAX:
        raise NoNotebook("it is no notebook: it has no list of cells")
    found = []
    for number, cell in enumerate(cells):
        if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
            raise NoNotebook(f"it is no notebook: cell {number + 1} is no cell")
        if cell["cell_type"] == "code":
            found.append(Cell(id=_id(cell, number), source=_source(cell, number)))
    return tuple(found)


def _id(cell: dict[str, Any], number: int) -> str:
    """nbgrader's name of the cell, else its id, which some tools keep in its metadata, else its number."""
    found = cell.get("metadata")
    metadata: dict[str, Any] = found if isinstance(found, dict) else {}
    grader = metadata.get("nbgrader")
    named = grader.get("grade_id") if isinstance(grader, dict) else None
    return next(
        (v for v in (named, cell.get("id"), metadata.get("id")) if isinstance(v, str) and v), f"cell {number + 1}"
    )


def _source(cell: dict[str, Any], number: int) -> str:
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    if not isinstance(source, str):
        raise NoNotebook(f"it is no notebook: the source of cell {number + 1} is no text")
    return source


def _find_lab_name(path: Path, labs: Mapping[str, Lab]) -> str:
    """The lab in whose name the file's begins, or which it contains."""
    return next((lab for lab in labs if lab in path.stem), "")


def _lab(path: Path, cells: tuple[Cell, ...], labs: Mapping[str, Lab]) -> str:
    """The lab that the file's name says, else the one most of whose exercises it checks."""
    named = _find_lab_name(path, labs)
    if named:
        return named
    asked = exercises_asked(cell.source for cell in cells)
    shared = {name: len(asked & {check.exercise for check in lab.checks}) for name, lab in labs.items()}
    best = max(shared, key=lambda name: shared[name])
    if not shared[best]:
        raise NoNotebook(f"it is of none of the labs: neither its name nor its cells say which of {', '.join(labs)}")
    return best


def _student(folder: Path, path: Path, lab: str) -> str:
    above = path.parent.relative_to(folder)
    parts = above.parts[:-1] if len(above.parts) > 1 and above.name == lab else above.parts
    if parts:
        return "/".join(parts)
    beside = re.sub(r" ?\(\d+\)$", "", path.stem).replace(lab, "")  # a browser's second download is "name (1)"
    return " ".join(beside.strip(" _-.").split()) or path.stem
