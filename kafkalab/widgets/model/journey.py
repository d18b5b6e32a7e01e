"""A journey: what a learner has made of a scenario, as a tree of runs, with the run that is shown and the cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any

import traitlets

from kafkalab.faults.fault import TimedFault
from kafkalab.limits import OPENED, quote
from kafkalab.run.again import agreement
from kafkalab.run.run import Run, Simulator
from kafkalab.run.source import Source
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.arrivals import all_added, arrived_first, faults_for_first, in_flight, why_not_first
from kafkalab.widgets.model.cursor import Cursor
from kafkalab.widgets.model.findings import report_of
from kafkalab.widgets.model.forks import Forks
from kafkalab.widgets.model.futures import (
    finish,
    idle_rule,
    payload_with_actions,
    rule_named,
    run_watched,
    strike,
    with_rule,
)
from kafkalab.widgets.model.jumps import WALKS
from kafkalab.widgets.model.messages import Content
from kafkalab.widgets.model.presses import (
    DETAILS,
    MOVES,
    RULE_PRESSES,
    TRAVELS,
    check_known,
    fault_of,
    is_frame_fault,
    move_cursor,
    why,
)
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.payload.payload import CATEGORIES
from kafkalab.widgets.payload.text import hideable, stops

SHOWN = ("transaction", "verification")
CHECKED_AT_ONCE = 5_000
"""Events of a run that a text or a static picture waits for the checks of: below a second."""


class Journey(Cursor):
    """The runs that presses have made, which of them is shown, and the step at which the cursor stands.

    Views are pictures of a journey; all views of one share its cursor: `j = Journey(lab03()); Sequence(j)`. `step` is
    the event up to which everything is shown; setting it moves the cursor and clamps. `groups` are the frames shown,
    but for those of the nodes, APIs and transactional ids in `hidden`. With `every` the walk stops at every frame;
    else some steps are folded into the stop after them, but for those of the stops in `opened`.
    `size` is that of all views, "laptop" or "projector"; with "" each has its own.
    `tree` has a small entry for each run, `place` is the id of the one shown, `payload` is what views show of it.
    """

    SETTABLE = ("step", "groups", "hidden", "size", "every", "opened")

    payload = traitlets.Dict().tag(sync=True, to_json=lambda payload, _: pack(payload))
    tree = traitlets.List(traitlets.Dict()).tag(sync=True)
    place = traitlets.Int(0).tag(sync=True)
    can_undo = traitlets.Bool(False).tag(sync=True)
    can_redo = traitlets.Bool(False).tag(sync=True)
    verdict = traitlets.Dict().tag(sync=True)
    size = traitlets.Enum(("", "laptop", "projector"), "").tag(sync=True)

    def __init__(
        self, run: Scenario | Source, groups: Iterable[str] = SHOWN, step: int | None = None
    ) -> None:
        """The run to its end, with the cursor at `step`, or at the first stop.

        TypeError for anything but a scenario or a cluster; ValueError for an unknown group, and for a cluster that
        kept no events.
        """
        first, groups = finish(run), tuple(groups)
        payload = payload_with_actions(first)
        self._begin(first, payload, groups, next(iter(stops(payload, groups)), 0) if step is None else step)

    def _begin(self, first: Run, payload: dict[str, Any], groups: Iterable[str], step: int) -> None:
        """Begin the tree with this run, with the cursor at `step`, and listen to the browser."""
        self._lock = RLock()
        self._forks = Forks(first)
        self._reports: dict[int, dict[str, Any]] = {}
        super().__init__(payload=payload, groups=list(groups), step=step, tree=[self._forks.here.row()])
        self.hear(self._handlers())

    def _handlers(self) -> dict[str, Callable[[Content], None]]:
        """By kind of message: what is done with it."""
        return {"step": self._move, "press": self._press, "check": self._check}

    @classmethod
    def again(cls, scenarios: Sequence[Scenario], tree: Sequence[dict[str, Any]], place: int) -> Journey:
        """Return a journey with the runs of these scenarios, of which `tree` tells, and with the run `place` shown."""
        journey = cls(scenarios[place])
        runs = [journey.run if n == place else run_watched(scenario) for n, scenario in enumerate(scenarios)]
        journey._forks = Forks.again(runs, tree, place)
        journey._tell_tree()
        return journey

    @classmethod
    def of(cls, thing: Any) -> Journey:
        """A journey stays itself, a view gives its journey, a scenario or a cluster becomes one; else TypeError."""
        thing = getattr(thing, "journey", thing)
        return thing if isinstance(thing, Journey) else cls(thing)

    @property
    def run(self) -> Run:
        """The run that is shown."""
        return self._forks.here.run

    @property
    def cluster(self) -> Simulator:
        """The cluster whose run is shown. ValueError for a run of which only frames are known."""
        return self.run.cluster_or_why()

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run shown, with the faults that presses have added. ValueError if it has none."""
        return self.run.scenario_or_why()

    @property
    def scenarios(self) -> list[Scenario]:
        """The scenarios of all runs, in the tree's order."""
        return [fork.run.scenario_or_why() for fork in self._forks.runs]

    def report(self) -> dict[str, Any]:
        """Return what all checks say of the run shown, with "place", its number: see `report_of`. Checked once a run.

        It is `verdict` from then on, which the browser has; a browser asks for it when a run has been painted.
        """
        if self.place not in self._reports:
            self._reports[self.place] = {"place": self.place, **report_of(self.run)}
        self.verdict = self._reports[self.place]
        return self.verdict

    def known_report(self) -> dict[str, Any]:
        """Return the report if the run has been checked or is short enough to be checked at once; else {}."""
        checked_already = self.place in self._reports
        return self.report() if checked_already or len(self.payload["events"]) <= CHECKED_AT_ONCE else {}

    def run_at(self, place: int) -> tuple[dict[str, Any], Run]:
        """Return payload and run of an entry of the tree, by its number. ValueError for a number that is none."""
        if not 0 <= place < len(self._forks.runs):
            raise ValueError(f"no run {place} in this journey; there are 0 to {len(self._forks.runs) - 1}")
        run = self._forks.runs[place].run
        return payload_with_actions(run), run

    # what may be set

    @traitlets.validate("step")
    def _inside(self, proposal: dict[str, Any]) -> int:
        return max(0, min(int(proposal["value"]), len(self.payload["events"]) - 1)) if self.payload else 0

    @traitlets.validate("groups")
    def _known_groups(self, proposal: dict[str, Any]) -> list[str]:
        wanted = [check_known(name, CATEGORIES, f"no frames are called {quote(name)}") for name in proposal["value"]]
        return [name for name in CATEGORIES if name in wanted]

    @traitlets.validate("hidden")
    def _hideable(self, proposal: dict[str, Any]) -> list[str]:
        known = hideable(self.payload)
        wanted = [check_known(name, known, f"{quote(name)} cannot be hidden") for name in proposal["value"]]
        return [name for name in known if name in wanted]

    def in_flight(self) -> list[str]:
        """The shown frames that are on their way at the cursor, in the order in which they were sent."""
        return in_flight(self.payload, self.step, self.groups, self.hidden)

    # presses

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """Do what the button `action` does; `ACTIONS` in presses.py names them all.

        `target` is a frame such as "EndTxn#1" for faults on frames (without one: the frame sent at the cursor) and
        for next, which lets it arrive before the other frames that are shown in flight, a node such as "b1" for crash,
        a partition for elect, a rule's name for rule_off, a run's id for goto, the words for name, a node, an API or
        a transactional id for hide and show (show without one: everything), a frame or "chapter:decision" for find;
        see `fault_of` for `details`. After a fault the cursor stands where it strikes, after next where the frame
        arrives; after a rule's press where it stood, or as far as the runs agree. ValueError, with the reason, and
        nothing changes, for an unknown action, target or detail, and for a press that would change nothing.
        """
        if unknown := [name for name in details if name not in DETAILS]:
            raise ValueError(f"a press has no {quote(unknown[0])}; there are {', '.join(DETAILS)}")
        with self._lock:
            if action in MOVES:
                self.step = move_cursor(self.stops(), self.step, action)
            elif action in WALKS:
                self.walk(action, target)
            elif action in TRAVELS:
                self._travel(action, target)
            elif action == "hide":
                self.hidden = [*self.hidden, target]
            elif action == "show":
                self.hidden = [name for name in self.hidden if target and name != target]
            elif action == "name":
                self._forks.rename(target)
                self.tree = [fork.row() for fork in self._forks.runs]
            elif action in RULE_PRESSES:
                self._switch(target, action == "rule_on")
            elif action == "next":
                self._let_arrive(target)
            else:
                self._strike(*fault_of(self.payload, self.step, action, target, **details))

    def possible(self, action: str, target: str = "", **details: Any) -> str:
        """Return why this press would change nothing: what its ValueError says. "" if it would change something."""
        if action in ("hide", "show", "every"):
            return ""
        if action in MOVES:
            places = [*self.stops(), self.step]
            back = action in ("left", "home")
            edge = min(places) >= self.step if back else max(places) <= self.step
            return f"this is the {'first' if back else 'last'} step" if edge else ""
        if action == "next":
            return why_not_first(self.payload, self.step, target, self.in_flight())
        try:
            if action in WALKS:
                self.aim(action, target)
                return ""
            if action in RULE_PRESSES:
                return idle_rule(self.run, rule_named(target), action == "rule_on")
            if action in (*TRAVELS, "name"):
                return self._forks.why(action, target)
            if is_frame_fault(action) and not target:
                fault_of(self.payload, self.step, action, **details)
                return ""
        except ValueError as error:
            return str(error)
        return why(self.payload, self.step, action, target, **details)

    def visit(self, scenario: Scenario, label: str = "opened") -> None:
        """Run and show another scenario, as a tree of its own beside the present runs."""
        with self._lock:
            opened = run_watched(scenario, OPENED.most)
            payload = payload_with_actions(opened)
            self._forks.plant(opened, label)
            self._show(next(iter(stops(payload, tuple(self.groups))), 0))

    def _strike(self, at: int, fault: Any) -> None:
        """Make a run with one more fault, beside the present children of this one."""
        forked, landed = strike(self.scenario, fault, self.payload["actions"]["start"], at)
        self._forks.grow(forked, repr(fault), at, landed)
        self._show(landed)

    def _let_arrive(self, target: str) -> None:
        """Make a run in which `target` arrives before the other frames in flight, with the cursor at its arrival."""
        flying, frames = self.in_flight(), self.payload["frames"]
        planned = faults_for_first(self.payload, self.step, target, flying)
        sent = {name: frames[name]["sent"] for name in flying}
        forked = run_watched(all_added(self.scenario, planned, sent))
        others = [name for name in flying if name != target]
        if not arrived_first(forked.trace, target, others):
            raise ValueError(f"{target} does not arrive first, whatever happens to the other frames in flight")
        landed = forked.trace.frames[target].received_step
        at = min(self.step if isinstance(fault, TimedFault) else sent[fault.frame] for fault in planned)
        self._forks.grow(forked, ", ".join(map(repr, planned)), at, landed)
        self._show(landed)

    def _switch(self, name: str, on: bool) -> None:
        """Make a run from the start with the rule on or off, with the cursor as far as both runs agree."""
        rule = rule_named(name)
        if reason := idle_rule(self.run, rule, on):
            raise ValueError(reason)
        switched = run_watched(with_rule(self.scenario, rule, on))
        same = agreement(self.run.trace, switched.trace) - 1  # the first event is the same in every run
        landed = min(self.step, same)
        self._forks.grow(switched, f"{'with' if on else 'without'}: {rule.name}", same, landed)
        self._show(landed)

    def _travel(self, action: str, target: str) -> None:
        if reason := self._forks.why(action, target):
            raise ValueError(reason)
        self._show(self._forks.travel(action, target, self.step))

    def _show(self, step: int) -> None:
        """Show the present run of the tree, with the cursor at `step`."""
        payload = payload_with_actions(self.run)
        with self.hold_sync():
            self.payload = payload
            self.opened = []
            self.hidden = [name for name in self.hidden if name in hideable(payload)]
            self.step = step
            self._tell_tree()

    def _tell_tree(self) -> None:
        """Let the traits say which runs there are, and which of them is shown."""
        here = self._forks.here
        self.tree = [fork.row() for fork in self._forks.runs]
        self.place = here.id
        self.can_undo, self.can_redo = here.parent >= 0, here.visited >= 0

    def _move(self, content: Content) -> None:
        """Move the cursor where the browser's is. JupyterLab may call this on a second thread while a cell runs."""
        with self._lock:
            if isinstance(content.get("step"), int):
                with self._lock_property(step=content["step"]):  # the browser knows: nothing is sent back
                    self.step = content["step"]

    def _check(self, content: Content) -> None:
        """Send what the checks say of the shown run."""
        with self._lock:
            self.report()

    def _press(self, content: Content) -> None:
        """Do what a button of the browser does, at its step."""
        details = {k: v for k, v in content.items() if k not in ("kind", "action", "target", "step")}
        with self._lock:
            self._move(content)
            self.press(str(content.get("action")), str(content.get("target", "")), **details)
        self.send({"kind": "done"})

    def __repr__(self) -> str:
        shown = f"{self.payload['title']!r}, step {self.step} of {len(self.payload['events']) - 1}"
        return f"<Journey {shown}, run {self.place} of {len(self.tree)}>"
