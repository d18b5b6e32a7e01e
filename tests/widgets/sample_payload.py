"""A run made by hand that follows the payload contract: one TV2 transaction over three brokers, told event by event.

It stands in for a simulator, so that the widget is tested on its own: `sample()`, `sample(drop="EndTxn#1")`,
`sample(crash_after=...)`, `sample(transactions=80)` for many events.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

STATE, OFFSETS, ID = "__transaction_state-45", "__consumer_offsets-12", "payments-0"
BROKERS = ("b1", "b2", "b3")
LEADERS = {"in-0": "b2", "out-0": "b2", "out-1": "b3", STATE: "b1", OFFSETS: "b1"}
CATEGORIES = {
    "AddPartitionsToTxn": "verification",
    "ReplicaFetch": "replication",
    "Metadata": "metadata",
    "UpdateMetadata": "metadata",
}
ABOUT = {
    "FindCoordinator": "Asks any broker who coordinates this transactional id (or this group).",
    "InitProducerId": "Asks for a producer id and an epoch; older producers of this name are fenced from here on.",
    "Fetch": "Reads the records that lie ready.",
    "Produce": "Brings one batch to the leader of a partition.",
    "AddPartitionsToTxn": "The leader asks the coordinator to take this partition into the transaction.",
    "TxnOffsetCommit": "Hands the consumer's position to the group coordinator, pending until the marker comes.",
    "EndTxn": "The producer decides. Once PrepareCommit is replicated the outcome can no longer change.",
    "WriteTxnMarkers": "The coordinator tells a leader to write the marker that ends the transaction.",
    "ReplicaFetch": "A follower asks its leader for what is new.",
    "Metadata": "Asks who leads which partition.",
    "UpdateMetadata": "The controller tells a broker who leads what.",
}


class Run:
    """Events and frames so far, with the offsets and ids that the next ones need."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.frames: dict[str, dict[str, Any]] = {}
        self.count: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.at = 0
        self.down: set[str] = set()
        self.drop = ""
        self.txn: dict[str, Any] = {}
        self.seen: dict[str, int] = {}

    def event(self, node: str, kind: str, name: str, text: str, **more: Any) -> int:
        step = len(self.events)
        base = {
            "step": step,
            "at": self.at,
            "node": node,
            "kind": kind,
            "name": name,
            "cause": -1,
            "patch": [],
            "txn": ID,
        }
        self.events.append({**base, "category": "transaction", "stop": False, "frame": "", "text": text, **more})
        return step

    def send(self, name: str, sender: str, receiver: str, fields: dict[str, Any], cause: int, **more: Any) -> str:
        response = name.endswith("Response")
        api = name.removesuffix("Response")
        self.count[name] += 1
        id_ = f"{name}#{self.count[name]}"
        category = CATEGORIES.get(api, "transaction")
        text = f"{label(sender)} sends {name} to {label(receiver)}."
        stop = category in ("transaction", "verification", "metadata", "replication")
        step = self.event(sender, "send", name, text, cause=cause, category=category, stop=stop, frame=id_)
        self.frames[id_] = {
            "id": id_,
            "name": name,
            "kind": "response" if response else "request",
            "from": sender,
            "to": receiver,
            "category": category,
            "sent": step,
            "at": self.at,
            "received": None,
            "received_at": None,
            "fate": "in flight",
            "of": "",
            "copy_of": "",
            "attempt": 1,
            "error": "NONE" if response else "",
            "txn": ID,
            "fields": [[k, repr(v)] for k, v in fields.items()],
            "about": ("Answers " + api + ". " if response else "") + ABOUT[api],
            **more,
        }
        return id_

    def arrive(self, id_: str, after: int = 2) -> int:
        """The frame is received `after` ms later, or lost if it was to be dropped or the receiver is down."""
        frame = self.frames[id_]
        if id_ == self.drop:
            frame["fate"] = "dropped"
            text = f"{id_} is dropped on its way to {label(frame['to'])}."
            self.event(frame["from"], "fault", "Drop", text, cause=frame["sent"], stop=True, frame=id_)
            return -1
        self.at += after
        if frame["to"] in self.down:
            frame["fate"] = "lost"
            return -1
        text = f"{label(frame['to'])} receives {frame['name']}."
        step = self.event(
            frame["to"], "receive", frame["name"], text, cause=frame["sent"], category=frame["category"], frame=id_
        )
        frame.update(received=step, received_at=self.at, fate="delivered")
        return step

    def ask(
        self, name: str, sender: str, receiver: str, fields: dict[str, Any], cause: int = -1, **more: Any
    ) -> tuple[str, int]:
        id_ = self.send(name, sender, receiver, fields, cause, **more)
        return id_, self.arrive(id_, 1 if sender == receiver else 2)

    def answer(self, id_: str, cause: int, error: str = "NONE", **fields: Any) -> int:
        frame = self.frames[id_]
        more: dict[str, Any] = {"of": id_, "error": error, "attempt": frame["attempt"]}
        sent = {"error": error, **fields}
        _, step = self.ask(f"{frame['name']}Response", frame["to"], frame["from"], sent, cause, **more)
        return step

    def append(self, partition: str, cause: int, **more: Any) -> int:
        """Append at the leader, then real replication frames, then the high watermark moves."""
        leader = LEADERS[partition]
        base = self.ends[partition]
        batch: dict[str, Any] = {"base": base, "last": base, "kind": "data", "pid": -1, "epoch": -1, "seq": -1}
        batch |= {"txn": False, "records": [], "decoded": "", **more}
        batch["last"] = base + max(len(batch["records"]), 1) - 1
        self.ends[partition] = batch["last"] + 1
        where = f"{base}-{batch['last']}" if batch["last"] > base else f"{base}"
        what = f"the {batch['kind']} marker" if batch["kind"] != "data" else "a batch"
        text = f"{label(leader)} appends {what} to {partition} at offset {where}."
        step = self.event(
            leader, "append", partition, text, cause=cause, stop=True, patch=[["batch", leader, partition, batch]]
        )
        for follower in BROKERS:
            if follower == leader or follower in self.down:
                continue
            got, received = self.ask(
                "ReplicaFetch", follower, leader, {"replica_id": int(follower[1]), "offset": base}, -1
            )
            received = self.answer(got, received, batches=1)
            patch = [["batch", follower, partition, batch]]
            self.event(
                follower,
                "append",
                partition,
                f"{label(follower)} copies {partition} @{where}.",
                cause=received,
                category="replication",
                patch=patch,
            )
        if batch["txn"] and partition not in self.seen and batch["kind"] == "data":
            self.seen[partition] = base
        if batch["kind"] != "data":
            self.seen.pop(partition, None)
        end = batch["last"] + 1
        lso = min(self.seen.get(partition, end), end)
        self.event(
            leader,
            "state",
            "high watermark",
            f"All in-sync replicas of {partition} have offset {where}: the high watermark is {end}.",
            cause=step,
            stop=True,
            patch=[["hw", leader, partition, end], ["lso", leader, partition, lso]],
        )
        return len(self.events) - 1

    def move(self, state: str, cause: int, **more: Any) -> int:
        """The coordinator appends the transaction's new record; when it is replicated, the state changes."""
        new = {**self.txn, "state": state, "pending": "", **more}
        before = self.txn["state"]
        pending = {**self.txn, "pending": state}
        text = f"The coordinator decides to move {ID} from {before} to {state}; it is not durable yet."
        step = self.event("b1", "state", "pending", text, cause=cause, stop=True, patch=[["txn", ID, pending]])
        inside = ", ".join(new["partitions"])
        decoded = f"{ID}: {state}, pid {new['producer_id']}, epoch {new['epoch']}" + (
            f", {{{inside}}}" if inside else ""
        )
        step = self.append(STATE, step, decoded=decoded, records=[[ID, state]])
        self.txn = new
        text = f"{ID} is now {state}."
        return self.event("b1", "state", state, text, cause=step, stop=True, patch=[["txn", ID, dict(new)]])

    def client(self, state: str, last: str, kind: str = "invoke", cause: int = -1) -> int:
        patch = [
            ["client", "app", {"state": state, "producer_id": 1000, "epoch": self.txn.get("epoch", 0), "last": last}]
        ]
        text = f"The application calls {last}." if kind == "invoke" else f"{last} returns."
        return self.event("app", kind, last, text, cause=cause, stop=True, patch=patch)


