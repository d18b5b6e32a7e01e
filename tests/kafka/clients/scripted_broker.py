"""A healthy broker that answers each request at once, but for the answers that a script names.

It has no log of transactions: its purpose is what a client does with an answer. It speaks the messages of
kafkalab.protocol, so that Java's client (behind `wire_server`) and kafkalab's own meet the same object.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import PartitionFetched
from kafkalab.protocol.messages.find_coordinator import FindCoordinator
from kafkalab.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkalab.protocol.messages.join_group import JoinedMember
from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST
from kafkalab.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkalab.protocol.messages.produce import PartitionProduced
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.records import Batch, ControlType, Record
from tests.kafka.clients.request_line import request_line
from tests.kafka.clients.script import Script

NODE = "b1"
FIRST_PRODUCER_ID = 1000
NEWEST = {"Produce": 12, "TxnOffsetCommit": 5, "OffsetCommit": 9, "OffsetFetch": 9}
"""The newest versions offered, where newer ones name topics by ids, which kafkalab's clients do not know (KIP-516)."""
UNSEEN = ("ApiVersions", "Metadata")
"""Requests that are not compared: Java sends them for each connection and in the background as well."""


@dataclass(slots=True)
class State:
    """The state that healthy answers depend on; an answer that the script names changes nothing of it."""

    ends: dict[str, int]
    producers: dict[str | None, tuple[int, int]] = field(default_factory=dict)
    next_id: int = FIRST_PRODUCER_ID
    generation: int = 0
    members: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: a response after `wait_ms`, nothing at all, or the end of the connection."""

    response: Any = None
    wait_ms: int = 0
    closes: bool = False


class ScriptedBroker:
    """One broker, leader and coordinator of everything. `log` has a row for each request that arrived."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.log: list[dict[str, Any]] = []
        self.logs = {p: _batches(rows) for p, rows in script.logs.items()}
        self._counts: dict[str, int] = {}
        self._state = State(ends={f"{t}-{i}": 0 for t, n in script.topics.items() for i in range(n)})
        self._failed_ms: float | None = None  # when the last error that the script names was answered
        self._failed_api = ""
        self._found = False  # whether the last request was a look-up that succeeded

    def answer(self, api: str, version: int, body: Any, now_ms: float) -> Answer:
        """Log the request and return its answer."""
        version = min(version, NEWEST.get(api, version))
        rule, before = self._rule(api, body), deepcopy(self._state)
        response = self._healthy(api, version, body)
        waits = api == "Fetch" and rule is None and _finds_nothing(response)
        if api not in UNSEEN and not waits:
            self._write_down(api, {"request": request_line(body), "version": version}, now_ms)
        if api not in UNSEEN:
            self._found = rule is None and api == "FindCoordinator"
        if rule is None:
            return Answer(response, body.max_wait_ms if waits else 0)
        self._state = before
        if "do" in rule:
            return Answer(closes=rule["do"] == "close")
        if api not in UNSEEN:
            self._failed_ms, self._failed_api = now_ms, api
        return Answer(with_error(response, Error[rule["error"]], rule.get("partition")))

    def _write_down(self, api: str, row: dict[str, Any], now_ms: float) -> None:
        """Log a request; of the retry of a failed one, and of look-ups before it, also how long they waited."""
        if self._failed_ms is not None and api in (self._failed_api, "FindCoordinator"):
            row["after_ms"] = now_ms - self._failed_ms
            row["around_look_up"] = api != self._failed_api or self.log[-1]["request"].startswith("FindCoordinator")
        if api != "FindCoordinator" or self._failed_api == api:
            self._failed_ms = None
        if not (api == "FindCoordinator" and self._found and self.log and self.log[-1]["request"] == row["request"]):
            self.log.append(row)  # else another thread of the client has looked up the same once more

    def _rule(self, api: str, body: Any) -> dict[str, Any] | None:
        """Return the script's answer to this request, if it names one; count the request."""
        key = f"{api} {body.key_type}" if isinstance(body, FindCoordinator) else api
        nth = self._counts[key] = self._counts.get(key, 0) + 1
        for rule in self.script.answers:
            chosen = rule.get("nth", 1)
            if rule["api"] not in (api, key):
                continue
            if chosen == "all" or nth in (chosen if isinstance(chosen, list) else [chosen]):
                return rule
        return None

    # healthy answers

    def _healthy(self, api: str, version: int, body: Any) -> Any:
        special: dict[str, Callable[[Any, int], dict[str, Any]]] = {
            "ApiVersions": lambda b, v: {"transaction_version": self.script.transaction_version},
            "Metadata": lambda b, v: {"metadata": self.metadata()},
            "FindCoordinator": lambda b, v: {"node_id": NODE},
            "InitProducerId": self._init_producer_id,
            "EndTxn": self._end_txn,
            "Produce": self._produce,
            "Fetch": self._fetch,
            "ListOffsets": self._list_offsets,
            "JoinGroup": self._join,
            "SyncGroup": lambda b, v: {
                "protocol_type": "consumer",
                "protocol_name": b.protocol_name or "range",
                "assignment": b.assignments.get(b.member_id, ()),
            },
            "OffsetFetch": self._offset_fetch,
            "AddPartitionsToTxn": lambda b, v: {"errors": dict.fromkeys(b.partitions, Error.NONE)},
            "TxnOffsetCommit": lambda b, v: {"errors": dict.fromkeys(b.offsets, Error.NONE)},
            "OffsetCommit": lambda b, v: {"errors": dict.fromkeys(b.offsets, Error.NONE)},
        }
        return BY_NAME[api].response(**(special[api](body, version) if api in special else {}))

    def metadata(self) -> ClusterMetadata:
        """Return the cluster: one broker, which leads everything."""
        info = PartitionInfo(leader=NODE, leader_epoch=0, replicas=(NODE,), isr=(NODE,))
        return ClusterMetadata(1, (NODE,), dict.fromkeys(self._state.ends, info))

    def _init_producer_id(self, body: Any, _version: int) -> dict[str, Any]:
        known = self._state.producers.get(body.transactional_id)
        if known is None or body.transactional_id is None:
            known = (self._state.next_id, -1)
            self._state.next_id += 1
        known = self._state.producers[body.transactional_id] = (known[0], known[1] + 1)
        return {"producer_id": known[0], "producer_epoch": known[1]}

    def _end_txn(self, body: Any, version: int) -> dict[str, Any]:
        if version < 5:
            return {}
        known = self._state.producers[body.transactional_id] = (body.producer_id, body.producer_epoch + 1)
        return {"producer_id": known[0], "producer_epoch": known[1]}

    def _produce(self, body: Any, _version: int) -> dict[str, Any]:
        produced = {}
        for partition, batch in body.batches.items():
            produced[partition] = PartitionProduced(
                error=Error.NONE, base_offset=self._state.ends[partition], log_start_offset=0
            )
            self._state.ends[partition] += len(batch.records)
        return {"partitions": produced}

    def _end(self, partition: str) -> int:
        batches = self.logs.get(partition, ())
        return batches[-1].last_offset + 1 if batches else 0

    def _fetch(self, body: Any, _version: int) -> dict[str, Any]:
        fetched = {}
        committed = body.isolation_level == "read_committed"
        for partition, position in body.positions.items():
            end, start = self._end(partition), self.script.log_start.get(partition, 0)
            stable = self.script.last_stable.get(partition, end)
            limit = stable if committed else end
            aborted = tuple(AbortedTxn(p, first, -1, -1) for p, first in self.script.aborted.get(partition, ()))
            outside = not start <= position <= end
            fetched[partition] = PartitionFetched(
                error=Error.OFFSET_OUT_OF_RANGE if outside else Error.NONE,
                high_watermark=-1 if outside else end,
                last_stable_offset=-1 if outside else stable,
                log_start_offset=-1 if outside else start,
                aborted_transactions=aborted if committed and not outside else None,
                batches=tuple(
                    b for b in self.logs.get(partition, ()) if position <= b.last_offset < limit and not outside
                ),
            )
        return {"partitions": fetched}

    def _list_offsets(self, body: Any, _version: int) -> dict[str, Any]:
        offsets = {}
        for partition in body.partitions:
            end = self._end(partition)
            stable = self.script.last_stable.get(partition, end)
            latest = stable if body.isolation_level == "read_committed" else end
            found = {EARLIEST: self.script.log_start.get(partition, 0), LATEST: latest}
            offsets[partition] = found.get(body.timestamp, -1)
        return {"offsets": offsets, "errors": dict.fromkeys(body.partitions, Error.NONE)}

    def _join(self, body: Any, _version: int) -> dict[str, Any]:
        if not body.member_id and body.group_instance_id is None:
            self._state.members += 1
            return {"error": Error.MEMBER_ID_REQUIRED, "member_id": f"member-{self._state.members}"}
        self._state.generation += 1
        member = body.member_id or "member-static"
        protocol, topics = next(iter(body.protocols.items()))
        return {
            "generation_id": self._state.generation,
            "protocol_type": "consumer",
            "protocol_name": protocol,
            "leader": member,
            "member_id": member,
            "members": (JoinedMember(member, body.group_instance_id, topics),),
        }

    def _offset_fetch(self, body: Any, _version: int) -> dict[str, Any]:
        asked = body.partitions if body.partitions is not None else tuple(self.script.committed)
        return {
            "offsets": {p: self.script.committed.get(p, -1) for p in asked},
            "errors": dict.fromkeys(asked, Error.NONE),
        }


