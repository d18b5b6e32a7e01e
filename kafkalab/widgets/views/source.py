"""Join the modules and style sheets of the views: what all share, then each view's own files."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent
SHARED = {".js": ("run.js", "walk.js"), ".css": ("shared.css",)}


def code(*names: str) -> str:
    """Return an ES module: run.js, walk.js and then these files in one scope; the last of them exports the view."""
    return _joined(".js", names)


def style(*names: str) -> str:
    """Return a style sheet: shared.css and then these files."""
    return _joined(".css", names)


def sent(name: str) -> str:
    """Return a file as it is sent to the browser: without its indentation, and without lines that are a comment."""
    return re.sub(r"^\t*//.*\n|^\t+", "", (FOLDER / name).read_text(encoding="utf-8"), flags=re.MULTILINE)


def _joined(suffix: str, names: tuple[str, ...]) -> str:
    for name in names:
        if not name.endswith(suffix) or not (FOLDER / name).is_file():
            raise ValueError(f"no file {name!r} of kind {suffix} is in {FOLDER.name}/")
    return "\n".join(sent(name) for name in (*SHARED[suffix], *names))
