"""The text twin: what the screen shows at a step, as text. It folds the same patches as the picture does."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Payload = dict[str, Any]
ALWAYS = ("fault", "crash", "recover")
TABLE = "table "
INVITATION = "Press → to begin."
"""Begins the name of a strip that shows a database's table: its rows have no marks of Kafka."""


@dataclass(slots=True)
class ViewState:
    """Everything that a picture shows after some step."""

    nodes: dict[str, str] = field(default_factory=dict)
    roles: dict[str, list[str]] = field(default_factory=dict)
    leaders: dict[str, str] = field(default_factory=dict)
    logs: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    marks: dict[tuple[str, str, str], int] = field(default_factory=dict)
    transactions: dict[str, dict[str, Any]] = field(default_factory=dict)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    producers: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    replicas: dict[str, list[str]] = field(default_factory=dict)
    in_sync: dict[str, list[str]] = field(default_factory=dict)
    cuts: dict[tuple[str, str], bool] = field(default_factory=dict)
    held: dict[str, bool] = field(default_factory=dict)
    memory: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    gone: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    positions: dict[str, dict[str, tuple[int, str]]] = field(default_factory=dict)

    def apply(self, op: list[Any]) -> None:
        """Apply one change; AssertionError for an unknown one."""
        match op:
            case ["node", node, state]:
                self.nodes[node] = state
            case ["roles", node, roles]:
                self.roles[node] = roles
            case ["leader", partition, node]:
                self.leaders[partition] = node
            case ["batch" | "truncate" | "cleaned" | "start", *_]:
                self._change_log(op)
            case ["hw" | "lso" as which, node, partition, offset]:
                self.marks[which, node, partition] = offset
            case ["txn", tid, known]:
                self.transactions[tid] = known
            case ["client", node, known]:
                self.clients[node] = {**self.clients.get(node, {}), **known}
                if "tid" in known:
                    self.producers[node, known["tid"]] = known
            case ["group", group, known]:
                self.groups[group] = known
            case ["memory", node, partition, known]:
                self.memory[node, partition] = known
            case ["position", partition, node, offset, level]:
                others = {who: at for who, at in self.positions.get(partition, {}).items() if who != node}
                self.positions[partition] = others if offset < 0 else {**others, node: (offset, level)}
            case ["isr", partition, replicas, in_sync]:
                self.replicas[partition], self.in_sync[partition] = replicas, in_sync
            case ["cut", a, b, yes]:
                self.cuts[min(a, b), max(a, b)] = yes
            case ["held", frame, yes]:
                self.held[frame] = yes
            case _:
                raise AssertionError(f"no picture knows the change {op!r}")

    def _change_log(self, op: list[Any]) -> None:
        """Add or remove batches; those that left the log stay in `gone`, with the reason."""
        place = (op[1], op[2])
        log, gone = self.logs.setdefault(place, []), self.gone.setdefault(place, [])
        match op:
            case ["batch", _, _, batch]:
                if log and log[-1]["base"] > batch["base"]:  # of a recorded run: a reader learned of it late
                    insort(log, batch, key=lambda b: int(b["base"]))
                    return
                gone[:] = [b for b in gone if b["last"] < batch["base"]]
                log.append(batch)
            case ["truncate", _, _, offset]:
                gone += [{**b, "why": "truncated"} for b in log if b["base"] >= offset]
                log[:] = [b for b in log if b["base"] < offset]
                for which in ("hw", "lso"):
                    self.marks[(which, *place)] = min(self.marks.get((which, *place), 0), offset)
            case ["cleaned", _, _, left, end]:
                cleaned = [cleaned_batch(b, left, end) for b in log]
                gone += [{**old, "why": "compacted"} for old, new in zip(log, cleaned, strict=True) if new is None]
                log[:] = [b for b in cleaned if b is not None]
            case ["start", _, _, offset]:
                self.marks[("start", *place)] = offset
                gone += [{**b, "why": "deleted"} for b in log if b["last"] < offset]
                log[:] = [b for b in log if b["last"] >= offset]
        gone.sort(key=lambda b: int(b["base"]))

    def strip(self, partition: str) -> tuple[str, list[dict[str, Any]], int, int]:
        """Return what a partition's strip shows: its leader and batches, high watermark, last stable offset."""
        node = self.leaders.get(partition, "")
        batches = self.logs.get((node, partition), [])
        mark, stable = (self.marks.get((which, node, partition), 0) for which in ("hw", "lso"))
        return node, batches, mark, stable


def head_of(payload: Payload) -> str:
    """Return what a run is in a line: title, profile and seed; a recorded run has no seed."""
    seed = "recorded" if payload["seed"] is None else f"seed {payload['seed']}"
    return f"{payload['title']} · {payload['profile']} · {seed}"


