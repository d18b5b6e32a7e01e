"""Faults as words of a command line: Drop:EndTxnResponse#1, Delay:Produce#2:500, Crash:b2:3000."""

from __future__ import annotations

from kafkalab.faults.fault import FrameFault
from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.limits import quoted, whole_number

Kind = type[Drop] | type[Duplicate] | type[Hold] | type[Delay]
BrokerFault = Crash | Restart | Pause | Resume
BROKER_FAULTS: dict[str, type[BrokerFault]] = {kind.__name__: kind for kind in (Crash, Restart, Pause, Resume)}


def frame_fault(text: str, kinds: tuple[Kind, ...], examples: str) -> FrameFault:
    """Return the fault that `text` names, of one of these kinds; ValueError, with the `examples`, for anything else."""
    name, _, rest = text.partition(":")
    frame, _, delay = rest.partition(":")
    kind = next((one for one in kinds if one.__name__ == name), None)
    if kind is Delay and whole_number(delay) >= 0:
        return Delay(frame, whole_number(delay))
    if kind is not None and kind is not Delay and not delay:
        return kind(frame)
    raise ValueError(f"a fault is {examples}, not {quoted(text)}")


def broker_fault(text: str, examples: str) -> BrokerFault:
    """Return the fault of BROKER_FAULTS that `text` names, at its milliseconds or at 0; ValueError as `frame_fault`."""
    name, _, rest = text.partition(":")
    broker, colon, ms = rest.partition(":")
    at_ms = whole_number(ms) if colon else 0
    if name in BROKER_FAULTS and broker and at_ms >= 0:
        return BROKER_FAULTS[name](broker, at_ms=at_ms)
    raise ValueError(f"a fault is {examples}, not {quoted(text)}")
