"""Faults that strike no single node or frame: the network, the clock, leaders, storage. Data only."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TypeAlias, get_args

from kafkalab.protocol.partitions import INTERNAL_PARTITIONS, INTERNAL_TOPICS

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


@dataclass(frozen=True, slots=True, repr=False)
class Cut(Timed):
    """No frame gets from `a` to `b` or back, those under way included. A side is a node, or several in a tuple.

    Nobody is told: requests time out. A broker cut off from the controller is fenced after its session timeout.
    """

    a: Side
    b: Side
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class Heal(Timed):
    """Frames between `a` and `b` arrive again. A broker that was fenced is let in when the controller hears of it."""

    a: Side
    b: Side
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class AdvanceClock(Timed):
    """All clocks jump forward by `ms`. What was due in between is due now, in its order, repeated timers once."""

    ms: int
    at_step: int = -1
    at_ms: int = -1


@dataclass(frozen=True, slots=True, repr=False)
class ElectLeader(Timed):
    """The controller makes a live replica the partition's leader: one that is in sync, or with `unclean` any.

    An unclean leader is the only one in sync then; what the others have more they truncate.
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
class Release(Timed):
    """The frame that a `Hold` keeps on its way arrives now, if its receiver still lives."""

    frame: str
    at_step: int = -1
    at_ms: int = -1


WorldFault: TypeAlias = Cut | Heal | AdvanceClock | ElectLeader | Compact | DeleteSegment | Roll | Release
WORLD_FAULTS: tuple[type, ...] = get_args(WorldFault)


def names(side: Side) -> tuple[str, ...]:
    """The nodes of one side of a cut."""
    return (side,) if isinstance(side, str) else side


def did_you_mean(name: object, known: Iterable[str], ending: str = "") -> str:
    """The end of a message: the known name that is nearest, or nothing."""
    near = difflib.get_close_matches(name, list(known), 1) if isinstance(name, str) else []
    return f"; did you mean {near[0]}{ending}?" if near else ""


def check_node(node: object, nodes: tuple[str, ...]) -> None:
    """ValueError unless it is one of these nodes."""
    if node not in nodes:
        hint = did_you_mean(node, nodes)
        raise ValueError(f"no node {node!r} in this scenario; there are {', '.join(nodes)}{hint}")


def check_world_fault(fault: Timed, nodes: tuple[str, ...], topics: dict[str, int] | None) -> None:
    """ValueError, saying what would be right, unless the fault fits a run of these nodes and topics."""
    if isinstance(fault, Cut | Heal):
        a, b = names(fault.a), names(fault.b)
        for node in (*a, *b):
            check_node(node, nodes)
        if not a or not b or any(node in b for node in a):
            raise ValueError(f"{fault!r}: each side names other nodes, at least one")
    elif isinstance(fault, AdvanceClock):
        if not isinstance(fault.ms, int) or isinstance(fault.ms, bool) or fault.ms < 1:
            raise ValueError(f"ms is a number of milliseconds from 1 on, not {fault.ms!r}")
    elif isinstance(fault, ElectLeader | Compact | DeleteSegment | Roll):
        if topics is not None:
            check_partition(fault.partition, topics)
        if isinstance(fault, ElectLeader):
            check_node(fault.broker, tuple(n for n in nodes if n.startswith("b") and n[1:].isdigit()))


def check_partition(partition: object, topics: dict[str, int]) -> None:
    """ValueError unless it is a partition of these topics, or of an internal one."""
    known = {**topics, **dict.fromkeys(INTERNAL_TOPICS, INTERNAL_PARTITIONS)}
    topic, _, index = partition.rpartition("-") if isinstance(partition, str) else ("", "", "")
    if topic not in known or not index.isdigit() or int(index) >= known[topic]:
        ids = [f"{name}-{i}" for name, count in known.items() for i in range(count)]
        own = ", ".join(f"{name}-0 to {name}-{count - 1}" for name, count in known.items())
        raise ValueError(f"no partition {partition!r} in this scenario; there are {own}{did_you_mean(partition, ids)}")
