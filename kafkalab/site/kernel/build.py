"""Lay what a notebook's Python needs into the site: its archives, its workers, and its part of JupyterLite's pages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from kafkalab.site.runtime import LOCK, compile_by_node

HERE = Path(__file__).parent
PYTHON, PAGE, ISOLATE, PACK = "python.mjs", "page.js", "isolate.js", "pack.mjs"
WORKERS = ("coincident", "comlink")
"""JupyterLite's two workers: with memory that page and worker share, and without."""
EXTENSION = Path("extensions", "@jupyterlite", "pyodide-kernel-extension", "static")
IMPATIENT, PATIENT = "AbortSignal.timeout(2000)", "AbortSignal.timeout(120000)"
"""The times that anywidget waits for a picture's module before it refuses, for ever, what Python tells that picture."""


def write_kernel(jupyter: Path, python: Path, node: Sequence[str]) -> None:
    """Write the kernel's parts into JupyterLite's folder and the folder of Python, whose wheels it packs and removes.

    `node` is the command that runs Node, in which the browser's Python compiles what a kernel imports.
    """
    _pack(python, node)
    (python / PYTHON).write_text(_own(PYTHON), encoding="utf-8")
    folder = jupyter / "kernel"
    folder.mkdir()
    (folder / PAGE).write_text(_own(PAGE), encoding="utf-8")
    for name in WORKERS:
        (found,) = (jupyter / EXTENSION).glob(f"{name}.worker.*.js")
        imports = ("../../static/pyodide/python.mjs", f"../{EXTENSION.as_posix()}/{found.name}")
        (folder / f"{name}.mjs").write_text("".join(f'import "{path}";\n' for path in imports), encoding="utf-8")
    service = jupyter / "service-worker.js"
    service.write_text(_own(ISOLATE) + service.read_text(encoding="utf-8"), encoding="utf-8")
    _wait_longer(jupyter / "extensions" / "anywidget")


def _own(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _pack(python: Path, node: Sequence[str]) -> None:
    """Pack the wheels and Python's library, compiled; leave neither, nor their names in the lock."""
    compile_by_node([*node, str(HERE / PACK), str(python.absolute())], "kernel")
    for path in (*python.glob("*.whl"), python / "python_stdlib.zip"):
        path.unlink()
    lock = {**json.loads((python / LOCK).read_text(encoding="utf-8")), "packages": {}}
    (python / LOCK).write_text(json.dumps(lock, indent=1) + "\n", encoding="utf-8")


def _wait_longer(anywidget: Path) -> None:
    """Let anywidget wait for a picture's module, however busy the computer is."""
    changed = 0
    for path in sorted((anywidget / "static").glob("*.js")):
        text, count = re.subn(re.escape(IMPATIENT), PATIENT, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        changed += count
    assert changed, f"{anywidget} has no {IMPATIENT}: look for what takes its place"