def replay(payload: Payload, step: int) -> ViewState:
    """Return what is shown at `step`: the initial changes and those of events 0 to `step`."""
    shown = ViewState()
    for op in payload["initial"]:
        shown.apply(op)
    for event in payload["events"][: step + 1]:
        for op in event["patch"]:
            shown.apply(op)
    return shown


def offsets_of(batch: dict[str, Any]) -> list[int]:
    """Return the offset of each record of a batch."""
    return batch["offs"] if "offs" in batch else list(range(batch["base"], batch["base"] + len(batch["records"])))


def cleaned_batch(batch: dict[str, Any], left: list[int], end: int) -> dict[str, Any] | None:
    """Return the batch with only the records whose offsets are left; None if compaction up to `end` took them all."""
    kept = [i for i, offset in enumerate(offsets_of(batch)) if offset in left or offset >= end]
    if not kept:
        return None
    if len(kept) == len(batch["records"]):
        return batch
    parts = batch["decoded"].split("; ") if batch["decoded"] else []
    new = {**batch, "records": [batch["records"][i] for i in kept], "offs": [offsets_of(batch)[i] for i in kept]}
    if len(parts) == len(batch["records"]):
        new["decoded"] = "; ".join(parts[i] for i in kept)
    for name in ("fields", "headers"):
        if name in batch:
            new[name] = [batch[name][i] for i in kept]
    return new


def stops(payload: Payload, groups: tuple[str, ...], hidden: Iterable[str] = ()) -> list[int]:
    """The steps at which the cursor stops when these groups are visible, and these nodes, APIs, transactions not."""
    told = [e for e in payload["events"] if e["stop"] and (e["category"] in groups or e["kind"] in ALWAYS)]
    hidden = frozenset(hidden)
    return [e["step"] for e in told if not hidden or is_shown(payload, e, hidden)]


def is_shown(payload: Payload, event: dict[str, Any], hidden: Collection[str]) -> bool:
    """Return True if an event, or its frame, has nothing to do with what is hidden. Faults are always shown."""
    if event["kind"] in ALWAYS:
        return True
    if event["txn"] in hidden:
        return False
    frame = payload["frames"].get(event["frame"])
    if frame is None:
        return event["node"] not in hidden
    return not {frame["name"].removesuffix("Response"), frame["from"], frame["to"]} & set(hidden)


def hideable(payload: Payload) -> list[str]:
    """Return what can be hidden in this run: nodes, APIs, transactional ids."""
    apis = sorted({f["name"].removesuffix("Response") for f in payload["frames"].values()})
    return [*(n["id"] for n in payload["nodes"]), *apis, *payload["transactions"]]


def batch_outcome(batches: list[dict[str, Any]], at: int) -> str:
    """Of a transactional batch: "committed", "aborted" or "open", by the next marker of its producer; else ""."""
    batch = batches[at]
    if not batch["txn"] or batch["kind"] != "data":
        return ""
    for later in batches[at + 1 :]:
        if later["kind"] != "data" and later["pid"] == batch["pid"]:
            return "committed" if later["kind"] == "COMMIT" else "aborted"
    return "open"


def outcome_in(partition: str, batches: list[dict[str, Any]], at: int, mark: int) -> str:
    """The outcome of a batch; a row of a table is "committed" below `mark` and "open" behind it."""
    if partition.startswith(TABLE):
        return "committed" if batches[at]["base"] < mark else "open"
    return batch_outcome(batches, at)


def text_at(
    payload: Payload,
    step: int,
    groups: tuple[str, ...],
    hidden: Sequence[str] = (),
    places: Sequence[int] = (),
    walked: Iterable[str] = (),
) -> str:
    """Return the text twin at a step: position, event, frame, nodes, transactions, logs.

    `places` are the stops of the walk if some are folded, `walked` the lines about it.
    """
    event, shown = payload["events"][step], replay(payload, step)
    places = places or stops(payload, groups, hidden)
    place = sum(1 for s in places if s <= step)
    lines = [head_of(payload)]
    if payload["faults"]:
        lines.append("faults: " + ", ".join(payload["faults"]))
    if hidden:
        lines.append("hidden: " + ", ".join(hidden))
    lines += [f"stop {place} of {len(places)} · step {step} · t = {event['at']} ms", event["text"], *walked]
    if event["frame"]:
        lines += _frame_lines(payload["frames"][event["frame"]])
    lines += [_node_line(n, shown) for n in payload["nodes"] if n["kind"] == "broker"]
    lines += [_client_line(node, known) for node, known in shown.clients.items()]
    lines += [transaction_line(tid, known) for tid, known in shown.transactions.items()]
    lines += [group_line(name, known) for name, known in shown.groups.items()]
    lines += [line for p in payload["partitions"] for line in memory_lines(p, shown)]
    lines += [strip_line(p, shown) for p in payload["partitions"]]
    return "\n".join(lines)


