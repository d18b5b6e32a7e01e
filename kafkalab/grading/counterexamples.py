"""Show the run of a wrong answer below its check, opened at the step that decides."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kafkalab.checks.all import check_all
from kafkalab.checks.check import FORBIDDEN
from kafkalab.grading.progress import in_a_kernel
from kafkalab.grading.tables import Table
from kafkalab.history.export import history_of
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
