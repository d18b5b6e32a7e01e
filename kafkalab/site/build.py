"""The whole site, built into one folder of files: its parts in order, and a look for dead links at the end."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kafkalab.site.book.build import STATIC, build_book
from kafkalab.site.book.links import dead_links
from kafkalab.site.kernel.build import PAGE as KERNELS_PAGE
from kafkalab.site.kernel.build import write_kernel
from kafkalab.site.lite import APPS, FOLDER, PYTHON, build_lite
from kafkalab.site.notebooks import write_notebooks
from kafkalab.site.runtime import CACHE, CannotBuildError, node
from kafkalab.site.worker.build import write_python

SITE = Path("build", "site")
GUARD = "_static/guard.js"


def build(root: Path, site: Path, url: str = "", only: Sequence[str] = ()) -> None:
    """Build the site of the project in the folder `root` into the folder `site`, which it empties first.

    `url` is its public address, "" if that is not known. `only` are beginnings of the names of the labs that become
    articles, for a quick look: then some links lead nowhere.
    """
    if site.exists() and any(site.iterdir()) and not (site / FOLDER).is_dir():
        raise CannotBuildError(f"{site} is not empty and holds no site of kafkalab; name another folder")
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        write_notebooks(root, Path(folder))
        build_lite(root, site, Path(folder))
    _guard(site)
    others = set(site.rglob("*.html"))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as beside:
        compiled = beside.submit(_write_python, site, node(root / CACHE))  # as long as the book takes, on one core
        build_book(root, site, Path(folder), only, url)
        compiled.result()
    pages = sorted(set(site.rglob("*.html")) - others)
    if not only and (dead := dead_links(site, pages)):
        raise CannotBuildError("links that lead nowhere:\n" + "\n".join(dead))


def _write_python(site: Path, node: Sequence[str]) -> None:
    """Write what pages and notebooks load to have Python; the notebooks' part takes Python's library away."""
    write_python(site / STATIC / "python", site / PYTHON, node)
    write_kernel(site / FOLDER, site / PYTHON, node)


def _guard(site: Path) -> None:
    """Put the script that says what a browser lacks into each of JupyterLite's pages, and the kernel's."""
    for app in APPS:
        path = site / FOLDER / app / "index.html"
        tag = f'<script src="../../{GUARD}" data-lab></script>'
        if app != "edit":
            tag += f'<script src="../kernel/{KERNELS_PAGE}"></script>'
        text, count = re.subn("(<head[^>]*>)", rf"\1{tag}", path.read_text(encoding="utf-8"), count=1)
        assert count, f"{path} has no head"
        path.write_text(text, encoding="utf-8")
