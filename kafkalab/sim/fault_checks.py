"""Check that a fault fits a run of given nodes and topics; each message says what would be right."""

from __future__ import annotations

from typing import Any

from kafkalab.limits import TIME_MS, list_names, quote, whole_number
from kafkalab.protocol.acls import is_server
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import INTERNAL_PARTITIONS, INTERNAL_TOPICS, split
from kafkalab.sim.arguments import check_fields
from kafkalab.sim.faults import (
    TYPES,
    AdvanceClock,
    ClusterFault,
    Compact,
    Crash,
    Cut,
    Delay,
    DeleteSegment,
    ElectLeader,
    FrameFault,
    Heal,
    NodeFault,
    Release,
    Reorder,
    Restart,
    Roll,
    Upgrade,
    did_you_mean,
    nodes_of,
)

_MOST = f"; the limit is {TIME_MS.most:,}"
FRAME_NAMES = tuple(name + suffix for name in BY_NAME for suffix in ("", "Response"))


def check_fault(fault: Any, nodes: tuple[str, ...], topics: dict[str, int] | None = None) -> None:
    """Raise ValueError or TypeError, saying what would be right, unless `fault` fits these nodes and topics."""
    if type(fault).__name__ not in TYPES or not isinstance(fault, TYPES[type(fault).__name__]):
        raise TypeError(f"{quote(fault)} is not a fault; there are {', '.join(TYPES)}")
    if isinstance(fault, FrameFault):
        _check_frame_id(fault.frame)
        _check_frame_fault(fault)
        return
    check_fields(fault, but=("at_step", "at_ms", "sent", "ms", "level", "partition", "node", "broker", "frame"))
    if isinstance(fault, NodeFault):
        _check_node(fault.node, nodes)
        if fault.node == "controller":
            raise ValueError("the controller cannot fail: its consensus is not modelled")
        if isinstance(fault, Crash) and not isinstance(fault.sent, bool):
            raise TypeError(f"sent is True or False, not {quote(fault.sent)}")
        if isinstance(fault, Restart) and not fault.node.startswith("b"):
            raise ValueError(f"{quote(fault.node)} is a client; only a broker can be restarted")
    else:
        assert isinstance(fault, ClusterFault)
        if isinstance(fault, Release):
            _check_frame_id(fault.frame)
        _check_cluster_fault(fault, nodes, topics)
    check_fields(fault)
    if (fault.at_step >= 0) == (fault.at_ms >= 0):
        raise ValueError(f"{quote(fault)} needs either at_step or at_ms, from 0 on")
    if max(fault.at_step, fault.at_ms) > TIME_MS.most:
        raise ValueError(f"{quote(fault)} is too late; the limit is {TIME_MS.most:,}")


def _is_duration(ms: object) -> bool:
    return type(ms) is int and 1 <= ms <= TIME_MS.most


def _check_frame_fault(fault: FrameFault) -> None:
    if isinstance(fault, Delay) and not _is_duration(fault.delay_ms):
        raise ValueError(f"delay_ms is a number of milliseconds from 1 on, not {quote(fault.delay_ms)}{_MOST}")
    if isinstance(fault, Reorder):
        _check_frame_id(fault.after)
        if fault.after == fault.frame:
            raise ValueError(f"{fault.frame} cannot arrive after itself")


def _check_frame_id(frame: Any) -> None:
    """Raise ValueError unless the frame is named like "EndTxn#1": an API's name and a number from 1 on."""
    name, _, number = frame.partition("#") if isinstance(frame, str) else ("", "", "")
    if name not in FRAME_NAMES:
        hint = did_you_mean(name, FRAME_NAMES, f"#{max(whole_number(number), 1)}")
        raise ValueError(f'no frame is called {quote(frame)}; frames are named like "EndTxn#1"{hint}')
    if whole_number(number) < 1:
        raise ValueError(f'{quote(frame)} has no number; the first {name} is "{name}#1"')


def _check_node(node: object, nodes: tuple[str, ...]) -> None:
    """Raise ValueError unless `node` is one of these nodes."""
    if node not in nodes:
        hint = did_you_mean(node, nodes)
        raise ValueError(f"no node {quote(node)} in this scenario; there are {list_names(nodes)}{hint}")


def _check_cluster_fault(fault: ClusterFault, nodes: tuple[str, ...], topics: dict[str, int] | None) -> None:
    """Raise ValueError, saying what would be right, unless the fault fits a run of these nodes and topics."""
    if isinstance(fault, Cut | Heal):
        a, b = nodes_of(fault.a), nodes_of(fault.b)
        for node in (*a, *b):
            _check_node(node, nodes)
        if not a or not b or any(node in b for node in a):
            raise ValueError(f"{quote(fault)}: each side names other nodes, at least one")
    elif isinstance(fault, AdvanceClock):
        if not _is_duration(fault.ms):
            raise ValueError(f"ms is a number of milliseconds from 1 on, not {quote(fault.ms)}{_MOST}")
    elif isinstance(fault, Upgrade):
        if fault.level not in (1, 2) or isinstance(fault.level, bool):
            raise ValueError(f"level is 1 or 2, not {quote(fault.level)}: the levels of transaction.version")
    elif isinstance(fault, ElectLeader | Compact | DeleteSegment | Roll):
        if topics is not None:
            _check_partition(fault.partition, topics)
        if isinstance(fault, ElectLeader):
            _check_node(fault.broker, tuple(n for n in nodes if is_server(n) and n != "controller"))


def _check_partition(partition: object, topics: dict[str, int]) -> None:
    """Raise ValueError unless it is a partition of these topics, or of an internal one."""
    known = {**topics, **dict.fromkeys(INTERNAL_TOPICS, INTERNAL_PARTITIONS)}
    topic, index = split(partition)
    if not 0 <= index < known.get(topic, 0):
        ids = [f"{name}-{i}" for name, count in known.items() for i in range(count)]
        own = list_names(f"{name}-0 to {name}-{count - 1}" for name, count in known.items())
        hint = did_you_mean(partition, ids)
        raise ValueError(f"no partition {quote(partition)} in this scenario; there are {own}{hint}")