def label(node: str) -> str:
    return node


def produce(s: Run, partition: str, seq: int, values: list[str], cause: int) -> None:
    records = [[f"k{i}", v] for i, v in enumerate(values, 1)]
    leader, epoch = LEADERS[partition], s.txn["epoch"]
    fields = {"transactional_id": ID, "acks": -1, "timeout_ms": 30000}
    fields |= {"batches": {partition: {"producer_id": 1000, "producer_epoch": epoch, "base_sequence": seq}}}
    id_, step = s.ask("Produce", "app", leader, fields, cause)
    add_partition(s, leader, partition, step)
    step = s.append(partition, step, pid=1000, epoch=epoch, seq=seq, txn=True, records=records)
    s.answer(id_, step, base_offset=s.ends[partition] - len(values))


def add_partition(s: Run, leader: str, partition: str, cause: int) -> None:
    fields = {"transactional_id": ID, "producer_id": 1000, "producer_epoch": s.txn["epoch"], "partitions": [partition]}
    id_, step = s.ask("AddPartitionsToTxn", leader, "b1", fields, cause)
    step = s.move("Ongoing", step, partitions=sorted({*s.txn["partitions"], partition}))
    s.answer(id_, step)


def start(s: Run) -> None:
    step = s.client("UNINITIALIZED", "init_transactions()")
    id_, got = s.ask("FindCoordinator", "app", "b2", {"key": ID, "key_type": "TRANSACTION"}, step)
    step = s.answer(id_, got, node_id=1)
    id_, got = s.ask("InitProducerId", "app", "b1", {"transactional_id": ID, "transaction_timeout_ms": 60000}, step)
    s.txn = {"state": "Empty", "pending": "", "producer_id": 1000, "epoch": 0, "partitions": [], "node": "b1"}
    step = s.append(STATE, got, decoded=f"{ID}: Empty, pid 1000, epoch 0", records=[[ID, "Empty"]])
    s.event("b1", "state", "Empty", f"{ID} is known: Empty.", cause=step, stop=True, patch=[["txn", ID, dict(s.txn)]])
    step = s.answer(id_, step, producer_id=1000, producer_epoch=0)
    s.client("READY", "init_transactions()", "complete", step)


