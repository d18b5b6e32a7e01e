"""The logs at a step as data and as text: batches of leader and followers, marks, and what two consumers are given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafkalab.widgets.payload.marks import span
from kafkalab.widgets.payload.text import Payload, ViewState, batch_outcome, offsets_of, replay

LEVELS = ("read_uncommitted", "read_committed")
Batch = dict[str, Any]

MEANING = {
    "base offset": "The offset of its first record; the leader assigned it.",
    "last offset": "The offset of its last record.",
    "leader epoch": "Who led when this was appended: followers find by it what they must truncate.",
    "timestamp": "When it was made, in virtual milliseconds.",
    "producer id": "Whose batch it is, as InitProducerId said; -1: a producer without idempotence.",
    "producer epoch": "Which incarnation of the producer; a partition refuses epochs lower than it has seen.",
    "base sequence": "Counts the producer's records on this partition: gaps and repetitions show by it.",
    "last sequence": "The sequence of its last record.",
    "transactional": "Whether it belongs to a transaction and waits for a marker.",
    "control": "COMMIT or ABORT: a marker that ends the producer's transaction here. Consumers never get it.",
    "coordinator epoch": "Which coordinator wrote the marker: a leader refuses those of one that was replaced.",
    "outcome": "What the next marker of this producer says: committed, aborted, or none yet: open.",
    "read_uncommitted": "A consumer of this isolation level is given what lies below the high watermark.",
    "read_committed": "This one is given what lies below the last stable offset, without what was aborted.",
}
"""The fields of a batch, in the order in which they are shown, and what each is for."""
STATES = {
    "gets": "is given",
    "skips": "aborted: its client filters it out",
    "waits": "not yet",
    "held": "held up behind the last stable offset, then skipped: its client will filter it out",
    "never": "markers are for the client itself",
    "gone": "no longer in the log",
}
VERBS = {"gets": "gets", "skips": "skips", "waits": "waits for", "held": "held up, then skipped:"}


@dataclass(frozen=True, slots=True)
class Replica:
    """One broker's log of a partition: batches, and those that left it with why; `role` as a few words."""

    node: str
    label: str
    role: str
    batches: list[Batch]
    gone: list[Batch]
    start: int
    high_watermark: int
    last_stable_offset: int

    @property
    def end(self) -> int:
        """The offset that the next record would get, as far as the picture knows."""
        return max([self.start, self.high_watermark, *(int(b["last"]) + 1 for b in self.batches)])

    def cells(self) -> list[tuple[Batch, str, str]]:
        """All batches by offset: the batch, its outcome ("" if not transactional), and why it is gone ("" if not)."""
        shown = [(b, batch_outcome(self.batches, i), "") for i, b in enumerate(self.batches)]
        shown += [(b, "", str(b["why"])) for b in self.gone]
        return sorted(shown, key=lambda cell: (int(cell[0]["base"]), cell[2] == ""))


def replicas_at(payload: Payload, shown: ViewState, partition: str) -> list[Replica]:
    """The partition's logs, the leader's first; without a leader that of the first replica in sync comes first."""
    leader = shown.leaders.get(partition, "")
    in_sync, nodes = shown.in_sync.get(partition, []), shown.replicas.get(partition, [])
    first = leader or next(iter(in_sync), "")
    labels = {n["id"]: n["label"] for n in payload["nodes"]}
    found = []
    for node in sorted(nodes, key=lambda n: n != first):
        life = shown.nodes.get(node, "up")
        role = "leader" if node == leader else "in sync" if node in in_sync else "out of sync"
        marks = [shown.marks.get((which, node, partition), 0) for which in ("start", "hw", "lso")]
        log, gone = shown.logs.get((node, partition), []), shown.gone.get((node, partition), [])
        role += f", {life}" if life != "up" else ""
        found.append(Replica(node, labels.get(node, node), role, log, gone, *marks))
    return found


def positions_at(payload: Payload, shown: ViewState, partition: str) -> list[tuple[str, int, str]]:
    """Return each client's position in the partition: its name, the offset that it reads next, its level."""
    known = shown.positions.get(partition, {})
    return [(n["label"], *known[n["id"]]) for n in payload["nodes"] if n["id"] in known]


def lag_of(replica: Replica, offset: int, level: str) -> int:
    """Return a position's distance to the end that its isolation level sees, like the metric records-lag.

    It is negative where an unclean election took away records that were read (`SubscriptionState.partitionLag`).
    """
    end = replica.high_watermark if level == LEVELS[0] else replica.last_stable_offset
    return end - offset


def find_delivery(replica: Replica, batch: Batch, outcome: str, level: str) -> str:
    """Return what a consumer of an isolation level has of a batch: gets, skips, waits, held, never, gone.

    "held" is an aborted batch behind the last stable offset: read_committed waits there, and is never given it.
    """
    if batch.get("why"):
        return "gone"
    if batch["kind"] != "data":
        return "never"
    behind = batch["last"] >= (replica.high_watermark if level == LEVELS[0] else replica.last_stable_offset)
    if outcome == "aborted" and level == LEVELS[1]:
        return "held" if behind else "skips"
    return "waits" if behind else "gets"


