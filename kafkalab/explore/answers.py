"""The answers to clients in two runs of a scenario: where a rule changes an answer and nothing else shows it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from kafkalab.checks.check import Finding
from kafkalab.explore.anomalies import OTHER
from kafkalab.protocol.acls import is_server
from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame


def other_answers(run: Run, with_rules: Run) -> tuple[Finding, ...]:
    """Return the first answer to a client that is another one in the run with the rules on; nothing if there is none.

    The answers of each client are compared in their order, as long as both runs answer the same requests.
    """
    found: list[tuple[int, str]] = []
    expected = _answers(with_rules)
    for node, events in _answers(run).items():
        for here, there in zip(events, expected.get(node, []), strict=False):
            one, two = here.data, there.data
            if one.of != two.of:
                break
            if one.body != two.body:
                found.append((here.step, f"{node} is answered {_difference(one, two)}"))
                break
    first = sorted(found)[:1]
    return tuple(Finding(anomaly=OTHER, policy="forbidden", text=text, steps=(step,)) for step, text in first)


def _answers(run: Run) -> dict[str, list[Event]]:
    """The answers that reach each client, in their order."""
    found: dict[str, list[Event]] = {}
    for event in run.trace.of("receive"):
        if event.data.kind == "response" and not is_server(event.node):
            found.setdefault(event.node, []).append(event)
    return found


def _difference(one: Frame, two: Frame) -> str:
    """Name both errors, or else the fields that differ: "INVALID_TXN_STATE to Produce#1, with the rule NONE"."""
    if one.error != two.error:
        return f"{one.error} to {one.of}, with the rule {two.error}"
    names = ", ".join(f.name for f in fields(one.body) if _field(one, f.name) != _field(two, f.name))
    return f"otherwise to {one.of}, in {names}"


def _field(frame: Frame, name: str) -> Any:
    return getattr(frame.body, name)