def transaction(s: Run, number: int, crash_b2: bool) -> None:
    epoch = s.txn["epoch"]
    step = s.client("IN_TRANSACTION", "begin_transaction()")
    id_, got = s.ask("Fetch", "app", "b2", {"isolation_level": "read_committed", "in-0": 3 * number}, step)
    step = s.answer(id_, got, records=3)
    produce(s, "out-0", 2 * number, ["coffee", "tea"], step)
    produce(s, "out-1", number, ["juice"], step)
    step = s.client("IN_TRANSACTION", "send_offsets_to_transaction()")
    fields = {"transactional_id": ID, "group_id": "bar", "producer_id": 1000, "producer_epoch": epoch, "in-0": 3}
    id_, step = s.ask("TxnOffsetCommit", "app", "b1", fields, step)
    add_partition(s, "b1", OFFSETS, step)
    more: dict[str, Any] = {"decoded": f"bar in-0: {3 * number + 3}", "records": [["bar in-0", str(3 * number + 3)]]}
    step = s.append(OFFSETS, step, pid=1000, epoch=epoch, seq=number, txn=True, **more)
    s.answer(id_, step)
    step = s.client("COMMITTING_TRANSACTION", "commit_transaction()")
    fields = {"transactional_id": ID, "producer_id": 1000, "producer_epoch": epoch, "committed": True}
    id_, got = s.ask("EndTxn", "app", "b1", fields, step)
    if got < 0:
        s.at += 100
        id_, got = s.ask("EndTxn", "app", "b1", fields, step, attempt=2)
    step = s.move("PrepareCommit", got, epoch=epoch + 1)
    response = s.send(
        "EndTxnResponse",
        "b1",
        "app",
        {"error": "NONE", "producer_id": 1000, "producer_epoch": epoch + 1},
        step,
        of=id_,
        error="NONE",
    )
    if crash_b2:
        crash(s, "b2")
    marks = {"b2": ["out-0"], "b3": ["out-1"], "b1": [OFFSETS]}
    sent = [
        s.send(
            "WriteTxnMarkers",
            "b1",
            b,
            {"producer_id": 1000, "producer_epoch": epoch + 1, "transaction_result": True, "partitions": ps},
            step,
        )
        for b, ps in marks.items()
    ]
    done = s.arrive(response)
    s.client("READY", "commit_transaction()", "complete", done)
    last = step
    for one in sent:
        got = s.arrive(one, 1)
        if got < 0:
            continue
        for partition in marks[s.frames[one]["to"]]:
            records = [["COMMIT", ""]]
            last = s.append(partition, got, kind="COMMIT", pid=1000, epoch=epoch + 1, txn=True, records=records)
        last = s.answer(one, last)
    if not crash_b2:
        s.move("CompleteCommit", last, partitions=[])


