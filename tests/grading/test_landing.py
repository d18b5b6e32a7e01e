"""Links of learners' notebooks name cells, to which JupyterLab goes at the first click, and say what a term means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kafkalab.grading.builder import LABS, read, sources
from kafkalab.grading.landing import CELL_ID, land, landings_of


def notebook(**cells: str) -> dict[str, Any]:
    """Return a notebook of Markdown cells, by id."""
    rows = [{"id": name, "cell_type": "markdown", "source": text.splitlines(True)} for name, text in cells.items()]
    return {"cells": rows}


TERMS = '# Glossary\n\n### late frame\n\n(late) A "frame" that `x`.\n\n迟到\n\n### zombie\n\nOne.\n'
START = notebook(top="# Start\n\n## The words")
LAB = notebook(one="# Lab\n\n## Walk it", two="## Walk it")
LANDINGS = landings_of({"00_start.ipynb": START, "05_lab.ipynb": LAB}, TERMS)


@pytest.mark.parametrize(
    ("written", "landed"),
    [
        ("[it](05_lab.ipynb#Walk-it).", f"[it](05_lab.ipynb#{CELL_ID}one)."),
        ("[a](00_start.ipynb#The-words)", f"[a](00_start.ipynb#{CELL_ID}top)"),
        ("[a](../docs/glossary.md#late-frame), x", "[a](../docs/glossary.md#late-frame \"A 'frame' that x.\"), x"),
        ("[gone](05_lab.ipynb#Nowhere)", "[gone](05_lab.ipynb#Nowhere)"),
        ("[it](../labs/05_lab.ipynb#Walk-it)", f"[it](../labs/05_lab.ipynb#{CELL_ID}one)"),
        ("[run](#show:3) [c](05_lab.ipynb)", "[run](#show:3) [c](05_lab.ipynb)"),
        ("[p](../docs/a.md#Walk-it)", "[p](../docs/a.md#Walk-it)"),
    ],
)
def test_a_link_to_a_heading_becomes_one_to_its_cell(written: str, landed: str) -> None:
    before = notebook(x=f"{written}\nmore")
    (cell,) = land(before, LANDINGS)["cells"]
    assert "".join(cell["source"]) == f"{landed}\nmore"
    assert before == notebook(x=f"{written}\nmore")


def test_every_link_between_the_labs_lands_on_a_cell_that_is_there(root: Path) -> None:
    labs = {path.name: read(root / LABS / path.name) for path in sources(root)}
    ids = {name: {cell["id"] for cell in lab["cells"]} for name, lab in labs.items()}
    links, tooltips = [], 0
    for lab in labs.values():
        text = "".join("".join(cell["source"]) for cell in lab["cells"] if cell["cell_type"] == "markdown")
        tooltips += len(re.findall(r'\]\(\.\./docs/glossary\.md#\S+ "[^"]+"\)', text))
        links += re.findall(r"\]\((\d\w*\.ipynb)#([^)\s]+)", text)
    assert [link for link in links if link[1].removeprefix(CELL_ID) not in ids[link[0]]] == []
    assert tooltips > 200
