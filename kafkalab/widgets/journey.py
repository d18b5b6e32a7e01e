"""A journey: what a learner has made of a scenario, as a tree of runs, with the run that is shown and the cursor."""

from __future__ import annotations

from collections.abc import Iterable
from threading import RLock
from typing import Any

import anywidget
import traitlets

from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets import statechart
from kafkalab.widgets.forks import Forks
from kafkalab.widgets.marks import with_marks
from kafkalab.widgets.packed import packed
from kafkalab.widgets.presses import MOVES, TRAVELS, fault_of, near
from kafkalab.widgets.story import GROUPS, payload_of
from kafkalab.widgets.story_text import hideable, stops

SHOWN = ("transaction", "verification")


class Journey(anywidget.AnyWidget):
    """The runs that presses have made, which of them is shown, and the step at which the cursor stands.

    Views are pictures of a journey; all views of one share its cursor: `j = Journey(lab03()); Sequence(j)`. `step` is
    the event up to which everything is shown; setting it moves the cursor and clamps. `groups` are the frames shown,
    but for those of the nodes, APIs and transactional ids in `hidden`.
    `tree` has a small entry for each run, `place` is the id of the one shown, `payload` is its story.
    """

    _esm = "export default {};"  # it is never displayed itself

    payload = traitlets.Dict().tag(sync=True, to_json=lambda payload, _: packed(payload))
    step = traitlets.Int(0).tag(sync=True)
    groups = traitlets.List(traitlets.Unicode()).tag(sync=True)
    hidden = traitlets.List(traitlets.Unicode()).tag(sync=True)
    tree = traitlets.List(traitlets.Dict()).tag(sync=True)
    place = traitlets.Int(0).tag(sync=True)
    can_undo = traitlets.Bool(False).tag(sync=True)
    can_redo = traitlets.Bool(False).tag(sync=True)
    chart = traitlets.Unicode("").tag(sync=True)

    def __init__(self, run: Scenario | Cluster, groups: Iterable[str] = SHOWN, step: int | None = None) -> None:
        """The run to its end, with the cursor at `step`, or at the first stop.

        TypeError for anything but a scenario or a cluster; ValueError for an unknown group, and for a cluster that
        kept no events.
        """
        cluster = _finished(run)
        payload = with_marks(payload_of(cluster))
        self._lock = RLock()
        self._forks = Forks(cluster)
        chart = statechart.committed("TV2" if payload["profile"].endswith("TV2") else "TV1")
        super().__init__(payload=payload, groups=list(groups), chart=chart, tree=[self._forks.here.row()])
        self.step = step if step is not None else next(iter(stops(payload, tuple(self.groups))), 0)
        self.on_msg(self._on_message)

    @classmethod
    def of(cls, thing: Any) -> Journey:
        """A journey stays itself, a view gives its journey, a scenario or a cluster becomes one; else TypeError."""
        thing = getattr(thing, "journey", thing)
        return thing if isinstance(thing, Journey) else cls(thing)

    @property
    def cluster(self) -> Cluster:
        """The cluster whose run is shown."""
        return self._forks.here.cluster

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run shown, with the faults that presses have added."""
        return self.cluster.scenario

    # what may be set

    @traitlets.validate("step")
    def _inside(self, proposal: dict[str, Any]) -> int:
        return max(0, min(int(proposal["value"]), len(self.payload["events"]) - 1)) if self.payload else 0

    @traitlets.validate("groups")
    def _known_groups(self, proposal: dict[str, Any]) -> list[str]:
        wanted = list(proposal["value"])
        for group in wanted:
            if group not in GROUPS:
                raise ValueError(f"no frames are called {group!r}; there are {', '.join(GROUPS)}{near(group, GROUPS)}")
        return [group for group in GROUPS if group in wanted]

    @traitlets.validate("hidden")
    def _hideable(self, proposal: dict[str, Any]) -> list[str]:
        known = hideable(self.payload)
        for name in proposal["value"]:
            if name not in known:
                raise ValueError(f"{name!r} cannot be hidden; there are {', '.join(known)}{near(name, known)}")
        return [name for name in known if name in proposal["value"]]

    def stops(self) -> list[int]:
        """The steps at which the cursor stops, with the groups and what is hidden as they are."""
        return stops(self.payload, tuple(self.groups), self.hidden)

    # presses

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """What the button of this name does: left, right, home, end, drop, duplicate, crash, undo, redo, goto, name,
        hide, show.

        `target` is a frame such as "EndTxn#1" for drop and duplicate (without one: the frame sent at the cursor), a
        node such as "b1" for crash, a run's id for goto, the words for name, a node, an API or a transactional id for
        hide and show (show without one: everything). After a fault the cursor stands where it strikes.

        ValueError, and nothing changes, for an unknown action or target, and for a press that would change nothing.
        """
        with self._lock:
            if action in MOVES:
                self._move(action)
            elif action in TRAVELS:
                self._travel(action, target)
            elif action == "hide":
                self.hidden = [*self.hidden, target]
            elif action == "show":
                self.hidden = [name for name in self.hidden if target and name != target]
            elif action == "name":
                self._forks.here.name = target.strip()
                self.tree = [fork.row() for fork in self._forks.runs]
            else:
                self._strike(*fault_of(self.payload, self.step, action, target, **details))

    def _move(self, action: str) -> None:
        places = self.stops()
        candidates = {
            "left": [s for s in places if s < self.step][-1:],
            "right": [s for s in places if s > self.step][:1],
            "home": places[:1],
            "end": places[-1:],
        }
        self.step = (candidates[action] or [self.step])[0]

    def _strike(self, at: int, fault: Any) -> None:
        """A new run with one more fault, beside those that were made of this one before."""
        forked = self.cluster.fork(at, fault)
        event = next(iter(forked.trace.events[at + 1 : at + 2]), None)
        landed = at + 1 if event is not None and event.kind in ("fault", "crash") else at
        self._forks.grow(forked, repr(forked.scenario.faults[-1]), at, landed)
        self._show(landed)

    def _travel(self, action: str, target: str) -> None:
        if action == "undo":
            step = self._forks.undo(self.step)
        elif action == "redo":
            step = self._forks.redo()
        else:
            last = len(self._forks.runs) - 1
            if not target.isdecimal() or int(target) > last:
                raise ValueError(f"goto needs the number of a run, from 0 to {last}, not {target!r}")
            step = self._forks.goto(int(target), self.step)
        self._show(step)

    def _show(self, step: int) -> None:
        """The run at which the tree stands is shown, with the cursor at `step`."""
        here = self._forks.here
        payload = with_marks(payload_of(here.cluster))
        with self.hold_sync():
            self.payload = payload
            self.hidden = [name for name in self.hidden if name in hideable(payload)]
            self.step = step
            self.place = here.id
            self.tree = [fork.row() for fork in self._forks.runs]
            self.can_undo, self.can_redo = here.parent >= 0, here.visited >= 0

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        """A step or a press in the browser. JupyterLab may call this on a second thread while a cell runs."""
        if not isinstance(content, dict) or content.get("kind") not in ("step", "press"):
            return
        with self._lock:
            if isinstance(content.get("step"), int):
                with self._lock_property(step=content["step"]):  # the browser knows: nothing is sent back
                    self.step = content["step"]
            if content["kind"] == "step":
                return
            details = {k: v for k, v in content.items() if k not in ("kind", "action", "target", "step")}
            try:
                self.press(str(content.get("action")), str(content.get("target", "")), **details)
            except Exception as error:
                self.send({"kind": "error", "text": _sentence(str(error) or type(error).__name__)})
                if not isinstance(error, (ValueError, RuntimeError)):
                    raise
            else:
                self.send({"kind": "done"})

    def __repr__(self) -> str:
        shown = f"{self.payload['title']!r}, step {self.step} of {len(self.payload['events']) - 1}"
        return f"<Journey {shown}, run {self.place} of {len(self.tree)}>"


def _finished(run: Scenario | Cluster) -> Cluster:
    """The cluster with its run done; a scenario is run in a new one."""
    if isinstance(run, Scenario):
        run = Cluster(run)
    if not isinstance(run, Cluster):
        raise TypeError(f"a picture shows a Scenario or a Cluster, such as Sequence(lab03()), not {type(run).__name__}")
    run.run()
    if not run.trace.events:
        raise ValueError("this cluster kept no events; make it without keep=False")
    return run


def _sentence(text: str) -> str:
    """The first line of a message, as a sentence."""
    first = text.split("\n")[0]
    return first[:1].upper() + first[1:] + ("" if first.endswith((".", "?")) else ".")
