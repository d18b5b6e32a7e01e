"""The sequence widget: a run stepped through frame by frame, with buttons that make new futures of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from threading import RLock
from typing import Any

import anywidget
import traitlets

from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import Crash, Drop, Duplicate, Fault
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets import statechart, static_svg
from kafkalab.widgets.marks import with_marks
from kafkalab.widgets.story import GROUPS, payload_of
from kafkalab.widgets.story_text import stops, text_at

SIZES = ("laptop", "projector")
MOVES = ("left", "right", "home", "end")
FRAME_FAULTS: dict[str, type[Drop | Duplicate]] = {"drop": Drop, "duplicate": Duplicate}
ACTIONS = (*MOVES, *FRAME_FAULTS, "crash", "undo", "redo")
SHOWN = ("transaction", "verification")


class Sequence(anywidget.AnyWidget):
    """A run as a sequence diagram with logs and states: `Sequence(lab03())`, `Sequence(cluster, size="projector")`.

    `step` is the event up to which everything is shown; setting it moves the cursor and clamps. `groups` are the
    frames shown. `press("drop")` does what the button does; `print(widget)` is the text twin of the picture.
    """

    _esm = Path(__file__).with_suffix(".js")
    _css = Path(__file__).with_suffix(".css")

    payload = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    groups = traitlets.List(traitlets.Unicode()).tag(sync=True)
    size = traitlets.Unicode("laptop").tag(sync=True)
    can_undo = traitlets.Bool(False).tag(sync=True)
    can_redo = traitlets.Bool(False).tag(sync=True)
    chart = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self, run: Scenario | Cluster, size: str = "laptop", groups: Iterable[str] = SHOWN, step: int | None = None
    ) -> None:
        """The run to its end, with the cursor at `step`, or at the first stop.

        TypeError for anything but a scenario or a cluster; ValueError for an unknown size or group, and for a
        cluster that kept no events.
        """
        cluster = _finished(run)
        payload = with_marks(payload_of(cluster))
        self._lock = RLock()
        self._history: list[tuple[Cluster, int, int]] = [(cluster, 0, 0)]  # with the step it forked at, and led to
        self._place = 0
        chart = statechart.committed("TV2" if payload["profile"].endswith("TV2") else "TV1")
        super().__init__(payload=payload, groups=list(groups), size=size, chart=chart)
        places = stops(payload, tuple(self.groups))
        self.step = step if step is not None else places[0] if places else 0
        self.on_msg(self._on_message)

    @property
    def cluster(self) -> Cluster:
        """The cluster whose run is shown: that of the last press."""
        return self._history[self._place][0]

    # what may be set

    @traitlets.validate("step")
    def _inside(self, proposal: dict[str, Any]) -> int:
        return max(0, min(int(proposal["value"]), len(self.payload["events"]) - 1)) if self.payload else 0

    @traitlets.validate("groups")
    def _known_groups(self, proposal: dict[str, Any]) -> list[str]:
        wanted = list(proposal["value"])
        for group in wanted:
            if group not in GROUPS:
                raise ValueError(f"no frames are called {group!r}; there are {', '.join(GROUPS)}{_near(group, GROUPS)}")
        return [group for group in GROUPS if group in wanted]

    @traitlets.validate("size")
    def _known_size(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] not in SIZES:
            raise ValueError(f"size is {' or '.join(map(repr, SIZES))}, not {proposal['value']!r}")
        return str(proposal["value"])

    # presses

    def press(self, action: str, target: str = "") -> None:
        """What the button of this name does: left, right, home, end, drop, duplicate, crash, undo, redo.

        `target` is a frame such as "EndTxn#1" for drop and duplicate (without one: the frame sent at the cursor), a
        node such as "b1" for crash. Afterwards the cursor stands where the new fault strikes. ValueError, and
        nothing changes, for an unknown action or target, and for a press that would change nothing.
        """
        with self._lock:
            if action in MOVES:
                self._move(action)
            elif action in FRAME_FAULTS:
                self._strike(*self._frame_fault(action, target))
            elif action == "crash":
                self._strike(self.step, Crash(self._node(target)))
            elif action in ("undo", "redo"):
                self._travel(action)
            else:
                raise ValueError(f"no action {action!r}; there are {', '.join(ACTIONS)}{_near(action, ACTIONS)}")

    def _move(self, action: str) -> None:
        places = stops(self.payload, tuple(self.groups))
        candidates = {
            "left": [s for s in places if s < self.step][-1:],
            "right": [s for s in places if s > self.step][:1],
            "home": places[:1],
            "end": places[-1:],
        }
        self.step = (candidates[action] or [self.step])[0]

    def _frame_fault(self, action: str, target: str) -> tuple[int, Fault]:
        """The step to fork at and the fault; ValueError unless the frame flies in this run."""
        event, frames = self.payload["events"][self.step], self.payload["frames"]
        if not target and event["kind"] != "send":
            raise ValueError(f'no frame is sent at step {self.step}; go to one that is, or name it: "EndTxn#1"')
        target = target or event["frame"]
        frame = frames.get(target)
        if frame is None or frame["copy_of"]:
            raise ValueError(f"no frame {target!r} flies in this run{_near(target, frames)}")
        if frame["fate"] == "dropped":
            raise ValueError(f"{target} is dropped already")
        if action == "duplicate" and any(f["copy_of"] == target for f in frames.values()):
            raise ValueError(f"{target} arrives twice already")
        return frame["sent"], FRAME_FAULTS[action](target)

    def _node(self, target: str) -> str:
        nodes = [n["id"] for n in self.payload["nodes"] if n["kind"] != "controller"]
        if target not in nodes:
            asked = f"no node {target!r} can crash" if target else "crash needs a node"
            raise ValueError(f"{asked}; there are {', '.join(nodes)}")
        return target

    def _strike(self, at: int, fault: Fault) -> None:
        """A new run with one more fault; whatever had been undone is forgotten."""
        forked = self.cluster.fork(at, fault)
        event = next(iter(forked.trace.events[at + 1 : at + 2]), None)
        landed = at + 1 if event is not None and event.kind in ("fault", "crash") else at
        self._history[self._place + 1 :] = [(forked, at, landed)]
        self._show(self._place + 1, landed)

    def _travel(self, action: str) -> None:
        place = self._place + (1 if action == "redo" else -1)
        if not 0 <= place < len(self._history):
            raise ValueError("nothing has been undone" if action == "redo" else "there is no fault to undo")
        if action == "redo":
            self._show(place, self._history[place][2])
        else:
            self._show(place, min(self.step, self._history[self._place][1]))

    def _show(self, place: int, step: int) -> None:
        self._place = place
        payload = with_marks(payload_of(self.cluster))
        with self.hold_sync():
            self.payload = payload
            self.step = step
            self.can_undo, self.can_redo = place > 0, place < len(self._history) - 1

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
            try:
                self.press(str(content.get("action")), str(content.get("target", "")))
            except Exception as error:
                self.send({"kind": "error", "text": _sentence(str(error) or type(error).__name__)})
                if not isinstance(error, (ValueError, RuntimeError)):
                    raise
            else:
                self.send({"kind": "done"})

    # without a browser

    def text(self) -> str:
        """The text twin: what the picture shows at the cursor."""
        return text_at(self.payload, self.step, tuple(self.groups))

    def svg(self) -> str:
        """The picture at the cursor as a standalone SVG."""
        return static_svg.draw(self.payload, self.step, tuple(self.groups))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Sequence {self.payload['title']!r}, step {self.step} of {len(self.payload['events']) - 1}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The live widget, and for places without a kernel the SVG and the text."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "image/svg+xml": self.svg(), "text/plain": self.text()}, metadata


def _finished(run: Scenario | Cluster) -> Cluster:
    """The cluster with its run done; a scenario is run in a new one."""
    if isinstance(run, Scenario):
        run = Cluster(run)
    if not isinstance(run, Cluster):
        raise TypeError(f"Sequence shows a Scenario or a Cluster, such as Sequence(lab03()), not {type(run).__name__}")
    run.run()
    if not run.trace.events:
        raise ValueError("this cluster kept no events; make it without keep=False")
    return run


def _near(wrong: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(wrong, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _sentence(text: str) -> str:
    """The first line of a message, as a sentence."""
    first = text.split("\n")[0]
    return first[:1].upper() + first[1:] + ("" if first.endswith((".", "?")) else ".")
