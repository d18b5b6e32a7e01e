"""The chapters of a run: steps with names, such as "begin", "first write", "decision", derived from its events."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from kafkalab.faults.node import Crash, Restart
from kafkalab.faults.registry import TYPES
from kafkalab.widgets.payload.text import Payload

CALLS = {
    "init_transactions": "init",
    "begin_transaction": "begin",
    "send_offsets_to_transaction": "offsets",
}
"""The name of the chapter that a client's call begins."""
ENDS = {"commit_transaction": "commit", "abort_transaction": "abort"}
"""The name of the chapter that the EndTxn request of this call begins."""
REQUESTS = {
    **dict.fromkeys(("OffsetFetch", "ListOffsets", "Fetch"), "read"),
    **dict.fromkeys(("TxnOffsetCommit", "OffsetCommit", "AddOffsetsToTxn"), "offsets"),
    **dict.fromkeys(("JoinGroup", "ConsumerGroupHeartbeat"), "join"),
    "InitProducerId": "init",
}
"""The name of the chapter that a client's request begins."""
STATES = {
    "PrepareCommit": "decision",
    "PrepareAbort": "decision to abort",
    "CompleteCommit": "complete",
    "CompleteAbort": "complete",
}
"""The name of the chapter that a transactional id's new state begins, once every in-sync replica has it."""
LIKE_THE_FIRST = (
    "read", "first write", "offsets", "commit", "abort", "decision", "decision to abort", "markers", "complete"
)  # fmt: skip
"""Chapters that a client's further transactions do not begin again: "begin 2" stands for them."""
OF_A_TRANSACTION = ("AddPartitionsToTxn", "AddOffsetsToTxn", "Produce", "TxnOffsetCommit", "EndTxn")
FENCED = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "FENCED_INSTANCE_ID", "STALE_MEMBER_EPOCH")
NEW_MEMBER = "MEMBER_ID_REQUIRED"
"""The error that every new member of a group gets first: nothing out of the ordinary."""


def chapters_of(payload: Payload) -> list[dict[str, Any]]:
    """Return the chapters in order, each {"step", "name", "slug"}: where it begins, its name, and its name in a link.

    A name that several clients share is preceded by the client's; the second of a name has a number.
    """
    chapters = Chapters()
    chapters.add(payload, payload["events"])
    return chapters.list_chapters()


def _name_chapters(found: list[tuple[int, str, str]]) -> list[dict[str, Any]]:
    shared = Counter(name for name, who in {(name, who) for _, name, who in found})
    seen: Counter[str] = Counter()
    chapters = []
    for step, name, who in found:
        told = f"{who}: {name}" if who and shared[name] > 1 else name
        seen[told] += 1
        told += f" {seen[told]}" if seen[told] > 1 else ""
        chapters.append({"step": step, "name": told, "slug": slug_of(told)})
    return chapters


