"""The moments of a run at which a fault may strike: which come first, and which need not be tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkalab.explore.lineage import PLUMBING, support_of
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame

RECOVERY, OUTCOME, FINDING_THE_WAY, ABSORBED, UNSUPPORTED, REPEATED = range(6)
"""In which order moments are struck: those that follow from a fault first."""
LEFT_OUT = (UNSUPPORTED, REPEATED)
TRAFFIC = frozenset(("send", "receive", "timer"))


@dataclass(slots=True)
class Moments:
    """A run: which of its events outcomes rest on, follow from a fault, or repeat an earlier one."""

    run: Run
    supported: bytearray
    follows: bytearray
    after: int
    absorbed: int
    """The step behind which the run is as usual again."""
    repeats: bytearray
    behind: dict[str, Frame]
    """By the name of a frame, the one that was sent after it on the same connection."""

    @classmethod
    def of(cls, run: Run, after: int, absorbed: int | None = None) -> Moments:
        """Look at a run behind step `after`."""
        events = run.trace.events
        follows = bytearray(len(events))
        for event in events[after + 1 :]:
            struck = event.kind in ("fault", "crash", "recover") or event.name == "request timeout"
            follows[event.step] = struck or (event.cause >= 0 and follows[event.cause])
        for event in events[run.start :]:
            if event.kind == "fault":
                _note_window(run, event, follows)
        behind: dict[str, Frame] = {}
        last: dict[tuple[str, str], str] = {}
        for frame in run.trace.frames.values():
            connection = (frame.sender, frame.receiver)
            if connection in last:
                behind[last[connection]] = frame
            last[connection] = frame.id
        absorbed = len(events) if absorbed is None else absorbed
        return cls(run, support_of(run), follows, after, absorbed, repeats_in(events), behind)

    def tier(self, step: int, name: str) -> int:
        """Return how early a fault at this event is tried."""
        if not self.supported[step]:
            return UNSUPPORTED
        if self.repeats[step]:
            return REPEATED
        if step > self.absorbed:
            return ABSORBED
        if name in PLUMBING:
            return FINDING_THE_WAY
        return RECOVERY if self.follows[step] else OUTCOME

    def events(self) -> Iterator[Event]:
        """The events at which something may go wrong, in order: up to those of readers that come after the run."""
        nodes = self.run.cast.nodes
        for event in self.run.trace.events[max(self.after, self.run.start) + 1 :]:
            if event.node not in nodes:
                return
            yield event


def _note_window(run: Run, fault: Event, follows: bytearray) -> None:
    """Let follow from the fault what both ends of a late frame do while it flies, and what a node does when it resumes.
    """
    events, frame = run.trace.events, run.trace.frames.get(fault.frame)
    nodes: tuple[str, ...]
    if fault.name in ("Delay", "Late") and frame is not None:
        nodes, end = (frame.sender, frame.receiver), frame.received_step
    elif fault.name == "Resume":
        nodes, end = (fault.node,), -1
    else:
        return
    for event in events[fault.step : end if end >= 0 else len(events)]:
        if event.node in nodes:
            follows[event.step] = 1


def repeats_in(events: list[Event]) -> bytearray:
    """Return a byte for each step: 1 where a node sends what it sent before, and no log, no state and no program has
    changed since, nor has a request timed out: what strikes there does what it does at the earlier frame, but later.
    """
    found = bytearray(len(events))
    sent: dict[tuple[str, str, str], Frame] = {}
    for event in events:
        if event.kind == "send":
            frame: Frame = event.data
            key = (event.node, event.name, frame.receiver)
            earlier = sent.setdefault(key, frame)
            found[event.step] = earlier is not frame and earlier.fate == "delivered" and earlier.body == frame.body
            if not found[event.step]:
                sent[key] = frame
        elif event.kind not in TRAFFIC or event.name == "request timeout":
            sent.clear()
    return found


def place_of(event: Event) -> str:
    """Return what a fault at this event strikes, without numbers: "EndTxn", "PrepareCommit", "records"."""
    if event.kind == "send":
        return event.name
    batch = event.data
    value = batch.records[0].value if batch.records else None
    if batch.control is not None:
        return "marker"
    if isinstance(value, Txn):
        return value.state.label
    return "records" if topic_of(event.name) not in INTERNAL_TOPICS else topic_of(event.name)
