"""Checks of what a fault names: frames, nodes, partitions, moments. Each message says what would be right."""

from __future__ import annotations

from collections.abc import Mapping

from kafkalab.limits import TIME_MS, did_you_mean, list_names, quote, whole_number
from kafkalab.protocol.acls import is_server
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import INTERNAL_PARTITIONS, INTERNAL_TOPICS, split

FRAME_NAMES = tuple(name + suffix for name in BY_NAME for suffix in ("", "Response"))


def check_duration(name: str, ms: object) -> None:
    """Raise ValueError unless a field is a number of milliseconds from 1 on."""
    if type(ms) is not int or not 1 <= ms <= TIME_MS.most:
        limit = f"; the limit is {TIME_MS.most:,}"
        raise ValueError(f"{name} is a number of milliseconds from 1 on, not {quote(ms)}{limit}")


def check_frame_id(frame: object) -> None:
    """Raise ValueError unless the frame is named like "EndTxn#1": an API's name and a number from 1 on.

    A client's name and a colon may come before: "app:EndTxn#1".
    """
    client, colon, plain = frame.rpartition(":") if isinstance(frame, str) else ("", "", "")
    if colon and is_server(client):
        raise ValueError(f'{quote(frame)}: {client} is no client; frames of all servers are named like "EndTxn#1"')
    if colon and not client:
        raise ValueError(f'{quote(frame)} names no client; frames are named like "EndTxn#1" or "app:EndTxn#1"')
    name, _, number = plain.partition("#")
    if name not in FRAME_NAMES:
        hint = did_you_mean(name, FRAME_NAMES, f"#{max(whole_number(number), 1)}")
        raise ValueError(f'no frame is called {quote(frame)}; frames are named like "EndTxn#1"{hint}')
    if whole_number(number) < 1:
        raise ValueError(f'{quote(frame)} has no number; the first {name} is "{name}#1"')


def check_node(node: object, nodes: tuple[str, ...]) -> None:
    """Raise ValueError unless `node` is one of these nodes."""
    if node not in nodes:
        hint = did_you_mean(node, nodes)
        raise ValueError(f"no node {quote(node)} in this scenario; there are {list_names(nodes)}{hint}")


def check_partition(partition: object, topics: Mapping[str, int] | None) -> None:
    """Raise ValueError unless it is a partition of these topics, or of an internal one; without topics any is."""
    if topics is None:
        return
    known = {**topics, **dict.fromkeys(INTERNAL_TOPICS, INTERNAL_PARTITIONS)}
    topic, index = split(partition)
    if not 0 <= index < known.get(topic, 0):
        ids = [f"{name}-{i}" for name, count in known.items() for i in range(count)]
        own = list_names(f"{name}-0 to {name}-{count - 1}" for name, count in known.items())
        hint = did_you_mean(partition, ids)
        raise ValueError(f"no partition {quote(partition)} in this scenario; there are {own}{hint}")


def milliseconds_of(text: str = "0") -> int:
    """Return the milliseconds that a word of a command line gives, 0 without it; ValueError for anything else."""
    ms = whole_number(text)
    if ms < 0:
        raise ValueError(f"{quote(text)} is no number of milliseconds")
    return ms


def check_moment(fault: object, at_step: int, at_ms: int) -> None:
    """Raise ValueError unless a fault has either a step or a time, within the limits."""
    if (at_step >= 0) == (at_ms >= 0):
        raise ValueError(f"{quote(fault)} needs either at_step or at_ms, from 0 on")
    if max(at_step, at_ms) > TIME_MS.most:
        raise ValueError(f"{quote(fault)} is too late; the limit is {TIME_MS.most:,}")
