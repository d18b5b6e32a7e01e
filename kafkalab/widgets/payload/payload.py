"""A run as pictures need it: each event with a sentence and the changes it makes to the picture (version 1)."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, index_of, topic_of
from kafkalab.protocol.records import Batch
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.run.run import Run
from kafkalab.run.source import Source, run_of
from kafkalab.trace import Event, Frame
from kafkalab.widgets.payload.changes import (
    InSync,
    batch_shown,
    fault_changes,
    format_elected,
    group_changes,
    homes_of,
    storage_changes,
)
from kafkalab.widgets.payload.cluster_faults import sentence_of
from kafkalab.widgets.payload.database import SAYS, Tables, tables_of
from kafkalab.widgets.payload.field_meanings import MEANINGS, key_of
from kafkalab.widgets.payload.fields import about_frame, fields_of, format_contents, path_of
from kafkalab.widgets.payload.transactions import Transactions

VERSION = 1
CATEGORIES = ("transaction", "verification", "replication", "metadata")
ONGOING = TxnState.ONGOING.label
Op = list[Any]


def payload_of(source: Source) -> dict[str, Any]:
    """The payload of a finished run: nodes, frames, events with patches. It is plain JSON data."""
    return PayloadMaker(run_of(source)).payload()


class PayloadMaker:
    """Makes the rows of a payload. Times are counted from `began_ms`."""

    def __init__(self, run: Run, began_ms: int = 0) -> None:
        self.cast, self.trace, self.began_ms = run.cast, run.trace, began_ms
        self.leaders: dict[str, str] = {}
        self.transactions = Transactions(run.trace)
        self.partitions: list[str] = []
        self.in_sync = InSync(run)
        self.positions: dict[str, dict[str, int]] = {}
        self.states: dict[str, str] = {}  # by transactional id
        self.clients: dict[str, str] = {}  # the last that has used a transactional id
        self.batches: dict[int, dict[str, Any]] = {}
        self.tables = Tables()

    def _list_partitions(self) -> list[str]:
        """The scenario's data partitions; those of other topics, then the internal ones, if they hold anything."""
        data = [f"{t}-{i}" for t, n in self.cast.topics.items() for i in range(n)]
        written = {e.name for e in self.trace.events if e.kind == "append"}
        internal = {p for p in written if topic_of(p) in (TRANSACTION_TOPIC, OFFSETS_TOPIC)}
        made = (written - internal - {*data}) & {*self.cast.metadata.partitions}
        return data + sorted(made) + tables_of(self.trace) + sorted(internal, key=internal_order)

    def payload(self) -> dict[str, Any]:
        """Return the payload of the whole run."""
        self.transactions.add(self.trace.events, list(self.trace.frames.values()))
        self.partitions = self._list_partitions()
        events = [self._event(e) for e in self.trace.events]
        frames = {i: self._frame(f) for i, f in self.trace.frames.items()}
        return {
            **self._heads([self._node(n) for n in self.cast.nodes], [repr(f) for f in self.cast.faults]),
            "homes": homes_of(self.trace.events),
            "frames": frames,
            "events": events,
            "transactions": sorted({*self.transactions.events} - {""}),
            "meanings": meanings_of(frames),
        }

    def _heads(self, nodes: list[dict[str, str]], faults: list[str]) -> dict[str, Any]:
        """Return what is said of the run as a whole."""
        return {
            "version": VERSION,
            "title": self.trace.title,
            "profile": self.cast.rules.profile,
            "seed": self.cast.seed,
            "faults": faults,
            "nodes": nodes,
            "categories": list(CATEGORIES),
            "partitions": self.partitions,
            "internal": [p for p in self.partitions if p.startswith("__")],
            "charts": {"states": [s.label for s in list(TxnState)[:6]]},
            "initial": [],
        }

    def _at(self, time_ms: int) -> int:
        return max(0, time_ms - self.began_ms)

    def _node(self, name: str) -> dict[str, str]:
        if name in self.cast.brokers:
            return {"id": name, "kind": "broker", "label": name}
        return {"id": name, "kind": "controller" if name == "controller" else "client", "label": name}

    def _frame(self, frame: Frame) -> dict[str, Any]:
        return {
            "id": frame.id,
            "name": frame.name,
            "kind": frame.kind,
            "from": frame.sender,
            "to": frame.receiver,
            "category": frame.category,
            "sent": frame.sent_step,
            "at": self._at(frame.sent_ms),
            "received": frame.received_step if frame.received_step >= 0 else None,
            "received_at": self._at(frame.received_ms) if frame.received_ms >= 0 else None,
            "fate": frame.fate,
            "of": frame.of,
            "copy_of": frame.copy_of,
            "attempt": frame.attempt,
            "error": frame.error,
            "txn": self.transactions.frames[frame.id],
            "fields": fields_of(frame),
            "about": about_frame(frame),
        }

    def _event(self, event: Event) -> dict[str, Any]:
        category, stop, text, patch = self._describe(event)
        return {
            "step": event.step,
            "at": self._at(event.at_ms),
            "node": event.node,
            "kind": event.kind,
            "name": event.name,
            "cause": event.cause,
            "category": category,
            "stop": stop,
            "frame": event.frame,
            "txn": self.transactions.events[event.step],
            "text": text,
            "patch": patch,
        }

    def _describe(self, event: Event) -> tuple[str, bool, str, list[Op]]:
        """Return the category, whether the cursor stops here, the sentence, and the changes."""
        node, data = self._label(event.node), event.data
        match event.kind:
            case "send":
                return data.category, True, self._describe_send(data), []
            case "receive":
                return data.category, False, f"{node} receives {event.frame}.", self._taken_back(data)
            case "append":
                return self._describe_append(event)
            case "truncate":
                cut = data["offset"]
                text = f"{node} truncates {event.name} to offset {cut}: its leader never had what follows."
                return "replication", False, text, [["truncate", event.node, event.name, cut]]
            case "state":
                return self._state(event)
            case "crash":
                text = f"{node} crashes. Its logs stay; all else that it knew is gone."
                if event.node not in self.cast.brokers:
                    text = f"{node} crashes. All that it knew is gone.{self._left_open(event.node)}"
                return "transaction", True, text, [["node", event.node, "down"], *self._positions(event.node, {})]
            case "recover":
                return "transaction", True, f"{node} starts again and reads its logs.", [["node", event.node, "up"]]
            case "fault":
                return self._fault(event)
            case "timer":
                text = f"{node} gives up {data['request']} after {self._format_wait(event)} without an answer."
                return BY_NAME[data["request"]].category, True, text, []
            case "invoke":
                return "transaction", True, f"{node} calls {event.name}().", [self._call(event, f"{event.name}()")]
            case _:
                return self._describe_completion(event)

    def _format_wait(self, event: Event) -> str:
        """Return how long the request that times out has been under way: it has the same cause as its time-out."""
        for earlier in reversed(self.trace.events[: event.step]):
            if (earlier.kind, earlier.node, earlier.cause) == ("send", event.node, event.cause):
                waited_ms = event.at_ms - earlier.at_ms
                seconds = f"{waited_ms / 1000:.1f}".removesuffix(".0")
                return f"{waited_ms} ms" if waited_ms < 2000 else f"{seconds} seconds"
        return "too long"

    def _left_open(self, client: str) -> str:
        """Return a sentence that names the transactions of a crashed client that its coordinator holds open, or ""."""
        names = [name for name, state in self.states.items() if state == ONGOING and self.clients.get(name) == client]
        return f" It leaves the transaction of {', '.join(names)} open." if names else ""

    def _label(self, node: str) -> str:
        return self._node(node)["label"]

    def _describe_send(self, frame: Frame) -> str:
        parts = [f"{self._label(frame.sender)} sends {frame.id} to {self._label(frame.receiver)}"]
        if frame.attempt > 1 and frame.kind == "request":
            parts.append(f" (attempt {frame.attempt})")
        if frame.error:
            parts.append(f": {frame.error}")
        return "".join(parts) + "."

    def _describe_append(self, event: Event) -> tuple[str, bool, str, list[Op]]:
        batch: Batch = event.data
        leads = self.leaders.get(event.name) == event.node
        article = "an" if batch.control and batch.control.name == "ABORT" else "a"
        what = f"{article} {batch.control.name} marker" if batch.control else format_contents(event.name, batch)
        span = f"{batch.base_offset}" if len(batch.records) == 1 else f"{batch.base_offset} to {batch.last_offset}"
        verb = "appends" if leads else "replicates"
        text = f"{self._label(event.node)} {verb} {what} to {event.name} at offset {span}."
        shown = self.batches.get(id(batch))  # the same on each replica; the trace keeps the batch
        if shown is None:
            shown = self.batches[id(batch)] = batch_shown(event.name, batch)
        prepared = event.cause == -1
        category = "transaction" if leads and not prepared else "replication"
        return category, leads and not prepared, text, [["batch", event.node, event.name, shown]]

    def _state(self, event: Event) -> tuple[str, bool, str, list[Op]]:
        data, node = event.data, self._label(event.node)
        match event.name:
            case "watermark":
                return self._watermark(event)
            case "transaction":
                pending = f", on the way to {data['pending']}" if data["pending"] else ""
                text = f"{node} holds {data['transactional_id']} in {data['state']}{pending}."
                self.states[data["transactional_id"]] = data["state"]
                known = {k: data[k] for k in ("state", "pending", "producer_id")}
                known |= {"epoch": data["producer_epoch"], "partitions": list(data["partitions"]), "node": event.node}
                return "transaction", not data["pending"], text, [["txn", data["transactional_id"], known]]
            case "producer":
                known = {"state": data["state"], "producer_id": data["producer_id"], "epoch": data["producer_epoch"]}
                known["tid"] = data["transactional_id"] or ""
                self.clients[known["tid"]] = event.node
                return "transaction", False, f"{node}'s producer is {data['state']}.", [["client", event.node, known]]
            case "metadata":
                return self._metadata(event)
            case "database":
                return "transaction", True, f"{node}{SAYS}{data['does']}.", self.tables.changes(event)
            case "record skipped":
                return "metadata", False, f"{node} cannot read offset {data['offset']} of {data['partition']}.", []
            case "group":
                who = ", ".join(data["members"]) or "nobody"
                text = f"{node} holds group {data['group']} in {data['state']}, generation {data['generation']}: {who}."
                return "transaction", True, text, group_changes(event)
            case "member":
                where = ", ".join(data["partitions"]) or "nothing"
                text = f"{node} reads {where} as member {data['member_id']}, generation {data['generation']}."
                return "transaction", True, text, []
            case "offsets expired":
                where = ", ".join(data["partitions"]) or "none"
                return "transaction", True, f"{node} lets offsets of {data['group']} expire: {where}.", []
            case _:
                text = sentence_of(event, self._label) or f"{node} leads {data['partition']} now."
                return "transaction", True, text, storage_changes(event)

    def _watermark(self, event: Event) -> tuple[str, bool, str, list[Op]]:
        data = event.data
        partition, mark, stable = data["partition"], data["high_watermark"], data["last_stable_offset"]
        leads = self.leaders.get(partition) == event.node and event.at_ms > 0
        behind = f"; the last stable offset stays at {stable}" if stable < mark else " and the last stable offset too"
        text = f"All in-sync replicas have {partition} up to {mark}: the high watermark is {mark}{behind}."
        if topic_of(partition) == TRANSACTION_TOPIC:
            text = f"All in-sync replicas have {partition} up to {mark}."
        stop = leads and topic_of(partition) != TRANSACTION_TOPIC
        patch: list[Op] = [["hw", event.node, partition, mark], ["lso", event.node, partition, stable]]
        return "transaction" if leads else "replication", stop, text, patch

    def _metadata(self, event: Event) -> tuple[str, bool, str, list[Op]]:
        elected = format_elected(self.partitions, self.leaders, event.data["leaders"])
        self.leaders.update(event.data["leaders"])
        patch: list[Op] = [["leader", p, self.leaders.get(p, "")] for p in self.partitions]
        patch += self.in_sync.changes(event.data["version"], self.partitions)
        patch += [["roles", b, self._roles(b)] for b in self.cast.brokers]
        alive = ", ".join(self._label(b) for b in event.data["alive"])
        first = event.step == 0
        text = f"The controller announces: {'' if first else elected}alive are {alive}."
        return "transaction" if not first else "metadata", not first, text, patch

    def _taken_back(self, frame: Frame) -> list[Op]:
        if not getattr(frame.body, "empty", ()):
            return []
        return self.in_sync.taken_back(frame, self.trace.frames[frame.of], self.partitions)

    def _roles(self, broker: str) -> list[str]:
        led = [p for p in self.partitions if self.leaders.get(p) == broker]
        roles = ["transaction coordinator"] if any(topic_of(p) == TRANSACTION_TOPIC for p in led) else []
        roles += ["group coordinator"] if any(topic_of(p) == OFFSETS_TOPIC for p in led) else []
        return roles + [f"leader of {p}" for p in led if not p.startswith("__")]

    def _fault(self, event: Event) -> tuple[str, bool, str, list[Op]]:
        return "transaction", True, sentence_of(event, self._label), fault_changes(event)

    def _call(self, event: Event, last: str) -> Op:
        return ["client", event.node, {"last": last}]

    def _describe_completion(self, event: Event) -> tuple[str, bool, str, list[Op]]:
        data, node = event.data, self._label(event.node)
        if event.name == "poll":
            values = ", ".join(f"{r[2]}" for r in data["records"]) or "nothing"
            changes = [self._call(event, "poll()"), *self._positions(event.node, data["to"], data["isolation_level"])]
            return "transaction", True, f"{node}'s consumer gets {values}.", changes
        if event.name == "program":
            return "transaction", True, f"{node}'s program ends with {data['exception']}.", []
        ended = {"ok": "returns", "fail": f"fails with {data['error']}", "info": "times out: the outcome is unknown"}
        text = f"{event.name}() of {node} {ended[data['outcome']]}."
        return "transaction", True, text, [self._call(event, f"{event.name}() {ended[data['outcome']]}")]

    def _positions(self, node: str, now: dict[str, int], level: str = "") -> list[Op]:
        """Return what has changed of where a client reads next; -1 where it does not read any more."""
        known, self.positions[node] = self.positions.get(node, {}), dict(now)
        changed = [p for p in {**known, **now} if now.get(p) != known.get(p)]
        return [["position", partition, node, now.get(partition, -1), level] for partition in changed]


def internal_order(partition: str) -> tuple[bool, int]:
    """Return the place of an internal partition: those of transactions first."""
    return topic_of(partition) != TRANSACTION_TOPIC, index_of(partition)


def meanings_of(frames: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the meanings of the fields of the frames that were sent."""
    flown = {(frame["name"], path_of(name)) for frame in frames.values() for name, _ in frame["fields"]}
    return {key: MEANINGS[key] for key in sorted({key_of(*field) for field in flown})}
