"""The part of Sphinx that is ours: it brings the element `<kafka-run>` into every page that has one."""

from __future__ import annotations

from typing import Any

SCRIPT = "kafka_run.js"


def setup(app: Any) -> dict[str, bool]:
    """Add the element's module to the pages."""
    app.add_css_file("kafka_run.css")
    app.add_js_file(SCRIPT, type="module")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
