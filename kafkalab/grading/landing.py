"""Links between notebooks: JupyterLab goes to a cell at the first click, to a heading only once the cells are drawn.

So authors name headings in labs/solutions/, `05_read_committed.ipynb#The-consumer-is-stuck`; learners' copies and pages
name cells, `05_read_committed.ipynb#cell-id=stuck-why`. A link to a term of the glossary has its sentence as a tooltip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

HEADING = re.compile(r"^#{1,4} +(.+?)\s*$", re.M)
TERM = re.compile(r"^### (.+)\n\n(?:\([^)]*\) )?(.+)$", re.M)
GLOSSARY = Path("docs") / "glossary.md"
LINK = re.compile(rf"\]\(((?:\.\./(?:labs|docs)/)?(\d\w*\.ipynb|{re.escape(GLOSSARY.name)}))#([^)\s]+)\)")
CELL_ID = "cell-id="
"""With it begins the part of a link behind # that names a cell, as JupyterLab's `Notebook.setFragment` reads it."""


Landings = dict[tuple[str, str], str]
"""By file and heading, spaces as "-": what a link has behind #, with its tooltip."""


def landings_of(notebooks: Mapping[str, dict[str, Any]], glossary: str = "") -> Landings:
    """Return the landings of the headings of these notebooks, by file name, and of the terms of docs/glossary.md.

    Of equal headings in a notebook the first counts.
    """
    found: Landings = {}
    for term, sentence in TERM.findall(glossary):
        anchor, tooltip = anchor_in_notebook(term), sentence.replace("`", "").replace('"', "'")
        found[GLOSSARY.name, anchor] = f'{anchor} "{tooltip}"'
    for name, notebook in notebooks.items():
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = "".join(cell["source"])
                for heading in HEADING.findall(text):
                    found.setdefault((name, anchor_in_notebook(heading)), CELL_ID + cell["id"])
    return found


def land_text(text: str, landings: Landings) -> str:
    """Return Markdown whose links name cells. A link to a heading that is not in `landings` stays as it is."""

    def link_landing(link: re.Match[str]) -> str:
        landing = landings.get((link[2], link[3]))
        return link[0] if landing is None else f"]({link[1]}#{landing})"

    return LINK.sub(link_landing, text)


def land(notebook: dict[str, Any], landings: Landings) -> dict[str, Any]:
    """Return a copy of the notebook whose links name cells."""
    copy: dict[str, Any] = json.loads(json.dumps(notebook))
    for cell in copy["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = [land_text(line, landings) for line in cell["source"]]
    return copy


def plain(heading: str) -> str:
    """Return a heading without Markdown's signs, so that it can stand in a link."""
    return re.sub(r"[`*\[\]|]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)).strip()


def anchor_in_notebook(heading: str) -> str:
    """Return what stands behind # in a link to a notebook's heading, as JupyterLab makes it."""
    return plain(heading).replace(" ", "-")


def follow_headings(cells: Iterable[dict[str, Any]], first: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each cell with the last heading at or before it, plain; `first` before there is one."""
    heading = first
    for cell in cells:
        if cell["cell_type"] == "markdown" and (headings := HEADING.findall("".join(cell["source"]))):
            heading = plain(headings[-1])
        yield cell, heading
