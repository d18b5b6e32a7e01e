"""The targets of a search: every anomaly of the checks, and programs that fail or never end."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import ALLOWED, FORBIDDEN, VIOLATED, Finding
from kafkalab.checks.view import view_of
from kafkalab.history.export import history_of
from kafkalab.limits import QUOTE, quote
from kafkalab.protocol.errors import Error
from kafkalab.run.again import EXCEPTIONS
from kafkalab.run.run import Run

FAILED, STUCK, REFUSED, OTHER = "failed program", "stuck program", "refused request", "other answer"
FATAL = frozenset(error.name for error in Error if not error.retriable and error is not Error.NONE)
MEANINGS = {
    **{name: check.meaning for name, check in BY_NAME.items()},
    FAILED: "A program ended with an error.",
    STUCK: "A program waits for ever.",
    REFUSED: "A client is answered with an error that trying again does not mend.",
    OTHER: "A client gets another answer than with the rules on, of those that a search switches off.",
}
"""Every name that `find` may have, and one sentence that says what it is.

"failed program: ProducerFencedError" is a program that ended with this exception, or with an error of this name.
"""


def parse_names(find: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names as a tuple, all anomalies of the checks for none. ValueError for an unknown name."""
    names = (find,) if isinstance(find, str) and find else tuple(find)
    for name in names:
        if isinstance(name, str) and name.startswith(f"{FAILED}:"):
            _check_exception(_parts(name)[1])
        elif name not in MEANINGS:
            near = difflib.get_close_matches(name, MEANINGS, 1) if isinstance(name, str) and len(name) <= QUOTE else []
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(MEANINGS)}"
            raise ValueError(f"no anomaly is called {quote(name)}{hint}")
    return names or tuple(BY_NAME)


def _parts(name: str) -> tuple[str, str]:
    """Return "failed program" and the exception that a name asks for; "" for any."""
    anomaly, _, exception = name.partition(":")
    return anomaly, exception.strip()


def _check_exception(name: str) -> None:
    """Raise ValueError for no name, and for one that is nearly that of an exception of Kafka's or of Python's."""
    known = (*EXCEPTIONS, *(error.name for error in Error))
    if name in known:
        return
    near = difflib.get_close_matches(name[:QUOTE], known, 1, 0.8)
    if near or not name.isidentifier():
        hint = f"; did you mean {near[0]!r}?" if near else f", as in '{FAILED}: ProducerFencedError'"
        raise ValueError(f"no exception is called {quote(name)}{hint}")


def findings_of(run: Run, names: Iterable[str]) -> tuple[Finding, ...]:
    """Return the forbidden findings of these names in a run, those of programs included.

    `OTHER` needs two runs: see `kafkalab.explore.answers.other_answers`.
    """
    found: list[Finding] = []
    view = view_of(history_of(run))
    for name in names:
        anomaly, exception = _parts(name)
        if anomaly == FAILED:
            found += _find_failed(run, exception)
        elif anomaly in OF_PROGRAMS:
            found += OF_PROGRAMS[anomaly](run)
        elif anomaly != OTHER:
            result = BY_NAME[anomaly](view)
            if result.verdict == VIOLATED:
                found += [f for f in result.findings if f.policy == FORBIDDEN]
    return tuple(found)


def allowed_in(run: Run, names: Iterable[str]) -> tuple[Finding, ...]:
    """Return the findings of these names in a run that Kafka allows: a search does not count them."""
    view = view_of(history_of(run))
    checked = [BY_NAME[name](view) for name in names if name in BY_NAME]
    return tuple(f for result in checked for f in result.findings if f.policy == ALLOWED)


def _find_failed(run: Run, exception: str = "") -> list[Finding]:
    ends = [e for e in run.trace.events if e.kind == "complete" and e.name == "program"]
    ends = [e for e in ends if exception in ("", e.data["exception"], e.data["error"])]
    texts = ((e, f"the program of {e.node} ended with {e.data['exception']} ({e.data['error']})") for e in ends)
    found = [Finding(anomaly=FAILED, policy="forbidden", text=text, steps=(e.step,)) for e, text in texts]
    if run.raised and exception in ("", run.raised.partition(":")[0]):
        text = f"a program raised {run.raised}"
        found.append(Finding(anomaly=FAILED, policy="forbidden", text=text, steps=(run.trace.steps - 1,)))
    return found


def _find_stuck(run: Run) -> list[Finding]:
    last = {node: max((e.step for e in run.trace.events if e.node == node), default=0) for node in run.waiting}
    text = "the program of {} waits for ever"
    return [Finding(anomaly=STUCK, policy="forbidden", text=text.format(n), steps=(step,)) for n, step in last.items()]


def _find_refused(run: Run) -> list[Finding]:
    found = []
    for event in run.trace.of("receive"):
        frame = event.data
        if frame.kind == "response" and event.node not in run.cast.brokers and frame.error in FATAL:
            text = f"{event.node} is answered {frame.error} to {frame.of}"
            found.append(Finding(anomaly=REFUSED, policy="forbidden", text=text, steps=(event.step,)))
    return found


OF_PROGRAMS: dict[str, Callable[[Run], list[Finding]]] = {STUCK: _find_stuck, REFUSED: _find_refused}
