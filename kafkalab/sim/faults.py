"""Faults as data. The `repr` of a fault can be pasted into a scenario."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, get_args

from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.sim.world_faults import (
    WORLD_FAULTS,
    AdvanceClock,
    Compact,
    Cut,
    DeleteSegment,
    ElectLeader,
    Heal,
    Release,
    Roll,
    Timed,
    WorldFault,
    check_node,
    check_world_fault,
    did_you_mean,
)

__all__ = [
    "Drop", "Duplicate", "Delay", "Hold", "Reorder", "Release", "Crash", "Restart", "Pause", "Resume", "Cut", "Heal",
    "AdvanceClock", "ElectLeader", "Compact", "DeleteSegment", "Roll", "Fault", "FrameFault", "NodeFault",
    "TimedFault", "WorldFault", "TYPES", "FRAME_NAMES", "check_fault", "check_frame_id", "fault_from_json",
    "fault_to_json",
]  # fmt: skip
OLD_FRAME_NAME = re.compile(rf"^({'|'.join(BY_NAME)})Reply#")
FRAME_NAMES = tuple(name + suffix for name in BY_NAME for suffix in ("", "Response"))


@dataclass(frozen=True, slots=True)
class Drop:
    """The frame is lost on its way. Whoever waits for an answer gets none."""

    frame: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The frame arrives twice, the second time one millisecond after the first."""

    frame: str


@dataclass(frozen=True, slots=True)
class Delay:
    """The frame arrives `delay_ms` later than it would have, overtaken by frames sent after it."""

    frame: str
    delay_ms: int = 1000


@dataclass(frozen=True, slots=True)
class Hold:
    """The frame stays on its way until a `Release` of it; without one it never arrives."""

    frame: str


@dataclass(frozen=True, slots=True)
class Reorder:
    """The frame arrives right after `after`, which must be sent later; if that one never flies, neither does this."""

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
    """The node's process ends. A broker's logs stay; a client is gone."""


@dataclass(frozen=True, slots=True, repr=False)
class Restart(_AtNode):
    """The crashed broker starts again, with its logs."""


@dataclass(frozen=True, slots=True, repr=False)
class Pause(_AtNode):
    """The node stops doing anything (a long garbage collection); what arrives waits."""


@dataclass(frozen=True, slots=True, repr=False)
class Resume(_AtNode):
    """The paused node goes on, first with all that has waited."""


FrameFault: TypeAlias = Drop | Duplicate | Delay | Hold | Reorder
NodeFault: TypeAlias = Crash | Restart | Pause | Resume
TimedFault: TypeAlias = NodeFault | WorldFault
Fault: TypeAlias = FrameFault | TimedFault
TYPES: dict[str, type] = {t.__name__: t for t in get_args(FrameFault) + get_args(NodeFault) + WORLD_FAULTS}


def check_fault(fault: Any, nodes: tuple[str, ...], topics: dict[str, int] | None = None) -> None:
    """ValueError or TypeError, saying what would be right, unless the fault fits a run of these nodes and topics."""
    if type(fault).__name__ not in TYPES or not isinstance(fault, TYPES[type(fault).__name__]):
        raise TypeError(f"{fault!r} is not a fault; there are {', '.join(TYPES)}")
    if isinstance(fault, FrameFault):
        check_frame_id(fault.frame)
        _check_frame_fault(fault)
        return
    if isinstance(fault, NodeFault):
        check_node(fault.node, nodes)
        if fault.node == "controller":
            raise ValueError("the controller cannot fail: its consensus is not modelled")
        if isinstance(fault, Restart) and not fault.node.startswith("b"):
            raise ValueError(f"{fault.node!r} is a client; only a broker can be restarted")
    else:
        assert isinstance(fault, Timed)
        if isinstance(fault, Release):
            check_frame_id(fault.frame)
        check_world_fault(fault, nodes, topics)
    if (fault.at_step >= 0) == (fault.at_ms >= 0):
        raise ValueError(f"{fault!r} needs either at_step or at_ms, from 0 on")


def _check_frame_fault(fault: FrameFault) -> None:
    if isinstance(fault, Delay) and (not isinstance(fault.delay_ms, int) or fault.delay_ms < 1):
        raise ValueError(f"delay_ms is a number of milliseconds from 1 on, not {fault.delay_ms!r}")
    if isinstance(fault, Reorder):
        check_frame_id(fault.after)
        if fault.after == fault.frame:
            raise ValueError(f"{fault.frame} cannot arrive after itself")


def check_frame_id(frame: Any) -> None:
    """A frame is named like "EndTxn#1": the API's name and a number from 1 on."""
    name, _, number = frame.partition("#") if isinstance(frame, str) else ("", "", "")
    if name not in FRAME_NAMES:
        hint = did_you_mean(name, FRAME_NAMES, f"#{number or 1}")
        raise ValueError(f'no frame is called {frame!r}; frames are named like "EndTxn#1"{hint}')
    if not number.isdigit() or int(number) < 1:
        raise ValueError(f'{frame!r} has no number; the first {name} is "{name}#1"')


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """`{"fault": "Drop", "frame": "EndTxn#1"}`."""
    return {"fault": type(fault).__name__, **asdict(fault)}


def fault_from_json(row: Any) -> Fault:
    """The inverse; ValueError for a fault that this kafkalab does not know."""
    if not isinstance(row, dict) or row.get("fault") not in TYPES:
        hint = did_you_mean(row.get("fault", ""), TYPES) if isinstance(row, dict) else ""
        raise ValueError(f"{row!r} is not a fault; there are {', '.join(TYPES)}{hint}")
    arguments = {k: _argument(k, v) for k, v in row.items() if k != "fault"}
    try:
        fault: Fault = TYPES[row["fault"]](**arguments)
    except TypeError as error:
        raise ValueError(f"{row!r} is not a fault: {error}") from None
    return fault


def _argument(name: str, value: Any) -> Any:
    """Lists are tuples; a frame named as before version 0.2, such as "EndTxnReply#1", gets its present name."""
    if name in ("frame", "after") and isinstance(value, str):
        return OLD_FRAME_NAME.sub(r"\1Response#", value)
    return tuple(value) if isinstance(value, list) else value
