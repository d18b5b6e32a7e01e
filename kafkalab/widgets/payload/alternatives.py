"""The run of one of four machines as a picture needs it: rows of frames and events, logs, and where each moment is."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafkalab.alternatives.presses import MOMENTS, SHARED, Transfer, run_shared_press
from kafkalab.alternatives.world import Entry
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, topic_of
from kafkalab.trace import Event
from kafkalab.widgets.payload.payload import payload_of

END = "end"
PLACES = (*MOMENTS, END)
KAFKA_FRAMES = ("Produce", "EndTxn", "WriteTxnMarkers")
REPEATED = 4
"""The number of first and of last frames that are drawn of a client that tries again."""
RECORDS = ("update", "proposal")
"""The kinds of a model's entries that the transaction writes; the others say how far it has come."""
SIGN = {"commit": "✓", "abort": "✕"}
Cell = list[str]
Panel = dict[str, Any]
Row = dict[str, Any]


@cache
def panel_of(model: str, press: str, again: bool) -> Panel:
    """The panel of one machine under a shared press: plain data.

    A row has `step`, `at` (ms), `kind` (frame, append, state, crash, recover), `from`, `to`, `label`, `fate` and
    `text`, a sentence. `places` says for each of `PLACES` the step up to which it is shown, and whether it ever came.
    """
    transfer = run_shared_press(model, press, again)
    rows = rows_of(transfer)
    nodes = [{"id": n, "role": _role(transfer, n)} for n in transfer.nodes]
    ends = {name: f"{name} {state}" for name, state in transfer.parts.items()}
    return {
        "model": model,
        "nodes": nodes,
        "rows": rows,
        "places": _places(transfer, rows),
        "logs": {place: _logs(transfer, step) for place, (step, _) in _places(transfer, rows).items()},
        "down": {place: _down(transfer, step) for place, (step, _) in _places(transfer, rows).items()},
        "parts": [[ends[name], state] for name, state in transfer.parts.items()],
        "told": f"the client: {transfer.told}",
    }


def rows_of(transfer: Transfer) -> list[Row]:
    """The run's events that are drawn, each as a row: see `panel_of`."""
    return _kafka_rows(transfer) if transfer.cluster else [row for e in transfer.trace.events if (row := _row(e))]


def _role(transfer: Transfer, node: str) -> str:
    if transfer.world is not None:
        return transfer.world.processes[node].role
    return "client" if node == "app" else {"b3": "coordinator", "b1": "leader", "b2": "leader"}[node]


def _places(transfer: Transfer, rows: list[Row]) -> dict[str, tuple[int, bool]]:
    """The step that each place shows, crashes that follow at once included; a moment that never came shows the last."""
    found: dict[str, tuple[int, bool]] = {}
    step = 0
    for place in MOMENTS:
        came = place in transfer.moments
        if came:
            step = max(step, transfer.moments[place])
            while step + 1 < len(transfer.trace.events) and transfer.trace.events[step + 1].kind == "crash":
                step += 1
        found[place] = (step, came)
    found[END] = (rows[-1]["step"] if rows else 0, True)
    return found


def _down(transfer: Transfer, step: int) -> list[str]:
    """Return the nodes that are down at a step."""
    down: dict[str, bool] = {}
    for e in transfer.trace.events[: step + 1]:
        if e.kind in ("crash", "recover"):
            down[e.node] = e.kind == "crash"
    return [node for node, yes in down.items() if yes]


def _row(e: Event) -> Row | None:
    """The row of a model's event; None for one that is not drawn: an arrival is the end of its frame."""
    row: Row = {"step": e.step, "at": e.at_ms, "kind": e.kind, "from": e.node, "to": "", "fate": "", "label": e.name}
    match e.kind:
        case "send":
            to, fate = e.data.receiver, e.data.fate
            says = "".join(f" {value}" for name, value in e.data.body.items() if name in ("decision", "vote", "change"))
            text = f"{e.node} sends {e.frame} to {to}{' :' if says else ''}{says}".replace(" :", ":")
            text += "; it is lost." if fate == "lost" else "."
            row |= {"kind": "frame", "to": to, "label": e.frame + says, "fate": fate, "text": text}
            row["dashed"] = e.data.kind == "response"
        case "append":
            row |= {"label": _entry(e.data), "text": f"{e.node} logs {_entry(e.data)}."}
        case "truncate":
            row |= {"label": "truncates", "text": f"{e.node} discards what its leader never had: {e.data['gone'][0]}."}
        case "state":
            row |= {"text": f"{e.node} {e.data['says']}."}
        case "crash":
            row |= {"label": "crashes", "text": f"{e.node} crashes; its log stays."}
        case "recover":
            row |= {"label": "starts again", "text": f"{e.node} starts again and reads its log."}
        case _:
            return None
    return row


def _entry(entry: Entry) -> str:
    if entry.kind == "proposal":
        return f"proposal {entry.txn}"
    return entry.says if entry.kind in ("update", "epoch") or entry.txn else entry.kind


