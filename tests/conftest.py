"""What all tests share: where the project lies, and how a missing program is met."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kafkalab.grading.builder import FIGURE
from tests.cells import WATCHED, Cell, describe, watching
from tests.programs_found import PROGRAMS, find_program, give_up
from tests.subjects import subjects, word_of

SEEN = pytest.StashKey[dict[str, dict[Cell, int]]]()
ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """Notebooks that the tests run see this environment's kernels, this folder's kafkalab, and keep no progress."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        folder = Path(sys.prefix) / "jupyter" / "tests" / name.lower()
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[name] = str(folder)
    os.environ["KAFKALAB_PROGRESS"] = "off"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def pytest_make_parametrize_id(val: object) -> str | None:
    """A rule and the name of a check are written as one word, so that `-k` finds their cases."""
    return word_of(val)


LONG = ("spark", "notebooks", "campaign", "browser", "index")
"""Marks of what takes long, the longest first."""
WITH_OTHER_PROGRAMS = ("browser", "clients", "index", "notebooks", "spark")
WITH_THREADS = tuple(str(ROOT / "tests" / name) for name in ("live", "scorecard", "testing", "wire"))
"""Marks and folders of tests whose pace is not ours: other programs, sockets, threads. One that fails is run once more,
and the summary says so. Simulator, brokers, clients, log and checks are never run again."""


@pytest.hookimpl(tryfirst=True)  # before -m selects by the marks that are set here
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files with long tests first: a worker takes a file whole, so short files must be left for the end.

    The cells that nbval compares are tests with the marks `notebooks` and `smoke`; one alone cannot be run again, since
    its kernel would be new. nbval compares figures here, too: a picture that changed must be saved anew by
    `kafkalab build-labs --run`. `-k` knows the subjects of a test.
    """
    for item in items:
        if isinstance(item, pytest.Function):
            item.extra_keyword_matches |= subjects(item).union(*(m.args for m in item.iter_markers("subjects")))
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.notebooks)
            item.add_marker(pytest.mark.smoke)
            in_nbval: Any = item
            if any(FIGURE in output.get("data", {}) for output in in_nbval.cell.get("outputs", ())):
                in_nbval.options["check"] = in_nbval.parent.compare_outputs
        elif str(item.path).startswith(WITH_THREADS) or any(map(item.get_closest_marker, WITH_OTHER_PROGRAMS)):
            item.add_marker(pytest.mark.flaky(reruns=1))
    ranks: dict[Path, int] = {}
    for item in items:
        rank = next((n for n, m in enumerate(LONG) if item.get_closest_marker(m)), len(LONG))
        ranks[item.path] = min(rank, ranks.get(item.path, rank))
    items.sort(key=lambda item: ranks[item.path])


def scope_of(nodeid: str) -> str:
    """Return what the test is given to a worker with: its file, or those that share a Spark session or a built site."""
    file = nodeid.partition("::")[0]
    if file.startswith("tests/site/test_site"):
        return "tests/site/test_site"
    return "tests/spark" if file.startswith("tests/spark/") and "standalone_cluster" not in file else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Schedule by `scope_of` where files are asked for: a Java that has worked for one file is quick in the next."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


VISITS = "KAFKALAB_CELLS"
"""Names a file: there the session writes how often each cell of the tables was looked at."""
_watches = ExitStack()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Watch the tables if somebody wants to know."""
    if VISITS in os.environ:
        seen = {name: _watches.enter_context(watching(table)) for name, table in WATCHED.items()}
        session.config.stash[SEEN] = seen


def pytest_collection_finish() -> None:
    """Thousands of tests are no garbage: the collector need not look at them again and again.

    Hypothesis asks the collector who refers to its random generator, and warns where nobody does. On Python 3.14 that
    is an object from before the freeze, which the collector does not show after it; so it asks before it.
    """
    if "hypothesis.core" in sys.modules:
        from hypothesis.internal.entropy import deterministic_PRNG

        with deterministic_PRNG():
            pass
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Say what was seen."""
    if VISITS in os.environ:
        seen = session.config.stash[SEEN]
        visits = {name: {describe(cell): n for cell, n in cells.items()} for name, cells in seen.items()}
        Path(os.environ[VISITS]).write_text(json.dumps(visits), encoding="utf-8")
        _watches.close()


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    """A function from a need ("browser", "firefox", "dot", "java", "node") to the path of a program that meets it.

    Where none is on the PATH the test is skipped, or fails if KAFKALAB_REQUIRE names the need.
    """

    def find(need: str) -> str:
        path = find_program(need)
        if path is None:
            give_up(f"no {PROGRAMS[need][0]} on the PATH", need)
        return path

    return find


@pytest.fixture
def typed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """A command line, typed in an empty folder; its exit status, what it printed, and what it complained of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setenv("PYTHON_COLORS", "0")  # else argparse of Python 3.14 heeds FORCE_COLOR

    from kafkalab.cli.main import main

    def type_in(*words: str) -> tuple[int, str, str]:
        status = main(list(words))
        printed = capfd.readouterr()
        return status, printed.out, printed.err

    return type_in


@pytest.fixture
def no_hints_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new kernel: no hint was given, nothing was answered wrongly yet."""
    from kafkalab.grading import check

    monkeypatch.setattr(check, "_session", check._Session())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have measured and want to be read: their property "summary"."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties if report.when == "call" else ():
            if name == "summary":
                terminalreporter.write_line(str(value))
