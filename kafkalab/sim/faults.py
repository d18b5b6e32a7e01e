"""Faults as data. The `repr` of a fault can be pasted into a scenario."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from kafkalab.api.registry import BY_NAME

FRAME_NAMES = tuple(name + suffix for name in BY_NAME for suffix in ("", "Reply"))


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


@dataclass(frozen=True, slots=True, repr=False)
class _AtNode:
    """Something that happens to a node right after event `at_step`, or at `at_ms`; -1 is "not given"."""

    node: str
    at_step: int = -1
    at_ms: int = -1

    def __repr__(self) -> str:
        given = [f"{name}={value}" for name in ("at_step", "at_ms") if (value := getattr(self, name)) != -1]
        return f"{type(self).__name__}({', '.join([repr(self.node), *given])})"


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


FrameFault: TypeAlias = Drop | Duplicate | Delay
NodeFault: TypeAlias = Crash | Restart | Pause | Resume
Fault: TypeAlias = FrameFault | NodeFault
TYPES: dict[str, type] = {t.__name__: t for t in (Drop, Duplicate, Delay, Crash, Restart, Pause, Resume)}


def check_fault(fault: Any, nodes: tuple[str, ...]) -> None:
    """ValueError or TypeError, saying what would be right, unless the fault can be applied to a run of these nodes."""
    if type(fault).__name__ not in TYPES or not isinstance(fault, TYPES[type(fault).__name__]):
        raise TypeError(f"{fault!r} is not a fault; there are {', '.join(TYPES)}")
    if isinstance(fault, FrameFault):
        check_frame_id(fault.frame)
        if isinstance(fault, Delay) and (not isinstance(fault.delay_ms, int) or fault.delay_ms < 1):
            raise ValueError(f"delay_ms is a number of milliseconds from 1 on, not {fault.delay_ms!r}")
        return
    assert isinstance(fault, NodeFault)
    if fault.node not in nodes:
        raise ValueError(f"no node {fault.node!r} in this scenario; there are {', '.join(nodes)}")
    if fault.node == "controller":
        raise ValueError("the controller cannot fail: its consensus is not modelled")
    if isinstance(fault, Restart) and not fault.node.startswith("b"):
        raise ValueError(f"{fault.node!r} is a client; only a broker can be restarted")
    if (fault.at_step >= 0) == (fault.at_ms >= 0):
        raise ValueError(f"{fault!r} needs either at_step or at_ms, from 0 on")


def check_frame_id(frame: Any) -> None:
    """A frame is named like "EndTxn#1": the API's name and a number from 1 on."""
    name, _, number = frame.partition("#") if isinstance(frame, str) else ("", "", "")
    if name not in FRAME_NAMES:
        near = difflib.get_close_matches(name, FRAME_NAMES, 1)
        hint = f"; did you mean {near[0]}#{number or 1}?" if near else ""
        raise ValueError(f'no frame is called {frame!r}; frames are named like "EndTxn#1"{hint}')
    if not number.isdigit() or int(number) < 1:
        raise ValueError(f'{frame!r} has no number; the first {name} is "{name}#1"')


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """`{"fault": "Drop", "frame": "EndTxn#1"}`."""
    return {"fault": type(fault).__name__, **asdict(fault)}


def fault_from_json(row: Any) -> Fault:
    """The inverse; ValueError for a fault that this kafkalab does not know."""
    if not isinstance(row, dict) or row.get("fault") not in TYPES:
        raise ValueError(f"{row!r} is not a fault; there are {', '.join(TYPES)}")
    arguments = {k: v for k, v in row.items() if k != "fault"}
    try:
        fault: Fault = TYPES[row["fault"]](**arguments)
    except TypeError as error:
        raise ValueError(f"{row!r} is not a fault: {error}") from None
    return fault
