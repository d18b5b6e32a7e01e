"""The modules and style sheets of the views, put together: what all share, then each view's own files."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
SHARED = {".js": "run.js", ".css": "shared.css"}


def code(*names: str) -> str:
    """An ES module: run.js and then these files, the last of which exports the view. They share one scope."""
    return _joined(".js", names)


def style(*names: str) -> str:
    """A style sheet: shared.css and then these files."""
    return _joined(".css", names)


def _joined(suffix: str, names: tuple[str, ...]) -> str:
    for name in names:
        if not name.endswith(suffix) or not (FOLDER / name).is_file():
            raise ValueError(f"no file {name!r} of kind {suffix} is in {FOLDER.name}/")
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in (SHARED[suffix], *names))
