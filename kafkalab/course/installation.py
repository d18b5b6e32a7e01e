"""Copy the labs into a learner's folder, and bring them up to date there, without a change to what the learner wrote.

A record in the folder says what was copied. A file that still is what was copied is the course's, and is replaced by a
newer one. Any other file is the learner's: it stays, and the newer one is put beside it, under a name with "new_".
"""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from kafkalab.grading.builder import LABS, SOLUTIONS
from kafkalab.limits import NOTEBOOK
from kafkalab.saved_data import file_bytes, json_file

RECORD = ".kafkalab-course.json"
FORMAT = "kafkalab-course"
LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)\s#]*)[^)]*\)")


@dataclass(slots=True)
class Installed:
    """Paths in the learner's folder: those that are there for the first time, newer ones, and by the path of a
    learner's file that of the newer one beside it."""

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)


def shipped_files(source: Path, solutions: bool = False) -> dict[str, bytes]:
    """Return by path what belongs into a learner's folder, of the course whose files are in `source`.

    The solutions are among it only if asked for. Links of pages to files that are not among it become plain text.
    """
    found = {path.relative_to(source).as_posix(): path for path in _course_files(source)}
    if not solutions:
        found = {name: path for name, path in found.items() if not Path(name).is_relative_to(SOLUTIONS)}
    there = {*found, *(parent.as_posix() for name in found for parent in Path(name).parents)}
    return {name: _without_dead_links(name, path.read_bytes(), there) for name, path in sorted(found.items())}


def _course_files(source: Path) -> Iterator[Path]:
    for pattern in ("README.md", f"{LABS}/README.md", "data/*.md", "docs/*.md", "docs/*.txt", "docs/*.py"):
        yield from source.glob(pattern)
    for folder in (LABS, SOLUTIONS):  # and not the folder in which JupyterLab keeps checkpoints
        yield from (source / folder).glob("[0-9]*.ipynb")
    yield from (source / "docs" / "testing").glob("*.py")
    yield from (p for p in (source / "data").rglob("*.klab") if "recorded" not in p.parts)


def _without_dead_links(name: str, data: bytes, there: set[str]) -> bytes:
    if not name.endswith(".md"):
        return data

    def keep(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(name), link[2]))
        return link[0] if Path(target).as_posix() in there else link[1]

    text = data.decode("utf-8")
    for _ in ("a link", "and the picture in it"):
        text = LINK.sub(keep, text)
    return text.encode("utf-8")


def digest(name: str, data: bytes) -> str:
    """Return what tells two versions of a file apart: of a notebook its cells' sources and outputs, else its bytes.

    Jupyter changes a notebook's metadata when it is opened; that is nobody's work.
    """
    if name.endswith(".ipynb"):
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            cells = [
                (c["cell_type"], "".join(c["source"]), c.get("attachments"), [_strip(o) for o in c.get("outputs", ())])
                for c in json.loads(data)["cells"]
            ]
            data = json.dumps(cells, sort_keys=True).encode()
    return sha256(data).hexdigest()


def _strip(output: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in output.items() if key not in ("execution_count", "metadata")}


def is_installed(folder: Path) -> bool:
    """Return whether the folder's labs were copied there by `install`, perhaps not to the end."""
    return (folder / RECORD).is_file()


def install(files: Mapping[str, bytes], folder: Path) -> Installed:
    """Bring `folder` up to date with `files`; return what was done.

    What the learner deleted is copied again. OSError if a file cannot be written: those before it are whole, and the
    next call goes on behind them.
    """
    before = _read_record(folder)
    now, installed = dict(before), Installed()
    _record(folder, now)
    try:
        for name, data in files.items():
            _install_one(folder, name, data, now, installed)
    finally:
        if now != before:
            with suppress(OSError):
                _record(folder, now)
    return installed


def _install_one(folder: Path, name: str, data: bytes, known: dict[str, str], installed: Installed) -> None:
    newest, path = digest(name, data), folder / name
    there = _digest_of(path)
    if there == newest:
        known[name] = newest
    elif not there:
        _write(path, data)
        installed.added.append(name)
        known[name] = newest
    elif there == known.get(name):
        _write(path, data)
        installed.replaced.append(name)
        known[name] = newest
    elif known.get(name) != newest:
        beside = _free(path, newest, known, folder)
        _write(beside, data)
        installed.beside[name] = beside.relative_to(folder).as_posix()
        known[installed.beside[name]] = known[name] = newest


def _free(path: Path, newest: str, known: Mapping[str, str], folder: Path) -> Path:
    """Return where the newer file goes: a name that is free, or a file that was put there and nobody has changed."""
    for number in range(1, 1000):
        beside = path.with_name(f"new_{path.name}" if number == 1 else f"new{number}_{path.name}")
        there = _digest_of(beside)
        if there in ("", newest, known.get(beside.relative_to(folder).as_posix())):
            return beside
    raise FileExistsError(17, "a thousand newer ones are beside it; delete some", str(path))


def _digest_of(path: Path) -> str:
    """Return the digest of the file; "" if there is none, "?" for what is no regular file, or a huge one.

    IsADirectoryError if it is a folder.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    try:
        return digest(path.name, file_bytes(path, NOTEBOOK))
    except FileNotFoundError:
        return ""
    except ValueError:
        return "?"


def _write(path: Path, data: bytes) -> None:
    """Write the whole file or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".copying-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _record(folder: Path, files: Mapping[str, str]) -> None:
    row = {"format": FORMAT, "version": 1, "files": dict(sorted(files.items()))}
    _write(folder / RECORD, (json.dumps(row, indent=1) + "\n").encode())


def _read_record(folder: Path) -> dict[str, str]:
    """Return what was copied, by path. Of a damaged record nothing: then every file that differs is the learner's."""
    try:
        files = json_file(folder / RECORD)["files"]
        return {str(name): str(value) for name, value in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
