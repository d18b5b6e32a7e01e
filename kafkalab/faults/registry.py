"""All faults: by name, as JSON, and those that could strike a run now. Each family lists its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from inspect import isabstract
from typing import Any

from kafkalab.faults import cluster, frame, link, node, partition, request, storage, window
from kafkalab.faults.fault import Fault
from kafkalab.faults.world import World
from kafkalab.limits import did_you_mean, quote, truncate
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import topic_of

FAULTS: tuple[type[Fault], ...] = (
    *frame.FAULTS, *request.FAULTS, *node.FAULTS, *link.FAULTS, *cluster.FAULTS, *partition.FAULTS, *storage.FAULTS,
    *window.FAULTS,
)  # fmt: skip
"""All faults, in the order of their buttons."""

if unfinished := [kind.__name__ for kind in FAULTS if isabstract(kind)]:
    raise TypeError(f"{', '.join(unfinished)} lacks a part that every fault has: see kafkalab/faults/fault.py")

TYPES: dict[str, type[Fault]] = {kind.__name__: kind for kind in FAULTS}
BY_PRESS: dict[str, type[Fault]] = {kind.press: kind for kind in FAULTS}

Possible = dict[Fault, str]
"""By fault, without its moment: why it would change nothing, or "" if it would change something."""


def faults_on(target_kind: str) -> list[type[Fault]]:
    """Return the faults whose buttons are about a frame, a node, a link, and so on: see `FaultBase.target_kind`."""
    return [kind for kind in FAULTS if kind.target_kind == target_kind]


def check_fault(fault: object, nodes: tuple[str, ...], topics: Mapping[str, int] | None = None) -> None:
    """Raise ValueError or TypeError, saying what would be right, unless `fault` fits these nodes and topics."""
    if not isinstance(fault, FAULTS):
        raise TypeError(f"{quote(fault)} is not a fault; there are {', '.join(TYPES)}")
    fault.check(nodes, topics)


def possible_faults_on(world: World, target_kind: str, targets: Iterable[str]) -> Possible:
    """Return the faults that could strike these targets of one kind now, and why the others cannot."""
    kinds = faults_on(target_kind)
    found = (fault for target in targets for kind in kinds for fault in kind.targets(world, target))
    return {fault: fault.why_not(world) for fault in found}


def possible_faults(world: World) -> Possible:
    """Return all that could strike nodes, links, frames in flight, and partitions that hold records or are led.

    Nothing is changed. Jumps of the clock, always possible, are left out.
    """
    flying = [f.id for f in world.trace.frames.values() if f.fate == "in flight" and not f.copy_of]
    written = {p for b in world.brokers.values() for p, log in b.state.logs.items() if log.log_end_offset}
    shown = [p for p in world.controller.metadata.partitions if p in written or topic_of(p) in world.topics]
    return {
        **possible_faults_on(world, "node", nodes_that_fail(world)),
        **possible_faults_on(world, "link", links_of(world)),
        **possible_faults_on(world, "cluster", [""]),
        **possible_faults_on(world, "frame", flying),
        **possible_faults_on(world, "leader", shown),
        **possible_faults_on(world, "log", shown),
    }


def nodes_that_fail(world: World) -> list[str]:
    """Return the clients and brokers of a run."""
    return [node for node in world.nodes if node != world.controller.name]


def links_of(world: World) -> list[str]:
    """Return the links of a run, each as "b1|b2": the pairs of nodes of which at least one is a broker."""
    nodes = list(world.nodes)
    pairs = ((a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :])
    return [f"{a}|{b}" for a, b in pairs if a in world.brokers or b in world.brokers]


def fault_of_words(text: str, kinds: Iterable[type[Fault]], examples: str) -> Fault:
    """Return the fault of one of these kinds that a command line names: "Delay:Produce#2:500", "Crash:b2:3000".

    ValueError, with the `examples`, for anything else.
    """
    name, *words = text.split(":")
    kind = next((kind for kind in kinds if kind.__name__ == name), None)
    try:
        if kind is not None:
            return kind.of_words(*(_join_frames(words) if kind.target_field == "frame" else words))
    except (TypeError, ValueError):
        pass
    raise ValueError(f"a fault is {examples}, not {quote(text)}")


def _join_frames(words: list[str]) -> list[str]:
    """Return the words with each client put before its frame: ["app", "EndTxn#1", "500"] is ["app:EndTxn#1", "500"]."""
    found, begun = [], list[str]()
    for word in words:
        begun.append(word)
        if "#" in word:
            found.append(":".join(begun))
            begun = []
    return found + begun


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
        return TYPES[name](**arguments)
    except TypeError as error:
        raise ValueError(truncate(f"{quote(row)} is not a fault: {error}")) from None


def _argument(name: str, value: object) -> Any:
    """Lists are tuples; a frame named as before version 0.2, such as "EndTxnReply#1", gets its present name."""
    if name in ("frame", "after", "before") and isinstance(value, str):
        api, reply, number = value.partition("Reply#")
        return f"{api}Response#{number}" if reply and api.rpartition(":")[2] in BY_NAME else value
    return tuple(value) if isinstance(value, list) else value
