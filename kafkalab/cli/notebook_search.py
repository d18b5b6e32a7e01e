"""`explore` as notebooks have it: with a clock, a bar that shows how far it is, and a file that keeps its runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkalab.cli.explore import after, processes
from kafkalab.cli.kept_runs import kept_runs
from kafkalab.explore.result import Coverage, Result
from kafkalab.explore.search import MOST_FAULTS, RUNS, Stop
from kafkalab.explore.search import explore as search
from kafkalab.limits import quote
from kafkalab.sim.scenario import ProgramFunction, Scenario

REFRESH_S = 0.2
STOPS = "■ in the toolbar stops the search; what it covered is kept"


def explore(
    scenario: Scenario | ProgramFunction,
    find: str | Iterable[str] = (),
    rules_off: Iterable[str] = (),
    most_faults: int = MOST_FAULTS,
    engine: str = "lineage",
    runs: int = RUNS,
    seed: int = 1,
    kinds: tuple[str, ...] = (),
    read: bool = False,
    stop: Stop | None = None,
    seconds: float = 0,
    keep: str | Path | None = None,
    jobs: int = 1,
    progress: bool | None = None,
) -> Result:
    """Search as `kafkalab.explore.search.explore` does, which says what the arguments up to `stop` are.

    The search ends after `seconds`, 0 is never. `keep` names a file in which each run is kept: the same search goes on
    from there when it is started again. `jobs` is the number of processes; the result is the same. `progress` shows a
    bar, by default in notebooks: interrupt the kernel, and the search ends and returns what it covered.
    """
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 <= seconds < float("inf"):
        raise ValueError(f"seconds is a number from 0 on, not {quote(seconds)}")
    if type(jobs) is not int or jobs < 1:
        raise ValueError(f"jobs is a number from 1 on, not {quote(jobs)}")
    over = after(seconds)
    shown = _in_a_notebook() if progress is None else progress
    with processes(jobs) as mapper, kept_runs(keep, mapper) as kept, _bar(runs, shown) as show:

        def show_and_ask(covered: Coverage) -> str:
            show(covered)
            return (stop(covered) if stop is not None else "") or over(covered)

        return search(scenario, find, rules_off, most_faults, engine, runs, seed, kinds, read, show_and_ask, kept)


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _bar(runs: int, shown: bool) -> Iterator[Callable[[Coverage], None]]:
    """Show the runs of the budget that are used up, in the notebook's output, until the search ends."""
    if not shown:
        yield lambda covered: None
        return
    from IPython.display import display
    from ipywidgets import HTML, IntProgress, VBox

    bar, text = IntProgress(max=runs), HTML(STOPS)
    box = VBox([bar, text])
    display(box)  # type: ignore[no-untyped-call]
    due = 0.0

    def show(covered: Coverage) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + REFRESH_S
            bar.value = covered.runs
            size = max(covered.tried, default=0)
            so_far = f"runs {covered.runs:,} of {runs:,}, distinct futures {covered.futures:,}, now sets of {size}"
            text.value = f"{so_far}. {STOPS}"

    try:
        yield show
    finally:
        box.close()
        bar.close()
        text.close()