def _kafka_rows(transfer: Transfer) -> list[Row]:
    """The same of a cluster: frames of data, of the decision and of markers, and what leaders append."""
    payload = payload_of(transfer.run)
    rows: list[Row] = []
    for e in payload["events"][transfer.run.start + 1 :]:
        row: Row = {"step": e["step"], "at": e["at"], "kind": e["kind"], "from": e["node"], "to": "", "fate": ""}
        row |= {"text": e["text"], "label": e["name"]}
        name = e["name"].removesuffix("Response")
        if e["kind"] == "send" and name in KAFKA_FRAMES:
            frame = payload["frames"][e["frame"]]
            row |= {"kind": "frame", "to": frame["to"], "label": e["frame"], "fate": frame["fate"]}
            row["dashed"] = frame["kind"] == "response"
        elif e["kind"] == "append" and e["category"] == "transaction":
            if topic_of(e["name"]) not in ("accounts", TRANSACTION_TOPIC):
                continue
            row["label"] = _kafka_label(transfer.trace.events[e["step"]])
        elif e["kind"] == "state" and e["name"] == "transaction" and e["stop"]:
            row["label"] = f"{transfer.trace.events[e['step']].data['state']} is replicated"
        elif e["kind"] in ("crash", "recover"):
            row["label"] = "crashes" if e["kind"] == "crash" else "starts again"
        elif e["kind"] == "state" and e["name"] == "metadata" and e["node"] == "controller":
            row |= {"label": "the controller elects", "from": ""}
        else:
            continue
        if e["kind"] == "send" and payload["frames"][e["frame"]]["error"] not in ("", "NONE"):
            row["label"] += " " + payload["frames"][e["frame"]]["error"]
        rows.append(row)
    return _without_repetitions(rows)


def _without_repetitions(rows: list[Row]) -> list[Row]:
    """The rows without what a client that tries again sends and gets between its first tries and its last one."""
    found: list[Row] = []
    alike: list[Row] = []
    for row in [*rows, None]:
        if row is not None and row["kind"] == "frame" and (not alike or _api(row) == _api(alike[0])):
            alike.append(row)
            continue
        left_out = alike[REPEATED:-REPEATED]
        if left_out:
            first = left_out[0]
            says = f"… {len(left_out)} more tries and answers, up to {left_out[-1]['at']} ms"
            found += [*alike[:REPEATED], {**first, "kind": "more", "to": "", "label": says, "text": says}]
            alike = alike[-REPEATED:]
        found += alike
        alike = [row] if row is not None and row["kind"] == "frame" else []
        if row is not None and not alike:
            found.append(row)
    return found


def _api(row: Row) -> str:
    return str(row["label"]).partition("#")[0].removesuffix("Response")


def _kafka_label(e: Event) -> str:
    batch = e.data
    if batch.control is not None:
        return str(batch.control.name)
    value = batch.records[0].value
    state = getattr(getattr(value, "state", None), "label", "")
    return state or (str(value) if isinstance(value, str) else "removed")


def _logs(transfer: Transfer, step: int) -> list[list[Any]]:
    """Each log at a step: its name, and its entries with the kind of cell that they are. Of Kafka the leaders' logs.

    A record is "open" until its log has the decision, then "commit" or "abort"; an entry of another kind is "plain".
    """
    if transfer.cluster is not None:
        return _kafka_logs(transfer, step)
    logs: dict[str, list[Cell]] = {}
    for e in transfer.trace.events[: step + 1]:
        cells = logs.setdefault(e.node, []) if e.kind == "append" else logs.get(e.node, [])
        if e.kind == "append" and isinstance(e.data, Entry):
            _decide(cells, e.data.kind)
            cells.append([_entry(e.data), "open" if e.data.kind in RECORDS else _cell(e.data.kind)])
        elif e.kind == "truncate":
            del cells[e.data["offset"] :]
        elif e.kind == "state" and e.name == "delivered":
            _decide(cells, "commit")
        elif e.kind == "recover" and transfer.model == "MVCC":
            _decide(cells, "abort")
    return [[name, cells] for name, cells in sorted(logs.items())]


def _kafka_logs(transfer: Transfer, step: int) -> list[list[Any]]:
    """The leaders' logs by offset: what a new leader has of its predecessor's is there once."""
    logs: dict[str, dict[int, Cell]] = {}
    led: dict[str, str] = {}
    for e in transfer.trace.events[: step + 1]:
        if e.kind == "state" and e.name == "metadata":
            led |= e.data["leaders"]
        elif e.kind == "append" and led.get(e.name) == e.node and topic_of(e.name) in ("accounts", TRANSACTION_TOPIC):
            label = _kafka_label(e)
            name = "payments-0" if topic_of(e.name) == TRANSACTION_TOPIC else e.name
            if label not in ("Empty", "removed"):
                log = logs.setdefault(name, {})
                _decide([log[offset] for offset in sorted(log)], _cell(label))
                record = e.data.control is None and name == e.name
                log[e.data.base_offset] = [label, "open" if record else _cell(label)]
    return [[name, [cells[offset] for offset in sorted(cells)]] for name, cells in sorted(logs.items())]


def _cell(label: str) -> str:
    """Return the kind of cell of an entry that is no record: of a decision, a marker, or something else."""
    return next((kind for kind in SIGN if label.lower().endswith(kind)), "plain")


def _decide(cells: list[Cell], decision: str) -> None:
    """Say of the records that are open what became of them, if `decision` is one."""
    if decision in SIGN:
        for cell in cells:
            if cell[1] == "open":
                cell[:] = [f"{cell[0]} {SIGN[decision]}", decision]


def words_of(press: str) -> str:
    """The sentence of a shared press."""
    return next(one.says for one in SHARED if one.name == press)