def flying_line(payload: Payload, frames: Iterable[str]) -> str:
    """Return the frames in flight with their ways, in a line."""
    ways = [f"{name} {payload['frames'][name]['from']} -> {payload['frames'][name]['to']}" for name in frames]
    return f"in flight: {', '.join(ways) or 'nothing'}"


def invitation_lines(payload: Payload, step: int, groups: Collection[str], hidden: Collection[str]) -> list[str]:
    """Return the invitation to begin while no frame that is shown has been sent and one will be; else nothing."""
    shown = [f["sent"] for f in payload["frames"].values() if f["category"] in groups]
    sent = [at for at in shown if is_shown(payload, payload["events"][at], hidden)]
    return [INVITATION] if sent and min(sent) > step else []


def _frame_lines(frame: dict[str, Any]) -> list[str]:
    way = f"  {frame['from']} -> {frame['to']}, sent at {frame['at']} ms"
    arrives = f", arrives at {frame['received_at']} ms" if frame["received_at"] is not None else f", {frame['fate']}"
    return [f"  {frame['about']}", way + arrives, *(f"    {name} = {value}" for name, value in frame["fields"])]


def _node_line(node: dict[str, str], shown: ViewState) -> str:
    state = shown.nodes.get(node["id"], "up")
    roles = ", ".join(shown.roles.get(node["id"], [])) or "no role shown"
    return f"{node['label']}: {roles}" if state == "up" else f"{node['label']}: {state.upper()} ({roles})"


def _client_line(node: str, known: dict[str, Any]) -> str:
    who = f", producer {known['producer_id']} epoch {known['epoch']}" if known.get("producer_id", -1) >= 0 else ""
    return f"{node}: {known.get('state', 'no producer')}{who}" + (f", {known['last']}" if "last" in known else "")


def transaction_line(tid: str, known: dict[str, Any]) -> str:
    """A transaction in a line: its state, who it belongs to, its partitions."""
    pending = f" -> {known['pending']}" if known["pending"] else ""
    where = f" {{{', '.join(known['partitions'])}}}" if known["partitions"] else ""
    return f"{tid}: {known['state']}{pending}, producer {known['producer_id']} epoch {known['epoch']}{where}"


def group_line(name: str, known: dict[str, Any]) -> str:
    """A consumer group in a line: its state, generation and members with their partitions."""
    members = [f"{who}: {', '.join(where) or 'nothing'}" for who, where in known["members"].items()]
    return f"group {name}: {known['state']}, generation {known['generation']}: {'; '.join(members) or 'no members'}"


def memory_lines(partition: str, shown: ViewState) -> list[str]:
    """Return what a partition's leader remembers of each producer, a line each; none where transactions are held."""
    known = {} if shown.transactions else shown.memory.get((shown.leaders.get(partition, ""), partition), {})
    what = f"{partition} remembers of producer"
    return [
        f"{what} {pid} epoch {entry['epoch']}: seq {', '.join(map(sequences, entry['batches']))}"
        for pid, entry in known.items()
    ]


def sequences(batch: list[int]) -> str:
    """The sequences of a remembered batch: "2", "0-1"."""
    return f"{batch[0]}" if batch[0] == batch[1] else f"{batch[0]}-{batch[1]}"


def strip_line(partition: str, shown: ViewState, last: int = 0) -> str:
    """A partition in a line: where it is led, high watermark, last stable offset, its batches or the `last` of them.

    Of a table: where it is, how many rows are committed, its rows.
    """
    node, batches, mark, stable = shown.strip(partition)
    first = max(0, len(batches) - last) if last else 0
    cells = [f"{first} earlier …"] * bool(first) + [
        _cell(batches, i, outcome_in(partition, batches, i, mark)) for i in range(first, len(batches))
    ]
    if partition.startswith(TABLE):
        return f"{partition}{f' in {node}' if node else ''}, committed {mark}: " + (" ".join(cells) or "empty")
    where = f"{partition} on {node}" if node else f"{partition} without a leader"
    return f"{where}, HW {mark}, LSO {stable}: " + (" ".join(cells) or "empty")


def _cell(batches: list[dict[str, Any]], at: int, outcome: str) -> str:
    batch = batches[at]
    span = f"{batch['base']}" if batch["base"] == batch["last"] else f"{batch['base']}-{batch['last']}"
    if batch["kind"] != "data":
        return f"[{span} {batch['kind']} e{batch['epoch']}]"
    what = batch["decoded"] or " ".join(value for _, value in batch["records"])
    who = f" p{batch['pid']} e{batch['epoch']} s{batch['seq']}" if batch["pid"] >= 0 else ""
    return f"[{span} {what}{who}{' ' + outcome if outcome else ''}]"
