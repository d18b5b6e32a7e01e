"""Show the run of a wrong answer, opened at the step that decides: below its check, or as a page beside a report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kafkalab.checks.all import check_all
from kafkalab.checks.check import FORBIDDEN
from kafkalab.grading.progress import in_a_kernel
from kafkalab.grading.tables import Table
from kafkalab.history.export import history_of
from kafkalab.markup import Markup, element, page
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.trace import Trace

if TYPE_CHECKING:
    from kafkalab.sim.scenario import Scenario

AFTER_THE_CELL = "post_run_cell"


def shown_below(run: Scenario | Cluster | Table, step: int = -1, view: str = "Sequence") -> bool:
    """Show the counterexample when this cell of the notebook has ended, below the error; False in no notebook."""
    if not in_a_kernel():
        return False
    shell: Any = sys.modules["IPython"].get_ipython()

    def show(result: object) -> None:
        shell.events.unregister(AFTER_THE_CELL, show)
        sys.modules["IPython"].display.display(picture(run, step, view))

    shell.events.register(AFTER_THE_CELL, show)
    return True


def picture(run: Scenario | Cluster | Table, step: int = -1, view: str = "Sequence") -> Any:
    """Return the view of the run, at `step`, or at the step that decides if it is -1; a table as it is."""
    if isinstance(run, Table):
        return run
    from kafkalab.widgets.views.log_tape import LogTape
    from kafkalab.widgets.views.sequence import Sequence

    cluster = run if isinstance(run, Cluster) else ran(run)
    opened: Any = {"Sequence": Sequence, "LogTape": LogTape}[view](cluster)
    opened.step = step if step >= 0 else deciding_step(cluster)
    return opened


def write_page(run: Scenario | Cluster | Table, step: int = -1, about: str = "") -> str:
    """Return the counterexample as one HTML page, opened at `step`; `about` is said above it."""
    if isinstance(run, Table):
        return page(run.title, element("h1", run.title), element("p", about), Markup(run._repr_html_()))
    from kafkalab.widgets.model.journey import Journey
    from kafkalab.widgets.views.recorded_page import recorded_page

    cluster = run if isinstance(run, Cluster) else ran(run)
    journey = Journey(cluster)
    journey.step = step if step >= 0 else deciding_step(cluster)
    return recorded_page(journey, about)


def deciding_step(cluster: Cluster) -> int:
    """Return the step of the first forbidden finding, else of the last fault, else of the last event."""
    results = check_all(history_of(cluster)).results
    found = [f.steps[-1] for r in results for f in r.findings if f.policy == FORBIDDEN and f.steps]
    if found:
        return min(found)
    faults = cluster.trace.of("fault") + cluster.trace.of("crash")
    return max((event.step for event in faults), default=cluster.trace.steps - 1)


def answer_step(trace: Trace, node: str, number: int = -1) -> int:
    """Return the step at which `node` receives an answer: the last one, or the one with this place in the order."""
    received = [e.step for e in trace.of("receive") if e.node == node and trace.frames[e.frame].kind == "response"]
    return received[number]
