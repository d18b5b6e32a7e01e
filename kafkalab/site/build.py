"""The whole site, built into one folder of files: its parts in order, and a look for dead links at the end."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from kafkalab.site.documents import dead_links, write_documents
from kafkalab.site.frame import GUARD, write_assets
from kafkalab.site.kernel.build import PAGE as KERNELS_PAGE
from kafkalab.site.kernel.build import write_early, write_kernel
from kafkalab.site.lite import APPS, FOLDER, PYTHON, build_lite
from kafkalab.site.notebooks import write_notebooks
from kafkalab.site.page.build import PAGE, write_page
from kafkalab.site.recordings import write_recordings
from kafkalab.site.runtime import CACHE, CannotBuildError, node
from kafkalab.site.start_page import write_start_page

SITE = Path("build", "site")


def build(root: Path, site: Path) -> None:
    """Build the site of the project in the folder `root` into the folder `site`, which it empties first."""
    if site.exists() and any(site.iterdir()) and not (site / FOLDER).is_dir():
        raise CannotBuildError(f"{site} is not empty and holds no site of kafkalab; name another folder")
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        write_notebooks(root, Path(folder))
        build_lite(root, site, Path(folder))
    _guard(site)
    write_assets(site)
    write_early(site)
    write_page(site / PAGE, site / PYTHON, node(root / CACHE))
    write_kernel(site / FOLDER, site / PYTHON, node(root / CACHE))  # after the page, which needs Python's library, too
    recordings = write_recordings(root, site)
    pages = [recordings, *write_documents(root, site), *write_start_page(root, site)]
    if dead := dead_links(site, pages):
        raise CannotBuildError("links that lead nowhere:\n" + "\n".join(dead))


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
