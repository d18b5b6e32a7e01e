"""Exercises that ask for a program: it is run over many schedules, and each run is audited."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafkalab.grading.exercise import WrongAnswer, WrongType, describe
from kafkalab.grading.progress_line import show_progress
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import ForeignAwaitError, RunawayError, StuckError, UnawaitedCallError
from kafkalab.sim.scenario import Scenario

SCHEDULES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """An audit's finding: a sentence about the run, the misconception that it shows, and the step that shows it."""

    says: str
    miss: str = ""
    step: int = -1


Audit = Callable[[Cluster], AuditFinding | None]


def over_schedules(answer: Any, scenarios: Iterable[Scenario], audits: Sequence[Audit], form: str) -> str:
    """ "200 of 200 schedules" if no audit finds anything in any run.

    In each scenario the programs that are `...` (the name "learner" stands for them) are the learner's function.
    WrongAnswer carries the shortest run that breaks; WrongType if the answer is no `async def` function.
    """
    if not inspect.iscoroutinefunction(answer):
        raise WrongType(f"Give {form}: a function defined with `async def`, not {describe(answer)}.")
    return over_scenarios((with_program(scenario, answer) for scenario in scenarios), audits)


def over_scenarios(scenarios: Iterable[Scenario], audits: Sequence[Audit], count: int = SCHEDULES) -> str:
    """The same for scenarios that are complete: "200 of 200 schedules", or WrongAnswer with the shortest that breaks.

    Of the runs that show the same misconception as the first one that breaks it is the one with the fewest steps up to
    the deciding one. `count` is how many there are, for the line that says how far the check has come.
    """
    least: tuple[AuditFinding, Cluster] | None = None
    fine = total = 0
    for scenario in show_progress(scenarios, count, "schedules"):
        total += 1
        cluster, broken = _audit(scenario, audits)
        fine += broken is None
        if broken is not None and (
            least is None or (broken.miss == least[0].miss and _length(broken, cluster) < _length(*least))
        ):
            least = broken, cluster
    if least is None:
        return f"{total} of {total} schedules"
    broken, cluster = least
    faults = ", ".join(map(repr, cluster.scenario.faults)) or "no faults"
    raise WrongAnswer(
        f"{fine} of {total} schedules end well. The shortest that does not: seed {cluster.scenario.seed}, {faults}.\n"
        f"{broken.says}",
        run=cluster,
        step=broken.step,
        miss=broken.miss,
        part=fine / total,
    )


LEARNER = "learner"
"""The name of a program that the learner is to write."""


def with_program(scenario: Scenario, function: Any) -> Scenario:
    """The scenario in which the learner's function runs wherever a program is called "learner"."""
    programs = tuple(replace(p, run=function) if p.run == LEARNER else p for p in scenario.programs)
    return replace(scenario, programs=programs)


def _length(broken: AuditFinding, cluster: Cluster) -> int:
    """Return how many steps a learner walks until the run is seen to break."""
    return broken.step if broken.step >= 0 else cluster.trace.steps


def _audit(scenario: Scenario, audits: Sequence[Audit]) -> tuple[Cluster, AuditFinding | None]:
    cluster = Cluster(scenario)
    try:
        cluster.run()
    except (StuckError, RunawayError) as error:
        return cluster, AuditFinding(says=f"The run does not end: {_first(error)}.", miss="does not end")
    except (ForeignAwaitError, UnawaitedCallError) as error:
        return cluster, AuditFinding(says=f"{_first(error)}.", miss="foreign await")
    except Exception as error:
        return cluster, AuditFinding(
            says=f"Your program stops with {type(error).__name__}: {_first(error)}.", miss="stops"
        )
    return cluster, next(filter(None, (audit(cluster) for audit in audits)), None)


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0].partition("; the last")[0]
