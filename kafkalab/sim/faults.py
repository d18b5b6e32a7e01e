"""Faults as data: on frames, at nodes, and of the cluster. The `repr` of a fault can be pasted into a scenario."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import asdict, fields
from typing import Any, TypeAlias, get_args

from kafkalab.limits import QUOTE, quote, truncate
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.messages.registry import BY_NAME

OLD_FRAME_NAME = re.compile(rf"^({'|'.join(BY_NAME)})Reply#")
Side: TypeAlias = str | tuple[str, ...]


class Timed:
    """Something that happens right after event `at_step`, or at `at_ms`; -1 is "not given"."""

    __slots__ = ()
    at_step: int
    at_ms: int

    def __repr__(self) -> str:
        shown = []
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if f.default != value:
                shown.append(repr(value) if not isinstance(f.default, (int, bool)) else f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class Drop:
    """The frame is lost on its way: it never arrives."""

    frame: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The frame arrives twice, the second time one millisecond after the first."""

    frame: str


@dataclass(frozen=True, slots=True)
class Delay:
    """The frame arrives `delay_ms` later than it would have.

    Frames sent after it overtake it, those of the same connection too, which TCP would keep in order.
    """

    frame: str
    delay_ms: int = 1000


@dataclass(frozen=True, slots=True)
class Hold:
    """The frame stays on its way until a `Release` of it; without one it never arrives."""

    frame: str


@dataclass(frozen=True, slots=True)
class Reorder:
    """The frame arrives right after `after`, which must be sent later; if `after` is never sent, it never arrives."""

    frame: str
    after: str


@dataclass(frozen=True, slots=True, repr=False)
class _AtNode(Timed):
    """Something that happens to a node."""

    node: str
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class Crash(_AtNode):
    """The node's process ends. A broker's logs stay; a client is gone.

    A frame whose sending is the event `at_step` never leaves; with `sent` it was handed to the network before, and
    arrives. What was sent in earlier events arrives in both cases.
    """

    sent: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Restart(_AtNode):
    """The crashed broker starts again, with its logs."""


@dataclass(frozen=True, slots=True, repr=False)
class Pause(_AtNode):
    """The node stops doing anything (a long garbage collection); what arrives waits."""


@dataclass(frozen=True, slots=True, repr=False)
class Resume(_AtNode):
    """The paused node continues, first with all that has waited."""


@dataclass(frozen=True, slots=True, repr=False)
class Cut(Timed):
    """A network partition: no frame gets from `a` to `b` or back, frames in flight included.

    A side is a node, or several in a tuple. A network partition gives no signal: requests time out. The controller
    fences a broker cut off from it when its session expires.
    """

    a: Side
    b: Side
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class Heal(Timed):
    """Frames between `a` and `b` arrive again. The controller lets a fenced broker in when its heartbeats arrive."""

    a: Side
    b: Side
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class AdvanceClock(Timed):
    """All clocks jump forward by `ms`. What was due in between happens at once, in order; repeated timers fire once."""

    ms: int
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class ElectLeader(Timed):
    """The controller makes a live replica the partition's leader: one that is in sync, or with `unclean` any.

    After an unclean election the leader alone is in sync, and the others truncate what they have beyond its log.
    """

    partition: str
    broker: str
    unclean: bool = False
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class Compact(Timed):
    """Every live replica of the partition begins a new segment, and cleans what is cleanable before it."""

    partition: str
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class DeleteSegment(Timed):
    """The leader deletes its oldest segment, as retention would: all of it must be replicated. Followers follow."""

    partition: str
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class Roll(Timed):
    """Every live replica of the partition begins a new segment."""

    partition: str
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class Upgrade(Timed):
    """The cluster's feature `transaction.version` rises to `level` (`kafka-features.sh upgrade`).

    A producer speaks the new version from its next transaction on: it ends the present one as it began it, then takes
    a new epoch by InitProducerId (KIP-890).
    """

    level: int = 2
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class Release(Timed):
    """The frame that a `Hold` keeps on its way arrives now, if its receiver still runs."""

    frame: str
    at_step: int = -1
    at_ms: int = -1


FrameFault: TypeAlias = Drop | Duplicate | Delay | Hold | Reorder
NodeFault: TypeAlias = Crash | Restart | Pause | Resume
ClusterFault: TypeAlias = Cut | Heal | AdvanceClock | ElectLeader | Compact | DeleteSegment | Roll | Release | Upgrade
TimedFault: TypeAlias = NodeFault | ClusterFault
Fault: TypeAlias = FrameFault | TimedFault
TYPES: dict[str, type] = {t.__name__: t for t in get_args(Fault)}


def nodes_of(side: Side) -> tuple[str, ...]:
    """Return the nodes of one side of a network partition."""
    return (side,) if isinstance(side, str) else side


def did_you_mean(name: object, known: Iterable[str], ending: str = "") -> str:
    """Return the end of a message: the known name nearest to `name`, or nothing."""
    near = difflib.get_close_matches(name, list(known), 1) if isinstance(name, str) and len(name) <= QUOTE else []
    return f"; did you mean {near[0]}{ending}?" if near else ""


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """Return plain data: `{"fault": "Drop", "frame": "EndTxn#1"}`."""
    data = {"fault": type(fault).__name__, **asdict(fault)}
    if not data.get("sent", True):
        del data["sent"]  # as it was written before there was the choice
    return data


def fault_from_json(row: Any) -> Fault:
    """Return the fault of such data; ValueError for one that this kafkalab does not know."""
    name = row.get("fault") if isinstance(row, dict) else None
    if not isinstance(name, str) or name not in TYPES:
        hint = did_you_mean(name, TYPES)
        raise ValueError(f"{quote(row)} is not a fault; there are {', '.join(TYPES)}{hint}")
    arguments = {k: _argument(k, v) for k, v in row.items() if k != "fault"}
    try:
        fault: Fault = TYPES[name](**arguments)
    except TypeError as error:
        raise ValueError(truncate(f"{quote(row)} is not a fault: {error}")) from None
    return fault


def _argument(name: str, value: Any) -> Any:
    """Lists are tuples; a frame named as before version 0.2, such as "EndTxnReply#1", gets its present name."""
    if name in ("frame", "after") and isinstance(value, str):
        return OLD_FRAME_NAME.sub(r"\1Response#", value)
    return tuple(value) if isinstance(value, list) else value
