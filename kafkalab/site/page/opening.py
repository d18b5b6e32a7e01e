"""What the page's address names after the #: a lab's run, a share code, a challenge; and where in it the page opens."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from urllib.parse import parse_qsl

from kafkalab import course
from kafkalab.course import labs
from kafkalab.course.lab import CourseLab
from kafkalab.grading.challenge import Challenge, open_challenge
from kafkalab.limits import quoted
from kafkalab.sim.codec import scenario_of_code
from kafkalab.sim.scenario import Scenario
from kafkalab.site.page.pictures import picture_named

FIRST = "lab03"
NAMED = ("lab", "run", "challenge")


@dataclass(frozen=True, slots=True)
class Opening:
    """A scenario, the frame or chapter to open it at ("" for the first stop), and the challenge it belongs to."""

    scenario: Scenario
    at: str = ""
    step: int | None = None
    challenge: Challenge | None = None


def opening(address: str) -> Opening:
    """Return what `address` names: `lab=lab03`, `run=K1-…` or `challenge=C1-…`, with `at=EndTxn#1` or `step=54`.

    The empty address is lab 3's run. `view=logs` or `view=states:producer` names another picture of the run, which the
    page asks for when the run is there. ValueError, which says what would be right, for anything else.
    """
    named = dict(parse_qsl(address.lstrip("#"), keep_blank_values=True))
    at, step = named.pop("at", ""), named.pop("step", "")
    if "view" in named:
        picture_named(named.pop("view").partition(":")[0])
    if not named:
        named = {"lab": FIRST}
    if len(named) != 1 or (kind := next(iter(named))) not in NAMED:
        raise ValueError(f"an address ends with {', '.join(f'#{n}=…' for n in NAMED)}, not {quoted('#' + address)}")
    if step and not step.isdecimal():
        raise ValueError(f"a step is a number, such as #lab={FIRST}&step=54, not {quoted(step)}")
    where, value = (at, int(step) if step else None), named[kind]
    if kind == "challenge":
        challenge = open_challenge(value)
        return Opening(challenge.scenario, *where, challenge)
    return Opening(scenario_of_code(value) if kind == "run" else scenario_of_lab(value), *where)


def scenario_of_lab(name: str) -> Scenario:
    """Return the run `name` of a lab, such as "lab03"; of several runs of a lab each has its own name."""
    makers = labs.names()
    if name not in runs():
        raise ValueError(f"no lab has a run {quoted(name)}; there are {', '.join(runs())}")
    return makers[name]()


def runs() -> list[str]:
    """Return the names of the labs' runs, in the labs' order: those that `scenario_of_lab` makes."""
    folders = tuple(f"{course.__name__}.lab{lab.number:02}" for lab in labs.FOUND)
    made = [(folder_of(f.__module__), name) for name, f in labs.names().items() if _needs_nothing(f)]
    return [name for folder in folders for place, name in made if place == folder]


def folder_of(module: str) -> str:
    """Return the package that a module lies in."""
    return module.rpartition(".")[0]


def lab_of(name: str) -> CourseLab:
    """Return the lab that a run belongs to."""
    number = int(folder_of(labs.names()[name].__module__)[-2:])
    return next(lab for lab in labs.FOUND if lab.number == number)


def _needs_nothing(function: object) -> bool:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    given = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in given for p in parameters)
