"""The part of Sphinx that is ours: the book's own elements, the ids of headings, and what pages tell search engines."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

from kafkalab.grading.landing import anchor_in_notebook
from kafkalab.site.lite import FOLDER as JUPYTER
from kafkalab.site.lite import notebook_address

ELEMENTS = {"kafka_run": "", "kafka_exercise": "<kafka-exercise ", "terms": 'class="term"'}
"""Pictures, with what all pages need; forms of exercises; links to words of the glossary: each with its mark."""
PICTURE = re.compile(r'<kafka-run [^>]*part="(\w+)"')
LONGEST = 200
"""Characters of a page's description."""


class NameIds(SphinxTransform):
    """Give each heading the id by which code hosts know it, and the one by which JupyterLab knows it, if it differs."""

    default_priority = 870  # after all that names sections, before what reads the names

    def apply(self, **kwargs: object) -> None:
        """Change the ids of a page."""
        sections = [section for section in self.document.findall(nodes.section) if section.get("slug")]
        taken = {section["slug"] for section in sections}
        for section in sections:
            section["ids"] = [section["slug"]]
            if (name := anchor_in_notebook(section[0].astext())) not in taken:
                section["ids"].append(name)
                taken.add(name)


def describe(app: Any, page: str, template: str, context: dict[str, Any], tree: nodes.document | None) -> None:
    """Add what a page needs: its description, the modules of its elements, and its notebook's address."""
    for name in (name for name, mark in ELEMENTS.items() if mark in context.get("body", "")):
        app.add_css_file(f"{name}.css")
        app.add_js_file(f"{name}.js", type="module")
    if tree is None:
        return
    texts = (node.astext() for node in tree.findall(nodes.paragraph))
    first = " ".join(next((text for text in texts if len(text) > 60), "").split())
    if len(first) > LONGEST:
        first = first[:LONGEST].rpartition(" ")[0] + " …"
    context["metatags"] += f'<meta name="description" content="Kafka exactly-once: {escape(first)}">'
    if (part := PICTURE.search(context["body"])) and not page.startswith("docs/"):  # there the runs are folded
        pictures = f"{context['content_root']}_static/pictures"
        for name in ("common", part[1]):
            context["metatags"] += f'<link rel="modulepreload" href="{pictures}/{name}.js">'
    context["notebook"] = notebook_address(f"{page}.ipynb") if page.startswith("labs/") and page[5].isdigit() else ""


def setup(app: Any) -> dict[str, bool]:
    """Add this module to Sphinx."""
    if Path(app.outdir, JUPYTER).is_dir():
        app.add_js_file("early.js", type="module")
    app.add_transform(NameIds)
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
