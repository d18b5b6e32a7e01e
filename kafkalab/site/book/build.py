"""Build the book: lay its sources out in a folder, let Sphinx make pages of them, add the pictures' modules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sphinx.cmd.build import build_main

from kafkalab.site.book.notebooks import write_articles
from kafkalab.site.book.sphinx_extension import ELEMENTS
from kafkalab.site.lite import PYTHON
from kafkalab.site.runtime import CACHE, CannotBuildError, node
from kafkalab.site.worker.build import write_python
from kafkalab.widgets.views.parts import BUILT, built

HERE = Path(__file__).parent
STATIC, PICTURES = "_static", "pictures"


def build_book(root: Path, site: Path, sources: Path, only: Sequence[str] = ()) -> None:
    """Build the book of the project in the folder `root` into the folder `site`; `sources` is a folder to work in.

    `only` are beginnings of the names of labs, for a quick look.
    """
    write_articles(root, sources, site, only)
    (sources / "index.md").write_text("# Kafka exactly-once\n\n```{toctree}\n:glob:\nlabs/*\n```\n", encoding="utf-8")
    made = build_main(["-q", "-b", "html", "-c", str(HERE), "-d", str(sources / ".doctrees"), str(sources), str(site)])
    if made:
        raise CannotBuildError("Sphinx could not build the book")
    write_pictures(site / STATIC)
    if (site / PYTHON).is_dir():
        write_python(site / STATIC / "python", site / PYTHON, node(root / CACHE))


def write_pictures(static: Path) -> None:
    """Copy the modules and style sheets of the pictures; a module finds the common one beside it."""
    (static / PICTURES).mkdir(parents=True, exist_ok=True)
    for path in BUILT.glob("*.js"):
        for name in (path.name, f"{path.stem}.css"):
            folder = static if path.stem in ELEMENTS else static / PICTURES
            (folder / name).write_text(built(name).replace("kafkalab:common", "./common.js"), encoding="utf-8")
