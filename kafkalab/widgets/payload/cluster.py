"""The cluster at a step in words: nodes and their roles, who has which partition, walls, frames in flight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, topic_of
from kafkalab.widgets.payload.text import TABLE, Payload, ViewState, replay

LIFE = {"up": "up", "paused": "paused", "down": "crashed"}


def labels_of(payload: Payload) -> dict[str, str]:
    """Node ids to what they are called in pictures."""
    return {n["id"]: n["label"] for n in payload["nodes"]}


def list_coordinated(payload: Payload, shown: ViewState, node: str) -> list[str]:
    """Return what a broker coordinates of what clients have asked about by now: "payments-0", "group payments"."""
    homes = payload["homes"]
    asked = {*shown.transactions, *(tid for _, tid in shown.producers)}
    found = [tid for tid, home in homes["ids"].items() if shown.leaders.get(home) == node and tid in asked]
    for group, home in homes["groups"].items():
        if shown.leaders.get(home) == node and (group in shown.groups or shown.logs.get((node, home))):
            found.append(f"group {group}")
    return found


def node_words(payload: Payload, shown: ViewState, node: dict[str, str]) -> str:
    """ "b3: up; leads out-1; coordinates payments-0"."""
    name = node["id"]
    parts = [f"{node['label']}: {LIFE[shown.nodes.get(name, 'up')]}"]
    if node["kind"] == "broker":
        led = [p for p in payload["partitions"] if shown.leaders.get(p) == name]
        ours = list_coordinated(payload, shown, name)
        parts += [f"leads {', '.join(led)}"] if led else []
        parts += [f"coordinates {', '.join(ours)}"] if ours else []
    known = shown.clients.get(name, {})
    parts += [known["state"]] if known.get("state") else []
    parts += [f"producer {known['producer_id']}, epoch {known['epoch']}"] if known.get("producer_id", -1) >= 0 else []
    parts += [known["last"]] if known.get("last") else []
    return "; ".join(parts)


def list_replicated(payload: Payload) -> list[str]:
    """Return the partitions that brokers have; a table of a database is not one."""
    return [p for p in payload["partitions"] if not p.startswith(TABLE)]


def replica_word(shown: ViewState, partition: str, node: str) -> str:
    """Return what a broker is to a partition: leader, in sync, out of sync, or "–"."""
    if shown.leaders.get(partition) == node:
        return "leader"
    if node not in shown.replicas.get(partition, []):
        return "–"
    return "in sync" if node in shown.in_sync.get(partition, []) else "out of sync"


def end_of(shown: ViewState, partition: str, node: str) -> int:
    """Return the end of a replica's log, as far as the picture knows."""
    batches = shown.logs.get((node, partition), [])
    floor = max(shown.marks.get((which, node, partition), 0) for which in ("start", "hw"))
    return max(floor, int(batches[-1]["last"]) + 1 if batches else 0)


def partition_words(payload: Payload, shown: ViewState, partition: str) -> str:
    """ "accounts-0: b1 leader, end 3; b2 in sync, end 3; b3 out of sync, end 2"."""
    brokers = [n["id"] for n in payload["nodes"] if n["kind"] == "broker"]
    words = [(b, replica_word(shown, partition, b)) for b in brokers]
    parts = [f"{b} {word}, end {end_of(shown, partition, b)}" for b, word in words if word != "–"]
    leader = "" if shown.leaders.get(partition) else "no leader; "
    return f"{partition}: {leader}{'; '.join(parts)}"


def walls(payload: Payload, shown: ViewState) -> list[str]:
    """ "b1 | b2" for each pair between which no frame gets through."""
    labels = labels_of(payload)
    return [f"{labels[a]} | {labels[b]}" for (a, b), yes in sorted(shown.cuts.items()) if yes]


def in_flight(payload: Payload, step: int, groups: Iterable[str], hidden: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The frames of these groups, but for hidden nodes and APIs, that have been sent by now and have not ended."""
    ends, groups, hidden = payload["ends"], set(groups), set(hidden)
    frames = [f for f in payload["frames"].values() if f["category"] in groups and f["sent"] <= step]
    flying = [f for f in frames if (f["received"] if f["received"] is not None else ends.get(f["id"], step + 1)) > step]
    return [f for f in flying if not hidden & {f["name"].removesuffix("Response"), f["from"], f["to"]}]


def flight_words(payload: Payload, shown: ViewState, frame: dict[str, Any]) -> str:
    """ "Produce#1: app → b1"; a frame that is kept on its way: "…, held"."""
    labels = labels_of(payload)
    kept = ", held" if shown.held.get(frame["copy_of"] or frame["id"]) else ""
    return f"{frame['id']}: {labels[frame['from']]} → {labels[frame['to']]}{kept}"


def cluster_text(payload: Payload, step: int, flying: list[dict[str, Any]], node: str) -> list[str]:
    """The map in lines: nodes (">" before the chosen one), partitions, walls, frames in flight."""
    shown = replay(payload, step)
    lines = [f"{'> ' if n['id'] == node else '  '}{node_words(payload, shown, n)}" for n in payload["nodes"]]
    lines += [f"  {partition_words(payload, shown, p)}" for p in list_replicated(payload)]
    lines += [f"  cut: {wall}" for wall in walls(payload, shown)]
    return lines + [f"  in flight: {flight_words(payload, shown, f)}" for f in flying]


def home_of(payload: Payload, partition: str) -> str:
    """Return what the leader of an internal partition coordinates by it: "payments-0"; "" for other partitions."""
    kind = {TRANSACTION_TOPIC: "ids", OFFSETS_TOPIC: "groups"}.get(topic_of(partition), "")
    return ", ".join(name for name, home in payload["homes"].get(kind, {}).items() if home == partition)
