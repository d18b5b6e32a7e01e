"""Write what a page loads to have Python: kafkalab and Python's library, compiled, each as one archive."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import kafkalab
from kafkalab.site.runtime import compile_by_node
from kafkalab.site.wheels import READ

HERE = Path(__file__).parent
PACKAGE = Path(kafkalab.__file__).parent
WORKER, FACTS = "worker.js", "facts.json"
ARCHIVES = ("library.packed", "kafkalab.packed")
LARGE = ("pyodide.asm.mjs", "pyodide.asm.wasm")
"""Pyodide's files that are loaded, which a web server compresses."""
LEFT_OUT = (
    "cli/", "control/", "grading/judge.py", "grading/landlock.py", "grading/process_tree.py", "live/",
    "reference/bug_page", "reference/changes_page", "reference/error_", "reference/exhibits", "reference/gallery",
    "reference/known_runs", "reference/profile_table", "reference/protocol/", "site/book/", "site/kernel/",
    "site/serve.py", "spark/", "testing/", "wire/",
)  # fmt: skip
LEFT_OUT_NAMES = re.compile(r"exercise_\d+\.py|DECISIONS\.md")
"""The parts of kafkalab that the page never imports, by the beginning of their path and by their name."""


def write_python(folder: Path, runtime: Path, node: Sequence[str] = ("node",)) -> None:
    """Write the worker, its archives and what the page has to know of them into `folder`.

    `runtime` is the folder with Pyodide's files, of the same site; `node` is the command that runs Node, in which the
    browser's Python compiles what the page imports.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        archives = _compile(runtime.resolve(), Path(place), node)
    for name, content in zip(ARCHIVES, archives, strict=True):
        (folder / name).write_bytes(content)
    large = {name: len(gzip.compress((runtime / name).read_bytes(), 6)) for name in LARGE}
    facts = {
        "runtime": f"{Path(os.path.relpath(runtime, folder)).as_posix()}/",
        "lock": {**json.loads((runtime / "pyodide-lock.json").read_text(encoding="utf-8")), "packages": {}},
        "large": large,
        "weight": sum(map(len, archives)) + sum(large.values()),
    }
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    (folder / WORKER).write_text((HERE / WORKER).read_text(encoding="utf-8"), encoding="utf-8")


def _compile(runtime: Path, place: Path, node: Sequence[str]) -> list[bytes]:
    """Return Python's library and kafkalab, with what the page imports compiled, each as one compressed archive."""
    (place / "sources.zip").write_bytes(archive())
    words = (str(runtime), str(place / "sources.zip"), str(place))
    compile_by_node([*node, str(HERE / "compile.mjs"), *words], "page")
    names = ("python_stdlib.zip", "kafkalab.zip")
    return [gzip.compress((place / name).read_bytes(), 9, mtime=0) for name in names]


def archive() -> bytes:
    """Return the sources that Python gets in the page: kafkalab and traitlets, the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        for name, path in sorted(_files()):
            zipped.writestr(zipfile.ZipInfo(name), path.read_bytes())
    return packed.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    for path in PACKAGE.rglob("*"):
        name = path.relative_to(PACKAGE).as_posix()
        if path.suffix in READ and not name.startswith(LEFT_OUT) and not LEFT_OUT_NAMES.fullmatch(path.name):
            yield f"kafkalab/{name}", path
    found = find_spec("traitlets")
    assert found is not None, "traitlets is installed with kafkalab"
    assert found.origin is not None, "traitlets has a folder"
    traitlets = Path(found.origin).parent
    for path in traitlets.rglob("*.py"):
        inside = path.relative_to(traitlets)
        if inside.parts[0] not in ("tests", "config"):
            yield f"traitlets/{inside.as_posix()}", path
