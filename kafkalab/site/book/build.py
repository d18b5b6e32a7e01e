"""Build the book: lay its sources out in a folder, let Sphinx make pages of them, add the pictures' modules."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kafkalab.reference.known_runs import known_runs
from kafkalab.site.book.documents import write_documents
from kafkalab.site.book.front import write_front
from kafkalab.site.book.notebooks import FOLDER, write_articles
from kafkalab.site.book.runs import element_of, lost_answer, with_runs
from kafkalab.site.book.sphinx_extension import ELEMENTS
from kafkalab.site.runtime import CannotBuildError
from kafkalab.widgets.views.parts import BUILT, read_built

HERE = Path(__file__).parent
STATIC, PICTURES = "_static", "pictures"
UNUSED = ("*.html", "**/*.map", "scripts/fontawesome.js", "vendor", "locales")
"""Files of Sphinx and its theme that no page needs."""
THEME = Path("styles", "pydata-sphinx-theme.css")
ICONS = re.compile(r"\.fa-[^{}]*\{--fa:[^{}]*\}|@font-face\{[^{}]*\}")
"""The rules of a font of two thousand icons: `icons.css` draws those that pages show."""


def build_book(root: Path, site: Path, sources: Path, only: Sequence[str] = (), url: str = "") -> None:
    """Build the book of the project in the folder `root` into the folder `site`; `sources` is a folder to work in.

    `only` are beginnings of the names of labs, for a quick look: the reference then has no runs. `url` is the public
    address of the site, "" if it is not known: then no page has a tag that needs it.
    """
    articles = write_articles(root, sources, site, only)
    picture = element_of(lost_answer(), site / FOLDER / "first" / "lost_answer", "", foretold=True)
    runs = [] if only else list(known_runs(root))
    documents = write_documents(root, sources, site, articles, with_runs(runs, site, picture))
    write_front(root, sources, picture, documents)
    shutil.copy(HERE / "run.md", sources)
    make_pages(sources, site, url, strict=not only)
    write_pictures(site / STATIC)


def make_pages(sources: Path, site: Path, url: str = "", strict: bool = True) -> None:
    """Let Sphinx make pages of the sources. CannotBuildError if it fails, or warns of something and `strict`."""
    named = [f"-Dogp_site_url={url}", f"-Dhtml_baseurl={url}", "-t", "public"] if url else []
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", *(["-W", "--keep-going"] if strict else []), *named]
    folders = ["-c", HERE, "-d", sources / ".doctrees", sources, site]
    done = subprocess.run([*command, *map(str, folders)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise CannotBuildError(f"Sphinx could not build the book:\n{done.stderr}")
    for path in [path for pattern in UNUSED for path in (site / STATIC).glob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    theme = site / STATIC / THEME
    theme.write_text(ICONS.sub("", theme.read_text(encoding="utf-8")), encoding="utf-8")


def write_pictures(static: Path) -> None:
    """Copy the modules and style sheets of the pictures; a module finds the common one beside it."""
    (static / PICTURES).mkdir(parents=True, exist_ok=True)
    for path in BUILT.glob("*.js"):
        own = path.stem in ELEMENTS
        folder, common = (static, f"./{PICTURES}/common.js") if own else (static / PICTURES, "./common.js")
        for name in (path.name, f"{path.stem}.css"):
            (folder / name).write_text(read_built(name).replace("kafkalab:common", common), encoding="utf-8")