def reading(replica: Replica, level: str) -> str:
    """ "gets 0–1, 4; skips 2–3; waits for 5; held up, then skipped: 6"; "gets nothing" where that is all."""
    found: dict[str, list[list[int]]] = {state: [] for state in VERBS}
    for batch, outcome, _ in replica.cells():
        spans = found.get(find_delivery(replica, batch, outcome, level), [])
        if spans and spans[-1][1] + 1 == batch["base"]:
            spans[-1][1] = batch["last"]
        else:
            spans.append([batch["base"], batch["last"]])
    parts = [f"{VERBS[s]} {', '.join(span(*one) for one in spans)}" for s, spans in found.items() if spans]
    return "; ".join(parts if found["gets"] else ["gets nothing", *parts])


def cell_words(batch: Batch, outcome: str, why: str) -> str:
    """A batch in a line: "0–1 -10, -25 · pid 2000 e0 seq 0 · open"."""
    what = batch["kind"] + " marker" if batch["kind"] != "data" else batch["decoded"] or values_of(batch)
    parts = [f"{span(batch['base'], batch['last'])} {what}".strip(), producer_of(batch), why or outcome]
    return " · ".join(p for p in parts if p)


def producer_of(batch: Batch) -> str:
    """Return "pid 2000 e0 seq 0", a marker's without its sequence; "" of a batch without a producer id."""
    sequence = f" seq {batch['seq']}" if batch["seq"] >= 0 else ""
    return f"pid {batch['pid']} e{batch['epoch']}{sequence}" if batch["pid"] >= 0 else ""


def values_of(batch: Batch) -> str:
    """The records' keys and values: "k=v, v"."""
    return ", ".join(f"{k}={v}" if k else v for k, v in batch["records"])


def batch_fields(replica: Replica, batch: Batch, outcome: str) -> list[tuple[str, str]]:
    """The fields of a batch that apply to it, with their values; the names are those of `MEANING`."""
    deltas = batch["last"] - batch["base"]
    rows = {
        "base offset": batch["base"],
        "last offset": batch["last"],
        "leader epoch": batch.get("le", -1),
        "timestamp": f"{batch.get('ts', 0)} ms",
        "producer id": batch["pid"],
        "producer epoch": batch["epoch"] if batch["pid"] >= 0 else None,
        "base sequence": batch["seq"] if batch["seq"] >= 0 else None,
        "last sequence": (batch["seq"] + deltas) & 0x7FFFFFFF if batch["seq"] >= 0 else None,
        "transactional": "yes" if batch["txn"] else "no",
        "control": batch["kind"] if batch["kind"] != "data" else None,
        "coordinator epoch": batch.get("ce"),
        "outcome": batch.get("why") or outcome or None,
        **{level: STATES[find_delivery(replica, batch, outcome, level)] for level in LEVELS},
    }
    return [(name, str(rows[name])) for name in MEANING if rows[name] is not None]


def record_lines(batch: Batch) -> Iterator[str]:
    """Each record: offset, key, value, headers if it has any.

    Of an internal topic each field of the entry, or that it removes its key.
    """
    if batch["kind"] != "data":
        return
    parts = batch["decoded"].split("; ") if batch["decoded"] else []
    for i, (offset, (key, value)) in enumerate(zip(offsets_of(batch), batch["records"], strict=True)):
        entry = batch.get("fields", [[]] * len(batch["records"]))[i]
        if entry:
            value = ", ".join(f"{name} {text}" for name, text in entry)
        elif batch["decoded"]:
            value = "tombstone: removes the key" if parts[i : i + 1] == [f"{key}: removed"] else parts[i]
        headers = "".join(f", header {text}" for text in batch["headers"][i]) if "headers" in batch else ""
        yield f"offset {offset}, key {key or 'none'}: {value}{headers}"


def log_text(payload: Payload, step: int, partition: str, offset: int, replicas: bool) -> list[str]:
    """The tapes in lines: each partition, its batches, its readers; followers if `replicas`; the batch at `offset`."""
    shown, lines = replay(payload, step), []
    for name in payload["partitions"]:
        logs = replicas_at(payload, shown, name)
        for log in logs if replicas else logs[:1]:
            lines += _log_lines(log, name, "> " if name == partition and log is logs[0] else "")
            if log is logs[0] and not name.startswith("__"):
                lines += [f"    {level} {reading(log, level)}" for level in LEVELS]
                for who, at, level in positions_at(payload, shown, name):
                    lines.append(f"    position of {who}: {at}, lag {lag_of(log, at, level)} ({level})")
        if name == partition and logs:
            lines += _chosen_lines(logs[0], offset)
    return lines


def _log_lines(log: Replica, partition: str, sign: str) -> list[str]:
    marks = f"log start {log.start}, LSO {log.last_stable_offset}, HW {log.high_watermark}, end {log.end}"
    cells = [f"    [{cell_words(*cell)}]" for cell in log.cells()]
    return [f"{sign}{partition} on {log.label} ({log.role}): {marks}", *(cells or ["    empty"])]


def _chosen_lines(log: Replica, offset: int) -> list[str]:
    for batch, outcome, why in log.cells():
        if batch["base"] <= offset <= batch["last"]:
            lines = [f"  batch {cell_words(batch, outcome, why)}"]
            lines += [f"    {name} = {value}. {MEANING[name]}" for name, value in batch_fields(log, batch, outcome)]
            return lines + [f"    {line}" for line in record_lines(batch)]
    return []
