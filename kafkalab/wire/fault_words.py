"""Faults of a frame as words of a command line: Drop:EndTxnResponse#1, Delay:Produce#2:500."""

from __future__ import annotations

from kafkalab.limits import quoted, whole_number
from kafkalab.sim.faults import Delay, Drop, Duplicate, FrameFault, Hold

Kind = type[Drop] | type[Duplicate] | type[Hold] | type[Delay]


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