def crash(s: Run, node: str) -> None:
    s.down.add(node)
    s.event(node, "crash", "Crash", f"{label(node)} crashes.", stop=True, category="", patch=[["node", node, "down"]])
    roles = [
        "transaction coordinator of payments-0",
        f"leader of {STATE}",
        f"leader of {OFFSETS}",
        "leader of in-0",
        "leader of out-0",
    ]
    patch: list[Any] = [
        ["roles", node, []],
        ["roles", "b1", roles],
        ["leader", "in-0", "b1"],
        ["leader", "out-0", "b1"],
    ]
    for partition in ("in-0", "out-0"):
        patch += [
            ["hw", "b1", partition, s.ends[partition]],
            ["lso", "b1", partition, s.seen.get(partition, s.ends[partition])],
        ]
    s.event(
        "controller",
        "state",
        "election",
        "The controller makes b1 the leader of in-0 and out-0.",
        stop=True,
        patch=patch,
    )


def sample(
    drop: str = "", crash_b2: bool = False, transactions: int = 1, faults: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The payload of the run: about 250 events for one transaction."""
    s = Run()
    s.drop = drop
    s.ends["in-0"] = 3
    start(s)
    for number in range(transactions):
        transaction(s, number, crash_b2)
    orders = [["k1", "coffee"], ["k2", "tea"], ["k3", "juice"]]
    batch = {"base": 0, "last": 2, "kind": "data", "pid": -1, "epoch": -1, "seq": -1, "txn": False}
    batch |= {"records": orders, "decoded": ""}
    initial: list[Any] = [["node", n, "up"] for n in ("app", *BROKERS, "controller")]
    initial += [
        ["roles", "b1", ["transaction coordinator of payments-0", "group coordinator of bar"]],
        ["roles", "b2", ["leader of in-0", "leader of out-0"]],
        ["roles", "b3", ["leader of out-1"]],
    ]
    initial += [["leader", p, n] for p, n in LEADERS.items()]
    for broker in BROKERS:
        initial += [["batch", broker, "in-0", batch], ["hw", broker, "in-0", 3], ["lso", broker, "in-0", 3]]
    nodes = [{"id": "app", "kind": "client", "label": "app"}]
    nodes += [{"id": b, "kind": "broker", "label": label(b)} for b in BROKERS]
    nodes += [{"id": "controller", "kind": "controller", "label": "controller"}]
    states = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"]
    return {
        "version": 1,
        "title": "A full commit",
        "profile": "4.x/TV2",
        "seed": 1,
        "faults": list(faults) or ([f"Drop({drop!r})"] if drop else []),
        "nodes": nodes,
        "internal": [STATE, OFFSETS],
        "partitions": ["in-0", "out-0", "out-1", STATE, OFFSETS],
        "charts": {"states": states},
        "frames": s.frames,
        "events": s.events,
        "initial": initial,
        "transactions": [ID],
        "meanings": {"version": "The version of this API."},
    }
