"""docs/old-articles.md: the tables of lab 93, for those who read without a notebook."""

from __future__ import annotations

import re
from pathlib import Path

from kafkalab.grading.builder import LABS, SOLUTIONS, landings_in, read
from kafkalab.grading.landing import land_text

PAGE = Path("docs") / "old-articles.md"
NOTEBOOK = "93_old_articles"
TABLE = "table-"
"""With it begin the ids of the notebook's cells that hold the tables."""
TOP = f"""\
# If you learned it from an old article

The classic articles explain Kafka 0.11 to 3. Most of it is still so. These tables say what is not, since when, and
where a run shows it. Written by `kafkalab build-labs` from [lab 93](../{LABS}/{NOTEBOOK}.ipynb), which runs more of it.
"""


def page(root: Path) -> str:
    """Return the page. ValueError for a notebook without tables."""
    cells = read(root / SOLUTIONS / f"{NOTEBOOK}.ipynb")["cells"]
    tables = ["".join(cell["source"]).strip() for cell in cells if cell["id"].startswith(TABLE)]
    if not tables:
        raise ValueError(f"{NOTEBOOK}.ipynb has no cell {TABLE}0")
    text = "\n\n".join([TOP.strip(), *tables, ""])
    text = re.sub(r"\]\((\d\w*\.ipynb)", rf"](../{LABS}/\1", text)
    text = text.replace("](#", f"](../{LABS}/{NOTEBOOK}.ipynb#")
    return land_text(text, landings_in(root)).rstrip("\n") + "\n"