def _finds_nothing(response: Any) -> bool:
    """Return whether a Fetch finds neither records nor an error: it waits, and says nothing about its client."""
    return not any(p.batches or p.error is not Error.NONE for p in response.partitions.values())


def _batches(rows: list[dict[str, Any]]) -> list[Batch]:
    """Build a log: rows with `values`, or with a `marker`, each of producer `pid` if it has one."""
    found: list[Batch] = []
    for row in rows:
        base = found[-1].last_offset + 1 if found else row.get("base", 0)
        marker, pid = row.get("marker"), row.get("pid", -1)
        found.append(
            Batch(
                records=tuple(Record(None, v) for v in row.get("values", [marker])),
                base_offset=base,
                leader_epoch=0,
                producer_id=pid,
                producer_epoch=0 if pid >= 0 else -1,
                base_sequence=-1 if marker or pid < 0 else base,
                transactional=pid >= 0,
                control=ControlType[marker] if marker else None,
                coordinator_epoch=0 if marker else -1,
            )
        )
    return found


def with_error(response: Any, error: Error, partition: str | None) -> Any:
    """Return the response with `error` for one partition, for all, or for the whole of it, as the message has it."""
    if isinstance(response, InitProducerIdResponse):
        return InitProducerIdResponse(error=error)
    if hasattr(response, "errors") and response.errors:
        if isinstance(response, OffsetFetchResponse) and partition is None:
            return replace(response, error=error)
        errors = {p: error if partition in (None, p) else e for p, e in response.errors.items()}
        changed = {"errors": errors}
        if hasattr(response, "offsets"):
            changed["offsets"] = {p: o if errors[p] is Error.NONE else -1 for p, o in response.offsets.items()}
        return replace(response, **changed)
    if hasattr(response, "partitions"):
        refused = {p: type(r)(error=error) for p, r in response.partitions.items() if partition in (None, p)}
        return replace(response, partitions={**response.partitions, **refused})
    blank = {"node_id": ""} if hasattr(response, "node_id") else {}
    return replace(response, error=error, **blank)
