"""The part of Sphinx that is ours: it brings the modules of the book's own elements into every page."""

from __future__ import annotations

from typing import Any

ELEMENTS = ("kafka_run", "kafka_exercise", "terms")
"""Pictures, forms of exercises, and links to words of the glossary."""


def setup(app: Any) -> dict[str, bool]:
    """Add each element's module and style sheet to the pages."""
    for name in ELEMENTS:
        app.add_css_file(f"{name}.css")
        app.add_js_file(f"{name}.js", type="module")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
