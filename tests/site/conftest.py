"""The built site, once for all the tests of it, and the Chromium that looks at it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalab.site.build import build
from kafkalab.site.lite import PYTHON
from kafkalab.site.page.build import PAGE, write_page
from kafkalab.site.runtime import CACHE, CannotBuildError, lay_out, node
from kafkalab.site.serve import served
from tests.browser.conftest import browser, console_errors, page  # noqa: F401 (fixtures)
from tests.site.lite import solved


@pytest.fixture(scope="session")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make site` builds; the one that KAFKALAB_SITE names, if it does, as it is."""
    if named := os.environ.get("KAFKALAB_SITE"):
        return Path(named).resolve()
    folder = tmp_path_factory.mktemp("site") / "site"
    build(root, folder)
    return folder


@pytest.fixture(scope="session")
def page_alone(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that has Pyodide and the page with Python in it alone, which is built in a few seconds."""
    folder = tmp_path_factory.mktemp("page")
    try:
        lay_out(root, folder / PYTHON)
        write_page(folder / PAGE, folder / PYTHON, node(root / CACHE))
    except CannotBuildError as error:
        pytest.skip(str(error))
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served, as it is."""
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def with_answers(site: Path) -> Iterator[str]:
    """Where the site is served with the solutions in the places of the learners' notebooks."""
    with solved(site) as address:
        yield address
