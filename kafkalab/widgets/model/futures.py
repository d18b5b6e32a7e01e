"""Runs made of another run by one change: a fault more, or a rule less; and how far two runs are the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.programs.raw_requests import StepError
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.kernel.kernel import IDLE_MS, QUIET, few_collections
from kafkalab.sim.recording import Recorded, Recording
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Event, Frame, Trace, plain
from kafkalab.widgets.model.arrivals import with_frame_fault
from kafkalab.widgets.model.enabled_actions import FAULT_KINDS, Watch, by_hand
from kafkalab.widgets.payload.marks import with_marks
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.tour import with_walk

SLICE, MOST = 250, 100_000
ENDLESS = "the run goes on and on"
NO_FRAME_YET = "no frame has passed yet: point a client at the tap's bootstrap_servers, then look again"
RULES = {rule.name: rule for rule in REGISTRY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished run: its cluster, `ending`, why it has no end, or "", and what was noted of it, if anything was."""

    cluster: Cluster
    ending: str = ""
    watch: Watch | None = None


def finish(run: Scenario | Cluster | Recorded) -> Run:
    """Run a scenario in a new cluster, or a cluster to its end; take what was recorded as it is."""
    if isinstance(run, Scenario):
        return run_of(run)
    if isinstance(run, Recorded):
        run = run.recording()
    if not isinstance(run, Cluster):
        raise TypeError(f"a picture shows a Scenario or a Cluster, such as Sequence(lab03()), not {type(run).__name__}")
    run.run()
    if isinstance(run, Recording) and not run.trace.events:
        raise ValueError(NO_FRAME_YET)
    if not run.trace.events:
        raise ValueError("this cluster kept no events; make it without keep=False")
    return Run(cluster=run)


def run_of(scenario: Scenario, most: int = MOST, watched: bool = True) -> Run:
    """Run the scenario to its end, or as far as anything but repeated requests happens, or up to a limit.

    Without `watched` nothing is noted of what could be pressed, which is faster.
    """
    watch = Watch() if watched else None
    cluster = Cluster(scenario, watch=watch)
    return Run(cluster=cluster, ending=_run(cluster, most), watch=watch)


def _run(cluster: Cluster, most: int) -> str:
    """Run the cluster; return why the run has no end, "" if it has one."""
    changed_ms, looked = 0, 0
    for _ in range(most // SLICE + 1):
        try:
            cluster.run(SLICE)
            return ""
        except StepError as error:
            return f"a program by hand gives up: {error}"
        except StuckError as error:
            return str(error).partition(";")[0]
        except RunawayError:
            events = cluster.trace.events
            changed_ms = max((e.at_ms for e in events[looked:] if e.kind not in QUIET), default=changed_ms)
            looked = len(events)
            ahead = cluster.schedule.last_foreground_ms - cluster.now
            if cluster.now - changed_ms > IDLE_MS and ahead < IDLE_MS:
                return "a program waits for ever"
    return f"{ENDLESS}; shown are its first {cluster.trace.steps} events"


@few_collections()
def payload_with_actions(run: Run) -> dict[str, Any]:
    """Return the payload of a run with marks, with "actions", what can be pressed, and "ending", why it has no end."""
    payload = with_walk(with_marks(payload_of(run.cluster)))
    if isinstance(run.cluster, Recording):
        return {**payload, "actions": {**by_hand(), "fixed": run.cluster.why}, "ending": ""}
    if run.watch is None:
        again = run_of(run.cluster.scenario)
        steps = run.cluster.trace.steps
        if not again.cluster.trace.steps == steps == agreement(again.cluster.trace, run.cluster.trace):
            return {**payload, "actions": by_hand(), "ending": ""}
        run = again
    assert run.watch is not None
    payload = run.watch.memory.added_to(payload)
    return {**payload, "actions": run.watch.actions(run.cluster, payload["partitions"]), "ending": run.ending}


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

    `start`, `at` and `most` are those of `with_fault` and `run_of`. ValueError if the fault would change nothing.
    """
    run = run_of(with_fault(scenario, fault, start, at), most)
    landed = struck_at(run.cluster.trace, fault, at)
    if landed < 0:
        raise ValueError(f"{fault!r} would change nothing")
    return run, landed


def struck_at(trace: Trace, fault: Fault, at: int) -> int:
    """The step of the event that shows the fault, the first one from `at` on; -1 if it changed nothing."""
    for event in trace.events[at + 1 :]:
        if event.kind not in FAULT_KINDS:
            continue
        if isinstance(fault, FrameFault):
            if event.frame == fault.frame and event.data["fault"] == repr(fault):
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


def agreement(a: Trace, b: Trace) -> int:
    """Return how many events, from the first on, are the same in both."""
    pairs = zip(a.events, b.events, strict=False)
    return sum(1 for _ in takewhile(lambda pair: _same(*pair), pairs))


def _same(a: Event, b: Event) -> bool:
    if a is b:
        return True
    if (a.kind, a.name, a.node, a.frame, a.at_ms, a.cause) != (b.kind, b.name, b.node, b.frame, b.at_ms, b.cause):
        return False
    return a.data is b.data or _drop_future(a.data) == _drop_future(b.data)


def _drop_future(data: Any) -> Any:
    """Return what an event says when it happens: of a frame all but its future."""
    if isinstance(data, Frame):
        return data.receiver, data.version, data.body
    return data if isinstance(data, dict) else plain(data)


def idle_rule(base: Cluster, rule: Rule, on: bool) -> str:
    """Return why switching the rule on or off would change nothing in this run; "" if it would."""
    if isinstance(base, Recording):
        return base.why
    scenario = base.scenario
    if on != (rule.name in scenario.rules_off):
        return f"this rule is {'on' if on else 'off'} already"
    if not with_rule(scenario, rule, True).rules.on(rule):
        return f"profile {scenario.profile} does not have this rule yet"
    other = run_of(with_rule(scenario, rule, on), most=4 * base.trace.steps + 5_000, watched=False).cluster.trace
    if other.steps == base.trace.steps == agreement(base.trace, other):
        return f"this run is the same with the rule {'on' if on else 'off'}"
    return ""
