"""What a search can look for: every anomaly of the checks, and programs that fail or never end."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import VIOLATED, Finding
from kafkalab.checks.view import view_of
from kafkalab.history.export import history_of
from kafkalab.limits import QUOTE, quoted
from kafkalab.protocol.errors import Error
from kafkalab.sim.cluster import Cluster

FAILED, STUCK, REFUSED, OTHER = "failed program", "stuck program", "refused request", "other answer"
FATAL = frozenset(error.name for error in Error if not error.retriable and error is not Error.NONE)
MEANINGS = {
    **{name: check.meaning for name, check in BY_NAME.items()},
    FAILED: "A program ended with an error.",
    STUCK: "A program waits for ever.",
    REFUSED: "A client is answered with an error that trying again does not mend.",
    OTHER: "A client gets another answer than with the rules on, of those that a search switches off.",
}
"""Every name that `find` may have, and one sentence that says what it is."""


def named(find: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names as a tuple, all anomalies of the checks for none. ValueError for an unknown name."""
    names = (find,) if isinstance(find, str) and find else tuple(find)
    for name in names:
        if name not in MEANINGS:
            near = difflib.get_close_matches(name, MEANINGS, 1) if isinstance(name, str) and len(name) <= QUOTE else []
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(MEANINGS)}"
            raise ValueError(f"no anomaly is called {quoted(name)}{hint}")
    return names or tuple(BY_NAME)


def findings_of(cluster: Cluster, names: Iterable[str]) -> tuple[Finding, ...]:
    """Return the forbidden findings of these names in a run, those of programs included.

    `OTHER` needs two runs: see `kafkalab.explore.answers.other_answers`.
    """
    found: list[Finding] = []
    view = view_of(history_of(cluster))
    for name in names:
        if name in OF_PROGRAMS:
            found += OF_PROGRAMS[name](cluster)
        elif name != OTHER:
            result = BY_NAME[name](view)
            if result.verdict == VIOLATED:
                found += [f for f in result.findings if f.policy == "forbidden"]
    return tuple(found)


def _failed(cluster: Cluster) -> list[Finding]:
    ends = [e for e in cluster.trace.events if e.kind == "complete" and e.name == "program"]
    texts = ((e, f"the program of {e.node} ended with {e.data['exception']} ({e.data['error']})") for e in ends)
    found = [Finding(anomaly=FAILED, policy="forbidden", text=text, steps=(e.step,)) for e, text in texts]
    if "" in cluster.results:
        text = f"a program raised {cluster.results['']}"
        found.append(Finding(anomaly=FAILED, policy="forbidden", text=text, steps=(cluster.trace.steps - 1,)))
    return found


def _stuck(cluster: Cluster) -> list[Finding]:
    alive = [p.node for p in cluster.scenario.programs if cluster.nodes[p.node].alive]
    waiting = [node for node in alive if node not in cluster.results]
    last = {node: max((e.step for e in cluster.trace.events if e.node == node), default=0) for node in waiting}
    text = "the program of {} waits for ever"
    return [Finding(anomaly=STUCK, policy="forbidden", text=text.format(n), steps=(last[n],)) for n in waiting]


def _refused(cluster: Cluster) -> list[Finding]:
    found = []
    for event in cluster.trace.of("receive"):
        frame = event.data
        if frame.kind == "response" and event.node not in cluster.brokers and frame.error in FATAL:
            text = f"{event.node} is answered {frame.error} to {frame.of}"
            found.append(Finding(anomaly=REFUSED, policy="forbidden", text=text, steps=(event.step,)))
    return found


OF_PROGRAMS: dict[str, Callable[[Cluster], list[Finding]]] = {FAILED: _failed, STUCK: _stuck, REFUSED: _refused}