def slug_of(name: str) -> str:
    """Return how a link writes a chapter's name: "slow: first write" is "slow-first-write"."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")


class Chapters:
    """Reads events once, in as many parts as they come; `found` are steps, names and clients.

    Where no call of a client is seen, because it runs elsewhere, the first request of each transaction begins "begin".
    """

    def __init__(self) -> None:
        self.payload: Payload = {}
        self.labels: dict[str, str] = {}
        self.clients: list[str] = []
        self.found: list[tuple[int, str, str]] = []
        self.doing: dict[str, str] = {}
        self.ending: dict[str, str] = {}
        self.owners: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.leaders: dict[str, str] = {}
        self.known: Counter[tuple[str, str]] = Counter()
        self.under_way: dict[str, str] = {}
        self.repeats = False

    def list_chapters(self) -> list[dict[str, Any]]:
        """Return the chapters found by now: see `chapters_of`."""
        return _name_chapters(self.found)

    def add(self, payload: Payload, events: list[dict[str, Any]]) -> None:
        """Read `events`, which follow those that were read; `payload` has their frames and nodes."""
        if not self.payload:
            for op in payload["initial"]:
                self._note(op)
        self.payload = payload
        self.labels = {node["id"]: node["label"] for node in payload["nodes"]}
        self.clients = [node["id"] for node in payload["nodes"] if node["kind"] == "client"]
        for event in events:
            name, who = self._name_of(event) if event["stop"] else ("", "")
            for op in event["patch"]:
                self._note(op)
            if name:
                self._begin(event["step"], name, who)

    def _note(self, op: list[Any]) -> None:
        match op:
            case ["client", node, {"tid": tid}]:
                self.owners[tid] = node
            case ["txn", tid, known]:
                self.states[tid] = known["state"]
            case ["leader", partition, node] if node or partition in self.leaders:  # a new one has had none yet
                self.leaders[partition] = node

    def _begin(self, step: int, name: str, who: str) -> None:
        """Begin a chapter, unless the client is in it already, or goes through another transaction like its first."""
        if who and self.doing.get(who) == name:
            return
        self.doing[who] = name
        self.known[name, who] += 1
        if name not in LIKE_THE_FIRST or self.known[name, who] == 1:
            self.found.append((step, name, who))

    def _name_of(self, event: dict[str, Any]) -> tuple[str, str]:
        """Return the name of the chapter that an event begins, and whose it is; empty for none."""
        kind, node, name = event["kind"], event["node"], event["name"]
        self.repeats |= kind in ("fault", "crash", "timer")
        match kind:
            case "invoke":
                if name in ENDS:
                    self.ending[node] = ENDS[name]
                return CALLS.get(name, ""), node
            case "send":
                frame = self.payload["frames"][event["frame"]]
                return self._request(frame) if frame["kind"] == "request" else _response(frame, self.clients)
            case "state" if name == "chapter":
                return event["text"].partition(" begins: ")[2].rstrip("."), node
            case "state":
                return self._state(event)
            case "fault":
                return self._fault(event), ""
            case "crash" | "recover":
                return (Crash if kind == "crash" else Restart).words.chapter.format(node=self.labels[node]), ""
            case "timer":
                return "time-out", ""
            case "complete" if name == "program":
                return f"{self.labels[node]} ends", ""
        return "", ""

    def _request(self, frame: dict[str, Any]) -> tuple[str, str]:
        who, api = frame["from"], frame["name"]
        if api == "WriteTxnMarkers":
            return "markers", self.owners.get(frame["txn"], frame["txn"])
        if who not in self.clients:
            return "", ""
        if frame["attempt"] > 1:
            again, self.repeats = self.repeats, False
            return "sent again" if again else "", who
        if self._is_elsewhere() and api in OF_A_TRANSACTION and frame["txn"]:
            began, self.under_way[frame["txn"]] = self.under_way.get(frame["txn"]), api
            if began in (None, "EndTxn") and api != "EndTxn":
                return "begin", who
        if api == "Produce":
            return "" if self.doing.get(who) == "first write" else "first write" if frame["txn"] else "write", who
        return self.ending.get(who, "commit") if api == "EndTxn" else REQUESTS.get(api, ""), who

    def _is_elsewhere(self) -> bool:
        """Return True if clients run outside: of a live cluster, or before a running Kafka."""
        return bool(self.payload.get("live")) or self.payload.get("seed", 0) is None

    def _state(self, event: dict[str, Any]) -> tuple[str, str]:
        for op in event["patch"]:
            match op:
                case ["txn", tid, {"state": state, "pending": ""}] if self.states.get(tid) != state:
                    return STATES.get(state, ""), self.owners.get(tid, tid)
                case ["leader", partition, node] if self.leaders.get(partition, node) != node:
                    return "election", ""
                case ["group", _, {"state": "PreparingRebalance"}]:
                    return "rebalance", ""
        return "", ""

    def _fault(self, event: dict[str, Any]) -> str:
        what = "answer" if event["frame"].partition("#")[0].endswith("Response") else "request"
        title = TYPES[event["name"]].words.chapter
        return title.format(node=self.labels.get(event["node"], ""), what=what).lstrip()


def _response(frame: dict[str, Any], clients: list[str]) -> tuple[str, str]:
    if frame["to"] not in clients or frame["error"] in ("", "NONE", NEW_MEMBER):
        return "", ""
    return "fenced" if frame["error"] in FENCED else frame["error"], frame["to"]
