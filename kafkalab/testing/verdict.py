"""`AnomalyError`: what a check has found in the run of an application, told to its developer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkalab.checks.all import BY_NAME, Report, check_all
from kafkalab.checks.check import FORBIDDEN, Finding, Result
from kafkalab.checks.exactly_once import IN_FLIGHT, effects
from kafkalab.checks.view import ABORTED, COMMITTED, PLAIN, View, view_of
from kafkalab.history.history import History
from kafkalab.limits import did_you_mean, list_names, quote, whole_number
from kafkalab.protocol.records import Batch
from kafkalab.protocol.source_header import sources_of
from kafkalab.testing.causes import deciding_frames, find_causes
from kafkalab.testing.hints import ABORTED_INPUT, hint_for
from kafkalab.testing.read_to_the_end import READER
from kafkalab.trace import Event, Frame, Trace

EXACTLY_ONCE = "exactly-once"
SHOWN, STEPS = 3, 8
NOT_DECLARED = (
    "nothing says which output was made of which input; declare it before you check: "
    'kafka_lab.pipeline("orders", "payments")'
)


class AnomalyError(AssertionError):
    """The run of an application shows an anomaly. `findings` prove it, the worst first; `report` has all checks."""

    def __init__(self, message: str, report: Report, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.report, self.findings = report, tuple(findings)

    @property
    def anomalies(self) -> tuple[str, ...]:
        """The names of what was found."""
        return tuple(dict.fromkeys(f.anomaly for f in self.findings))


def examine(history: History, trace: Trace, began_ms: int, names: Sequence[str], declared: bool) -> Report:
    """Run the checks; raise AnomalyError for what is found of `names`, or without names for a broken promise.

    Exactly-once is a promise too if a pipeline is `declared`: of the application, where Kafka does not give it.
    """
    for name in names:
        if name not in BY_NAME:
            raise ValueError(f"no check {quote(name)}; there are {', '.join(BY_NAME)}{did_you_mean(name, BY_NAME)}")
    view, report = view_of(history), check_all(history)
    if names:
        for name in names:
            _demand_an_answer(report, report[name])
        found = [f for name in names for f in report[name].findings if not _is_in_flight(view, f)]
    else:
        if not history.operations and all(poll.consumer == READER for poll in history.polls):
            raise AnomalyError("no client has sent or read anything: does the application use these brokers?", report)
        found = [f for f in report.findings if f.policy == FORBIDDEN]
        if declared:
            others = (f for f in report[EXACTLY_ONCE].findings if f.policy != FORBIDDEN)
            found += [f for f in others if not _is_in_flight(view, f)]
    if not names or EXACTLY_ONCE in names:
        found += _of_aborted_inputs(view)
    if found:
        found.sort(key=lambda f: (f.anomaly != EXACTLY_ONCE, f.policy != FORBIDDEN))
        raise AnomalyError("\n".join(_lines(found, view, trace, began_ms)), report, found)
    return report


def _demand_an_answer(report: Report, result: Result) -> None:
    if result.examined == 0 and not any(f.policy == FORBIDDEN for f in result.findings):
        why = "nothing of what it examines has happened"
        if result.name == EXACTLY_ONCE:
            why = "the fate of no input is certain yet" if result.findings else NOT_DECLARED
        raise AnomalyError(f"{result.name}: cannot be judged, {why}", report)


def _is_in_flight(view: View, finding: Finding) -> bool:
    """Return True if a finding of exactly-once says only that an input's fate is not certain yet."""
    if finding.anomaly != EXACTLY_ONCE:
        return False
    place = (finding.keys[0], finding.offsets[0])
    return any((e.key, e.offset) == place and e.verdict == IN_FLIGHT for e in effects(view))


def _of_aborted_inputs(view: View) -> Iterator[Finding]:
    """Committed outputs that were made of inputs of aborted transactions."""
    check = BY_NAME[EXACTLY_ONCE]
    for key in view.data_keys:
        for record in view.data(key):
            if view.outcomes[key, record.offset] not in (COMMITTED, PLAIN):
                continue
            for source in sources_of(record.headers):
                input_key, _, offset = source.rpartition("@")
                place = (input_key, whole_number(offset))
                if view.outcomes.get(place) == ABORTED:
                    text = f"{record.value!r} at offset {record.offset} of {key} was made of {source}, {ABORTED_INPUT}"
                    steps = [view.at[place].step, view.markers[place].step, record.step]
                    yield check.make_finding(text, steps, [key], [record.offset])


def _lines(found: Sequence[Finding], view: View, trace: Trace, began_ms: int) -> Iterator[str]:
    told: dict[int, None] = {}
    causes = find_causes(view, trace)
    for finding in found[:SHOWN]:
        yield f"{finding.anomaly}: {finding.text}"
        yield f"    keys {list_names(finding.keys)}; steps {', '.join(map(str, finding.steps[:STEPS]))}"
        proved = [cause.frame.id for cause in causes if cause.explains(finding)]
        frames = [trace.frames[name] for name in proved[:1] or deciding_frames(finding, view, trace)]
        if frames:
            yield f"    decided by {', '.join(frame.id for frame in frames)}"
        steps = {*finding.steps[:STEPS], *(s for f in frames for s in (f.sent_step, f.received_step) if s >= 0)}
        for step in sorted(steps):
            if step not in told:
                yield f"    {line_of(trace.events[step], began_ms)}"
            told[step] = None
    if len(found) > SHOWN:
        yield f"… and {len(found) - SHOWN} more"
    for name in dict.fromkeys(f.anomaly for f in found):
        if hint := hint_for(next(f for f in found if f.anomaly == name), view, causes):
            yield f"hint: {hint}"


def line_of(event: Event, began_ms: int) -> str:
    """Return an event in one line: its step, the time since the beginning, where, and what."""
    what = f"{event.kind} {event.frame or event.name}"
    if event.kind == "append":
        batch: Batch = event.data
        marker = f"{batch.control.name} marker of " if batch.control else ""
        producer = f"producer {batch.producer_id}, epoch {batch.producer_epoch}"
        what = f"appends {marker}{producer} to {event.name}@{batch.base_offset}"
    elif isinstance(event.data, Frame):
        what = f"{event.data.sender} → {event.data.receiver} {event.kind}s {event.data.id}"
    return f"step {event.step:>5}  {(event.at_ms - began_ms) / 1000:8.3f} s  {event.node}  {what}"
