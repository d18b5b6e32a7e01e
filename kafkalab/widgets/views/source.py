"""Join the modules and style sheets of the views: what all share, then each view's own files."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent
SHARED = {".js": "run.js", ".css": "shared.css"}


def code(*names: str) -> str:
    """Return an ES module: run.js and then these files, the last of which exports the view. They share one scope."""
    return "\n".join(part(name, ".js") for name in (SHARED[".js"], *names))


def style(*names: str) -> str:
    """Return a style sheet: shared.css and then these files."""
    return "\n".join(part(name, ".css") for name in (SHARED[".css"], *names))


def part(name: str, suffix: str) -> str:
    """Return a file as it is sent to the browser: without its indentation. ValueError for a file of another kind."""
    if not name.endswith(suffix) or not (FOLDER / name).is_file():
        raise ValueError(f"no file {name!r} of kind {suffix} is in {FOLDER.name}/")
    return re.sub(r"^\t+", "", (FOLDER / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
