"""A learner's progress, in `progress.json` beside the notebooks: plain, small, and never in the way of a check.

The file is written as a whole or not at all, under a lock, since several notebooks may be open. A damaged one is set
aside, and what can still be read of it goes into the new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafkalab.limits import QUOTE, list_names, quote, truncate
from kafkalab.saved_data import file_bytes

FORMAT, VERSION = "kafkalab-progress", 1
FILE = "progress.json"
VARIABLE, OFF = "KAFKALAB_PROGRESS", "off"
"""Names another file, or is OFF: then nothing is kept, as when notebooks are tested or graded."""
NAME = re.compile(r"L\d+\.E\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseRecord:
    """One exercise: whether it was ever solved, how many answers were checked until then, and when (UTC)."""

    solved: bool = False
    tries: int = 0
    solved_at: str = ""


Record = dict[str, ExerciseRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """The contents of a file; `message` says what was wrong with it, "" if nothing."""

    record: Record
    message: str = ""


def place() -> Path | None:
    """Return the file that keeps progress; None outside of a kernel, or where it is switched off."""
    named = os.environ.get(VARIABLE, "")
    if named:
        return None if named == OFF else Path(named)
    return Path(FILE) if in_a_kernel() else None


def note(exercise_id: str, solved: bool) -> None:
    """Count one more try of the exercise. A file that cannot be written is no error: the check goes on."""
    path = place()
    if path is None:
        return
    with contextlib.suppress(OSError):
        keep(path, exercise_id, solved)


def keep(path: Path, exercise_id: str, solved: bool) -> None:
    """Count one more try of the exercise in the file; what was solved stays solved. OSError if it cannot be written."""
    with _lock(path.parent):
        record = _set_aside(path).record
        before = record.get(exercise_id, ExerciseRecord())
        if before.solved:
            return
        now = datetime.now(UTC).isoformat(timespec="seconds") if solved else ""
        record[exercise_id] = replace(before, solved=solved, tries=before.tries + 1, solved_at=now)
        _write(path, record)


def load(path: Path) -> FileContents:
    """Return what the file holds. A damaged one is renamed, and what can be read of it is written again.

    OSError if it is there and cannot be opened.
    """
    with _lock(path.parent):
        return _set_aside(path)


def merge(path: Path, other: Path) -> FileContents:
    """Add to the file what `other` holds, such as one downloaded from a machine that is gone."""
    found = parse_record(file_bytes(other))
    with _lock(path.parent):
        record = _set_aside(path).record
        for name, done in found.record.items():
            if not record.get(name, ExerciseRecord()).solved:
                record[name] = done
        _write(path, record)
    return FileContents(record=record, message=found.message)


def parse_record(data: bytes) -> FileContents:
    """The record in a file's bytes, as far as it can be read."""
    try:
        row = json.loads(data.decode("utf-8"))
        exercises = row["exercises"]
        if row["format"] != FORMAT or not isinstance(exercises, dict):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        return FileContents(record={}, message="it is no progress of kafkalab")
    if row.get("version") != VERSION:
        version = quote(row.get("version"))
        return FileContents(record=_readable(exercises), message=f"it is of version {version}, not {VERSION}")
    record = _readable(exercises)
    lost = [truncate(name, QUOTE) for name in exercises if name not in record]
    return FileContents(record=record, message=f"its entries for {list_names(lost)} are damaged" if lost else "")


def as_text(record: Record) -> str:
    """The file's text."""
    exercises = {name: asdict(record[name]) for name in sorted(record)}
    return json.dumps({"format": FORMAT, "version": VERSION, "exercises": exercises}, indent=1) + "\n"


def _readable(exercises: dict[str, Any]) -> Record:
    found = {}
    for name, row in exercises.items():
        if not NAME.fullmatch(str(name)) or not isinstance(row, dict):
            continue
        solved, tries, at = row.get("solved"), row.get("tries"), row.get("solved_at", "")
        if isinstance(solved, bool) and type(tries) is int and tries >= 0 and isinstance(at, str):
            found[str(name)] = ExerciseRecord(solved=solved, tries=tries, solved_at=at)
    return found


def _set_aside(path: Path) -> FileContents:
    try:
        found = parse_record(file_bytes(path))
    except FileNotFoundError:
        return FileContents(record={})
    except ValueError:
        found = FileContents(record={}, message="it is no progress of kafkalab")
    if not found.message:
        return found
    aside = next(p for n in range(1, 1000) if not (p := path.with_name(f"{path.stem}.damaged-{n}.json")).exists())
    os.replace(path, aside)
    _write(path, found.record)
    many = "1 exercise was" if len(found.record) == 1 else f"{len(found.record)} exercises were"
    kept = f"{many} taken over from it" if found.record else "nothing of it could be read"
    return FileContents(
        record=found.record, message=f"{path.name} was set aside as {aside.name}, since {found.message}; {kept}."
    )


def _write(path: Path, record: Record) -> None:
    """Replace the file atomically."""
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(as_text(record))
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder; where the system has no such lock, hold none."""
    try:
        from fcntl import LOCK_EX, flock  # in a browser the module is there, but not its functions
    except ImportError:
        yield
        return
    descriptor = os.open(folder if str(folder) else ".", os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def in_a_kernel() -> bool:
    """Return True if this process serves a notebook; nothing is imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
