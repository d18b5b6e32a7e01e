"""The place where a student's queries run: here, in a notebook; in the notebook's process, if a grader checks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol


class Performer(Protocol):
    """Does tasks of the course, with files in `inputs`."""

    @property
    def inputs(self) -> Path: ...

    def perform(self, task: str, *given: object) -> Any: ...


_performer: ContextVar[Performer | None] = ContextVar("performer", default=None)


@contextmanager
def performed_by(performer: Performer) -> Iterator[None]:
    """Within, `perform` is done by `performer`."""
    before = _performer.set(performer)
    try:
        yield
    finally:
        _performer.reset(before)


def perform(task: str, *given: object) -> Any:
    """Return the result of a task, "module:function", for these arguments; it is data."""
    performer = _performer.get()
    if performer is not None:
        return performer.perform(task, *given)
    module, _, name = task.partition(":")
    return getattr(import_module(module), name)(*given)


_folders: list[TemporaryDirectory[str] | Path] = []


def use(folder: Path) -> None:
    """Let tasks in this process find their files in `folder`: the grader has put them there."""
    _folders.append(folder)


def inputs() -> Path:
    """Return the folder for files that a task reads, as this process sees it; a task gets their names."""
    performer = _performer.get()
    if performer is not None:
        return performer.inputs
    if not _folders:
        _folders.append(TemporaryDirectory(prefix="kafkalab-inputs-"))
    folder = _folders[-1]
    return folder if isinstance(folder, Path) else Path(folder.name)
