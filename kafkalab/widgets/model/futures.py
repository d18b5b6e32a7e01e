"""Runs made of another run by one change: a fault more, or a rule less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.run.again import MOST, agreement, run_scenario
from kafkalab.run.run import Run
from kafkalab.run.source import Source, finish_run
from kafkalab.sim.kernel.kernel import few_collections
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Trace
from kafkalab.widgets.model.arrivals import with_frame_fault
from kafkalab.widgets.model.enabled_actions import FAULT_KINDS, Watch, actions_of, by_hand
from kafkalab.widgets.model.producer_memory import add_memory
from kafkalab.widgets.payload.marks import with_marks
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.tour import with_walk

NO_FRAME_YET = "no frame has passed yet: point a client at the tap's bootstrap_servers, then look again"
RULES = {rule.name: rule for rule in REGISTRY}


def finish(source: Scenario | Source) -> Run:
    """Run a scenario in a new cluster, or a cluster to its end; take what was recorded as it is."""
    if isinstance(source, Scenario):
        return run_watched(source)
    run = finish_run(source)
    if not run.trace.events:
        raise ValueError("this cluster kept no events; make it without keep=False" if run.cluster else NO_FRAME_YET)
    return run


def run_watched(scenario: Scenario, most: int = MOST) -> Run:
    """Run the scenario as far as `run_scenario` does, and note what could be pressed."""
    return run_scenario(scenario, most, Watch())


@few_collections()
def payload_with_actions(run: Run) -> dict[str, Any]:
    """Return the payload of a run with marks, with "actions", what can be pressed, and "ending", why it has no end."""
    payload = with_walk(with_marks(payload_of(run)))
    if run.scenario is None:
        return {**payload, "actions": {**by_hand(), "fixed": run.why}, "ending": ""}
    noted = run if run.notes else run_watched(run.scenario)
    steps = run.trace.steps
    if noted is not run and not noted.trace.steps == steps == agreement(noted.trace, run.trace):
        return {**payload, "actions": by_hand(), "ending": ""}
    assert noted.notes is not None
    payload = add_memory(noted.notes.memory, payload)
    return {**payload, "actions": actions_of(noted, payload["partitions"]), "ending": noted.ending}


def with_fault(scenario: Scenario, fault: Fault, start: int, at: int) -> Scenario:
    """The scenario with one fault more, which strikes before those that it has for the same step.

    So the fault finds what the picture shows at its step. `start` is the last step of the set-up: faults planned for
    any step up to it strike there. `at` is the step at which the frame of a fault on a frame is sent.
    """
    if isinstance(fault, FrameFault):
        return with_frame_fault(scenario, fault, at)
    faults = list(scenario.faults)
    same = [i for i, f in enumerate(faults) if _strikes_at(f, start) == _strikes_at(fault, start)]
    faults.insert(min(same, default=len(faults)), fault)
    return replace(scenario, faults=tuple(faults))


def _strikes_at(fault: Fault, start: int) -> int:
    return -1 if isinstance(fault, FrameFault) or fault.at_step < 0 else max(fault.at_step, start)


def strike(scenario: Scenario, fault: Fault, start: int, at: int, most: int = MOST) -> tuple[Run, int]:
    """Return the run of the scenario with one fault more, and the step that shows the fault.

    `start`, `at` and `most` are those of `with_fault` and `run_watched`. ValueError if the fault would change nothing.
    """
    run = run_watched(with_fault(scenario, fault, start, at), most)
    landed = struck_at(run.trace, fault, at)
    if landed < 0:
        raise ValueError(f"{fault!r} would change nothing")
    return run, landed


def struck_at(trace: Trace, fault: Fault, at: int) -> int:
    """The step of the event that shows the fault, the first one from `at` on; -1 if it changed nothing."""
    for event in trace.events[at + 1 :]:
        if event.kind not in FAULT_KINDS:
            continue
        if isinstance(fault, FrameFault):
            if event.frame and event.data["fault"] == repr(fault):
                return event.step
        elif event.cause == at or event.step == at + 1:
            return event.step
    return -1


def rule_named(name: str) -> Rule:
    """The rule with this name, or with this name in the registry's source: "DEDUPLICATION". ValueError for no rule."""
    found = RULES.get(name) or getattr(rules, name.strip().upper().replace(" ", "_").replace("-", "_"), None)
    if not isinstance(found, Rule):
        raise ValueError(f"no rule is called {name!r}; there are: {'; '.join(RULES)}")
    return found


def with_rule(scenario: Scenario, rule: Rule, on: bool) -> Scenario:
    """The same scenario with the rule switched on or off."""
    rest = tuple(name for name in scenario.rules_off if name != rule.name)
    return replace(scenario, rules_off=rest if on else (*rest, rule.name))


def idle_rule(base: Run, rule: Rule, on: bool) -> str:
    """Return why switching the rule on or off would change nothing in this run; "" if it would."""
    scenario = base.scenario
    if scenario is None:
        return base.why
    if on != (rule.name in scenario.rules_off):
        return f"this rule is {'on' if on else 'off'} already"
    if not with_rule(scenario, rule, True).rules.on(rule):
        return f"profile {scenario.profile} does not have this rule yet"
    other = run_scenario(with_rule(scenario, rule, on), 4 * base.trace.steps + 5_000).trace
    if other.steps == base.trace.steps == agreement(base.trace, other):
        return f"this run is the same with the rule {'on' if on else 'off'}"
    return ""
