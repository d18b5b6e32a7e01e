"""The part of a run's address after the #: a share code, a challenge or a lab's run, and where in it it opens."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from kafkalab.course import labs
from kafkalab.grading.challenge import Challenge, open_challenge
from kafkalab.limits import quote
from kafkalab.sim.codec import scenario_of_code
from kafkalab.sim.scenario import Scenario

NAMED = ("run", "challenge", "lab")


@dataclass(frozen=True, slots=True)
class Opening:
    """A scenario, the frame or chapter to open it at ("" for the first stop), and the challenge it belongs to."""

    scenario: Scenario
    at: str = ""
    step: int | None = None
    challenge: Challenge | None = None


def opening(address: str) -> Opening:
    """Return what `address` names: `run=K1-…`, `challenge=C1-…` or `lab=lab03`, with `at=EndTxn#1` or `step=54`.

    ValueError, which says what would be right, for anything else.
    """
    named = dict(parse_qsl(address.lstrip("#"), keep_blank_values=True))
    at, step = named.pop("at", ""), named.pop("step", "")
    if len(named) != 1 or (kind := next(iter(named))) not in NAMED:
        raise ValueError(f"an address ends with {', '.join(f'#{n}=…' for n in NAMED)}, not {quote('#' + address)}")
    if step and not step.isdecimal():
        raise ValueError(f"a step is a number, such as #lab=lab03&step=54, not {quote(step)}")
    where, value = (at, int(step) if step else None), named[kind]
    if kind == "challenge":
        challenge = open_challenge(value)
        return Opening(challenge.scenario, *where, challenge)
    return Opening(scenario_of_code(value) if kind == "run" else scenario_of_lab(value), *where)


def scenario_of_lab(name: str) -> Scenario:
    """Return the run `name` of a lab, such as "lab03"; of several runs of a lab each has its own name."""
    try:
        made = labs.names()[name]()
    except (KeyError, TypeError):
        made = None
    if not isinstance(made, Scenario):
        raise ValueError(f"no lab has a run {quote(name)}; there are lab00, lab01 and so on")
    return made
