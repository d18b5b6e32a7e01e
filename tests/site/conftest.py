"""The built site, once for all the tests of it, and the Chromium that looks at it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

from kafkalab.site.build import build
from kafkalab.site.runtime import CACHE, CannotBuildError, download, node
from kafkalab.site.serve import serve_folder
from tests.browser.conftest import browser, console_errors, page  # noqa: F401 (fixtures)
from tests.programs_found import give_up
from tests.site.lite import serve_solutions


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other process of this run works at the folder."""
    with folder.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield


def need_downloads(root: Path) -> None:
    """Get what a site is built of; skip the test where it cannot be had, or fail if KAFKALAB_REQUIRE names npm."""
    try:
        download(root / CACHE)
        node(root / CACHE)
    except CannotBuildError as error:
        give_up(str(error), "npm")


@pytest.fixture(scope="session")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make site` builds, once for all processes; as it is, if KAFKALAB_SITE names one.

    KAFKALAB_ARTICLES names the labs that become articles: `make test` has no time for all of them.
    """
    if named := os.environ.get("KAFKALAB_SITE"):
        return Path(named).resolve()
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "site"
    with one_at_a_time(folder):
        if not folder.exists():
            need_downloads(root)
            made = tmp_path_factory.mktemp("site-to-be")
            build(root, made, only=os.environ.get("KAFKALAB_ARTICLES", "").split())
            made.rename(folder)
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Return where the site is served, as it is."""
    with serve_folder(site) as address:
        yield address


@pytest.fixture(scope="module")
def with_answers(site: Path) -> Iterator[str]:
    """Return where the site is served with the solutions in the places of the learners' notebooks."""
    with serve_solutions(site) as address:
        yield address
