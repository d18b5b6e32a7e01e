"""Says in one paragraph how an anomaly came about: every sentence names frames, offsets and epochs of the trace."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafkalab.checks.check import Finding
from kafkalab.explore.event_words import describe_event, request_of
from kafkalab.explore.experiment import run_to_end
from kafkalab.explore.lineage import PLUMBING
from kafkalab.protocol.rules import REGISTRY
from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame

MOST_EVENTS = 6


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the steps of the events that it is about: of the run, or with `prevented` of the run with the
    rules on.
    """

    text: str
    steps: tuple[int, ...]
    prevented: bool = False


def explain_finding(run: Run, finding: Finding, rules_off: tuple[str, ...], read: bool = False) -> str:
    """Return the paragraph: see `sentences_of`."""
    return " ".join(sentence.text for sentence in sentences_of(run, finding, rules_off, read))


def sentences_of(
    run: Run, finding: Finding, rules_off: tuple[str, ...], read: bool = False
) -> tuple[Sentence, ...]:
    """Return what went wrong in a run, what followed, what shows the anomaly, and what the rules would have done.

    `rules_off` are the rules that would have prevented the finding; with `read` every topic was read to its end.
    """
    found = [*_describe_strikes(run), *_describe_retries(run), *_proof(finding, run)]
    if rules_off:
        found.append(_with_rules(run, rules_off, read))
    return tuple(found)


def _describe_strikes(run: Run) -> list[Sentence]:
    """Return what the faults did, as the trace has it."""
    kinds = ("fault", "crash", "recover")
    events = [event for event in run.trace.events if event.kind in kinds]
    return [Sentence(f"{_first(describe_event(event, run))}.", (event.step,)) for event in events]


def _describe_retries(run: Run) -> list[Sentence]:
    """The requests that were sent again because of a frame that was struck."""
    found = []
    for event in run.trace.events:
        if event.kind != "fault" or not event.frame:
            continue
        frame = run.trace.frames[event.frame]
        request = request_of(frame, run.trace)
        again = next((f for f in run.trace.frames.values() if _is_retry(f, request)), None)
        if again is not None:
            text = f"{request.sender} gets no answer in time, and sends the same again as {again.id}."
            found.append(Sentence(text, (again.sent_step,)))
    return found


def _is_retry(frame: Frame, request: Frame) -> bool:
    if frame.kind != "request" or frame.copy_of or frame.sent_step <= request.sent_step or frame.attempt < 2:
        return False
    return (frame.sender, frame.name) == (request.sender, request.name) and frame.body == request.body


def _proof(finding: Finding, run: Run) -> list[Sentence]:
    """The events that prove the finding, and what the check says of them."""
    events = [run.trace.events[step] for step in finding.steps if 0 <= step < len(run.trace.events)]
    texts = list(dict.fromkeys(describe_event(e, run) for e in events))
    more = f", and {len(texts) - MOST_EVENTS} more" if len(texts) > MOST_EVENTS else ""
    steps = tuple(e.step for e in events[:MOST_EVENTS])
    found = [Sentence(f"{_first('; '.join(texts[:MOST_EVENTS]))}{more}.", steps)] if texts else []
    return [*found, Sentence(f"This is {finding.anomaly or 'what the rule prevents'}: {finding.text}.", finding.steps)]


def _with_rules(run: Run, rules_off: tuple[str, ...], read: bool) -> Sentence:
    """Return where the run with the rules on goes another way."""
    scenario = run.scenario_or_why()
    off = tuple(name for name in scenario.rules_off if name not in rules_off)
    other = run_to_end(replace(scenario, rules_off=off), read)[0]
    names = " and ".join(f'"{name}" ({_source(name)})' for name in rules_off)
    here, there = first_difference(run, other)
    instead, when = "", "" if there is None else f"at {there.at_ms:,} ms "
    if there is not None and when.strip() in describe_event(there, other):
        when = ""
    if here is not None and there is not None:
        instead = f": {when}{describe_event(there, other)}, where without it {describe_event(here, run)}"
    elif there is not None:
        instead = f": {when}{describe_event(there, other)}, which does not happen without it"
    elif here is not None:
        instead = f": it never happens that {describe_event(here, run)}"
    steps = (there.step,) if there is not None else ()
    same = "the same faults show" if scenario.faults else "the same programs show"
    return Sentence(f"With the rule {names} {same} no such anomaly{instead}.", steps, True)


def first_difference(run: Run, other: Run) -> tuple[Event | None, Event | None]:
    """Return the first events in which two runs differ, those of finding the way left out; None where one has ended."""
    here = [e for e in run.trace.events if e.name not in PLUMBING and e.kind != "state"]
    there = [e for e in other.trace.events if e.name not in PLUMBING and e.kind != "state"]
    for one, two in zip(here, there, strict=False):
        if describe_event(one, run) != describe_event(two, other) or (one.kind, one.node) != (two.kind, two.node):
            return one, two
    shorter = min(len(here), len(there))
    return (here[shorter] if len(here) > shorter else None), (there[shorter] if len(there) > shorter else None)


def _source(name: str) -> str:
    return next(rule.source for rule in REGISTRY if rule.name == name)


def _first(text: str) -> str:
    """The text as the beginning of a sentence: the name of a node or a frame stays as it is."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0] in ("a", "all", "from", "the") else text
