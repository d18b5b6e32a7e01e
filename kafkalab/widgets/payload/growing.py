"""The payload of a run that goes on: what is new since the last look, without looking at the whole run again."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame
from kafkalab.widgets.payload.changes import homes_of
from kafkalab.widgets.payload.marks import FRAMES, mark_of
from kafkalab.widgets.payload.payload import Op, PayloadMaker, internal_order, meanings_of
from kafkalab.widgets.payload.text import ViewState
from kafkalab.widgets.payload.tour import LISTS, GrowingWalk

Payload = dict[str, Any]
ARRIVALS = ("received", "received_at", "fate")


class GrowingPayload(PayloadMaker):
    """`whole` is the payload of the run up to the last `more()`, with marks and a walk.

    Times are counted from `began_ms`. What is returned is never changed later.
    """

    def __init__(self, run: Run, began_ms: int) -> None:
        """Begin before the first event."""
        super().__init__(run, began_ms)
        self._drawn = ViewState()
        self.flying: dict[str, Frame] = {}
        """The frames that were on their way at the last look."""
        self._crashes: dict[str, list[int]] = {}
        self._walk = GrowingWalk()
        self.whole: Payload = {
            **self._heads([], []), "live": run.why, "events": [], "frames": {}, "marks": {}, "ends": {},
            "homes": {"ids": {}, "groups": {}}, "transactions": [], "meanings": {}, "ending": "",
            **{name: [] for name in LISTS},
        }  # fmt: skip
        self.more(run)

    def more(self, run: Run) -> Payload:
        """Add what has happened since the last call; return that part: "from", new events, new and changed frames, the
        ends of the lists of the walk. `run` is the same run, as far as it has come.
        """
        self.cast = run.cast
        known = len(self.whole["events"])
        events = self.trace.events[known:]
        new = takewhile(lambda name: name not in self.whole["frames"], reversed(self.trace.frames))
        frames = [self.trace.frames[name] for name in new][::-1]
        self.transactions.add(events, frames)
        self.in_sync.learn(frames)
        self.in_sync.final = self.cast.metadata
        appeared = self._new_partitions(events)
        rows = [self._event(event) for event in events]
        if rows and appeared:
            rows[0]["patch"] = [*self._place(appeared), *rows[0]["patch"]]
        marks = self._marks(rows)
        changed = {f.id: self._frame(f) for f in frames} | self._arrivals(events, frames)
        part = self._parts(rows, changed, marks)
        self.whole = self._with(part)
        walk = self._walk.add(self.whole, rows)
        self.whole |= {name: [*self.whole[name][: walk["tails"][name]], *walk[name]] for name in LISTS}
        return part | walk

    def _parts(self, rows: list[dict[str, Any]], frames: Payload, marks: dict[str, str]) -> Payload:
        old, homes = self.whole, homes_of(self.trace.events[len(self.whole["events"]) :])
        faults = [row["text"] for row in rows if row["kind"] == "fault"]
        return {
            **self._heads([self._node(name) for name in self.cast.nodes], [*old["faults"], *faults]),
            "live": old["live"],
            "from": len(old["events"]),
            "homes": {kind: old["homes"][kind] | homes[kind] for kind in homes},
            "frames": frames,
            "events": rows,
            "transactions": sorted({*old["transactions"], *self.transactions.events[len(old["events"]) :]} - {""}),
            "meanings": meanings_of(frames),
            "marks": marks,
            "ends": self._ends(rows, frames),
            "ending": "",
        }

    def _with(self, part: Payload) -> Payload:
        """The payload with a part that follows it."""
        old = self.whole
        joined = {name: old[name] | part[name] for name in ("frames", "meanings", "marks", "ends")}
        rest = {name: value for name, value in part.items() if name != "from"}
        return {**old, **rest, **joined, "events": [*old["events"], *part["events"]]}

    def since(self, step: int) -> Payload:
        """Return the part of the payload that begins with this event, with every frame and the whole walk."""
        return {**self.whole, "events": self.whole["events"][step:], "from": step, "tails": dict.fromkeys(LISTS, 0)}

    # what appears, and what changes later

    def _new_partitions(self, events: list[Event]) -> list[str]:
        """Add partitions that are new: those of topics, and internal ones with their first record."""
        topics = [p for p in self.cast.metadata.partitions if topic_of(p) not in INTERNAL_TOPICS]
        written = [e.name for e in events if e.kind == "append" and topic_of(e.name) in INTERNAL_TOPICS]
        found = [p for p in dict.fromkeys((*topics, *written)) if p not in self.partitions]
        known = [*self.partitions, *found]
        internal = sorted((p for p in known if p.startswith("__")), key=internal_order)
        self.partitions = [*(p for p in known if not p.startswith("__")), *internal]
        return found

    def _place(self, partitions: list[str]) -> list[Op]:
        """The changes that earlier events would have made to partitions that have appeared just now."""
        image = self.cast.metadata
        leaders: list[Op] = [["leader", p, image.leader(p)] for p in partitions]
        self.leaders.update({p: image.leader(p) for p in partitions})
        roles: list[Op] = [["roles", broker, self._roles(broker)] for broker in self.cast.brokers]
        return [*leaders, *self.in_sync.changes(image.version, partitions), *roles]

    def _marks(self, rows: list[dict[str, Any]]) -> dict[str, str]:
        marks = {}
        for row in rows:
            if row["kind"] not in FRAMES and row["stop"]:
                marks[str(row["step"])] = mark_of(row, self._drawn)
            for op in row["patch"]:
                self._drawn.apply(op)
        return marks

    def _arrivals(self, events: list[Event], frames: list[Frame]) -> Payload:
        """The frames that were on their way at the last look, as far as they or events about them have changed."""
        changed: Payload = {}
        for name, frame in self.flying.items():
            if frame.fate != "in flight":
                now = self._at(frame.received_ms) if frame.received_ms >= 0 else None
                arrived = frame.received_step if frame.received_step >= 0 else None
                changed[name] = {**self.whole["frames"][name], "received": arrived, "received_at": now}
                changed[name]["fate"] = frame.fate
        named = {event.frame for event in events} - {""}
        known = self.whole["frames"]
        changed |= {name: known[name] for name in sorted(named) if name in known and name not in changed}
        still = {**self.flying, **{frame.id: frame for frame in frames}}
        self.flying = {name: frame for name, frame in still.items() if frame.fate == "in flight"}
        return changed

    def _ends(self, rows: list[dict[str, Any]], frames: Payload) -> dict[str, int]:
        """The step from which a picture shows frames of this part as dropped or lost."""
        struck = {row["frame"]: row["step"] for row in rows if row["kind"] == "fault" and row["frame"]}
        for row in rows:
            if row["kind"] == "crash":
                self._crashes.setdefault(row["node"], []).append(row["step"])
        ends = {}
        for name, frame in frames.items():
            if frame["fate"] == "dropped":
                ends[name] = struck.get(name, frame["sent"])
            elif frame["fate"] == "lost":
                later = (step for step in self._crashes.get(frame["to"], []) if step > frame["sent"])
                ends[name] = next(later, frame["sent"] + 1)
        return {name: step for name, step in ends.items() if name not in self.whole["ends"]}
