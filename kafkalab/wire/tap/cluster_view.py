"""The view of a cluster that its frames give: who leads what, what logs hold, in which state transactions are.

Only what an answer says, or what must have happened before it was sent, becomes an event. Followers' logs, and states
between two answers, are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.find_coordinator import TRANSACTION
from kafkalab.protocol.records import Batch, OtherRecords
from kafkalab.trace import Frame
from kafkalab.wire.learned_names import LearnedNames
from kafkalab.wire.tap.frames import Answer

Note = Callable[..., int]
FATAL = ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
IMPLICIT_ADD = 12
"""From this version of Produce on a transactional write adds its partition to the transaction (KIP-890)."""


class Knowledge:
    """`note` adds an event to the trace. `metadata` is what Metadata answers have said by now, `brokers` who is alive.
    """

    def __init__(self, names: LearnedNames, note: Note) -> None:
        self.names, self.note = names, note
        self.metadata = ClusterMetadata()
        self.brokers: dict[str, None] = {}
        self.profile = "4.x/TV1"
        self._bases: dict[str, set[int]] = {}
        self._marks: dict[str, tuple[int, int]] = {}
        self._unstable: dict[str, int] = {}
        self._txns: dict[str, dict[str, Any]] = {}
        self._producers: dict[tuple[str, str], dict[str, Any]] = {}
        self._coordinators: dict[str, str] = {}

    # names

    def learn_names(self, answer: Answer) -> None:
        """Learn the ids of topics, which other answers use instead of their names."""
        if answer.asked.api == "Metadata" and answer.values is not None:
            for topic in answer.values["topics"]:
                if topic["name"] is not None and "topic_id" in topic:
                    self.names.learn_topic(topic["name"], topic["topic_id"])

    # what a broker must have done before it answered

    def broker_did(self, request: Frame, body: Any) -> None:
        """Note what the answer to a request tells of the broker that sent it."""
        learn = getattr(self, f"_{request.name}", None)
        if learn is not None and hasattr(type(body), "__dataclass_fields__") and type(body).__name__ != "Unread":
            learn(request, body)

    def _ApiVersions(self, request: Frame, body: Any) -> None:
        if body.error is Error.NONE:
            self.profile = "4.x/TV2" if body.transaction_version >= 2 else "4.x/TV1"

    def _Metadata(self, request: Frame, body: Any) -> None:
        image = body.metadata
        self.brokers.update(dict.fromkeys(image.alive))
        found = {
            name: PartitionInfo(leader=i.leader, leader_epoch=i.leader_epoch, replicas=(i.leader,), isr=(i.leader,))
            for name, i in image.partitions.items()
            if i.leader
        }
        known = self.metadata
        if found.items() <= known.partitions.items() and image.alive == known.alive:
            return
        self.metadata = known.with_partitions(found, image.alive)
        changed = {n: i for n, i in found.items() if known.partitions.get(n) != i}
        data = {
            "version": self.metadata.version,
            "alive": list(image.alive),
            "leaders": {n: i.leader for n, i in changed.items()},
            "leader_epochs": {n: i.leader_epoch for n, i in changed.items()},
        }
        self.note(request.receiver, "state", "metadata", data, request.received_step)

    def _FindCoordinator(self, request: Frame, body: Any) -> None:
        if request.body.key_type == TRANSACTION and body.error is Error.NONE:
            self._coordinators[request.body.key] = body.node_id

    def _Produce(self, request: Frame, body: Any) -> None:
        written = []
        for partition, produced in body.partitions.items():
            batch = request.body.batches.get(partition)
            if produced.error is Error.NONE and batch is not None and not isinstance(batch, OtherRecords):
                written.append(partition)
                info = self.metadata.partitions.get(partition)
                epoch = info.leader_epoch if info else -1
                placed = batch.place(produced.base_offset, epoch)
                self._append(request.receiver, placed, partition, request)
                self._acknowledge(request, partition, placed)
        tid = request.body.transactional_id
        if tid and written and request.version >= IMPLICIT_ADD:
            self._ongoing(tid, written, request)

    def _append(self, node: str, batch: Batch, partition: str, request: Frame | None) -> None:
        bases = self._bases.setdefault(partition, set())
        if batch.base_offset >= 0 and batch.base_offset not in bases:
            bases.add(batch.base_offset)
            self.note(node, "append", partition, batch, request.received_step if request else -1)

    def _Fetch(self, request: Frame, body: Any) -> None:
        for partition, fetched in body.partitions.items():
            if fetched.error is not Error.NONE:
                continue
            for batch in fetched.batches:
                self._append(request.receiver, batch, partition, None)
            mark, stable = fetched.high_watermark, fetched.last_stable_offset
            if mark >= 0:
                self._watermark(request, partition, mark, stable if stable >= 0 else mark)

    def _acknowledge(self, request: Frame, partition: str, batch: Batch) -> None:
        """With acks=-1 the high watermark has passed the batch; the last stable offset stays where it is known to be.
        """
        if batch.in_transaction:
            self._unstable.setdefault(partition, batch.base_offset)
        mark, stable = self._marks.get(partition, (0, self._unstable.get(partition, 0)))
        if request.body.acks == -1 and batch.base_offset >= 0 and batch.last_offset >= mark:
            mark = batch.last_offset + 1
            self._watermark(request, partition, mark, stable if partition in self._unstable else mark)

    def _watermark(self, request: Frame, partition: str, mark: int, stable: int) -> None:
        if self._marks.get(partition) != (mark, stable):
            self._marks[partition] = (mark, stable)
            data = {"partition": partition, "high_watermark": mark, "last_stable_offset": stable}
            self.note(request.receiver, "state", "watermark", data, request.received_step)

    # transactions, as their coordinator must have them

    def _transaction(self, tid: str, request: Frame, **changes: Any) -> None:
        """Note a state of a transactional id, unless it is known already."""
        known = self._txns.get(tid, {"producer_id": -1, "producer_epoch": -1, "partitions": []})
        state = {**known, "transactional_id": tid, "pending": "", **changes}
        if state != known:
            self._txns[tid] = state
            node = self._coordinators.get(tid, request.receiver)
            self.note(node, "state", "transaction", state, request.received_step)

    def _ongoing(self, tid: str, partitions: list[str], request: Frame) -> None:
        known = self._txns.get(tid, {})
        before = known.get("partitions", []) if known.get("state") == "Ongoing" else []
        together = sorted({*before, *partitions})
        self._transaction(tid, request, state="Ongoing", partitions=together, **_identity(request.body))

    def _InitProducerId(self, request: Frame, body: Any) -> None:
        tid = request.body.transactional_id
        if tid and body.error is Error.NONE:
            self._coordinators[tid] = request.receiver
            known = {"producer_id": body.producer_id, "producer_epoch": body.producer_epoch}
            self._transaction(tid, request, state="Empty", partitions=[], **known)

    def _AddPartitionsToTxn(self, request: Frame, body: Any) -> None:
        tid, errors = request.body.transactional_id, getattr(body, "errors", {})
        added = [p for p, error in errors.items() if error is Error.NONE]
        if tid and added:
            self._ongoing(tid, added, request)

    def _EndTxn(self, request: Frame, body: Any) -> None:
        if body.error is Error.NONE:
            state = "PrepareCommit" if request.body.committed else "PrepareAbort"
            self._transaction(request.body.transactional_id, request, state=state, **_identity(request.body))

    # the producer in the client, as its frames show it

    def client_has(self, request: Frame, response: Frame) -> None:
        """Note what a client knows once it has an answer."""
        name, body, asked = request.name, response.body, request.body
        tid = getattr(asked, "transactional_id", None)
        if type(body).__name__ == "Unread" or (name != "InitProducerId" and not tid):
            return
        error = response.error
        if error in FATAL:
            self._producer(request, tid, "FATAL_ERROR")
        elif error != "NONE":
            return
        elif name == "InitProducerId":
            self._producer(request, tid, "READY" if tid else "UNINITIALIZED", body)
        elif name == "EndTxn":
            self._producer(request, tid, "READY", body)
        elif name in ("AddPartitionsToTxn", "AddOffsetsToTxn", "Produce", "TxnOffsetCommit"):
            self._producer(request, tid, "IN_TRANSACTION")

    def _producer(self, request: Frame, tid: str | None, state: str, given: Any = None) -> None:
        place = (request.sender, tid or "")
        known = self._producers.get(place, {"transactional_id": tid, "producer_id": -1, "producer_epoch": -1})
        now = {**known, **_identity(request.body), "state": state}
        if given is not None and getattr(given, "producer_id", -1) >= 0:
            now |= {"producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
        if now != known:
            self._producers[place] = now
            self.note(request.sender, "state", "producer", now)


def _identity(body: Any) -> dict[str, int]:
    """Producer id and epoch that a request names, or its first transactional batch."""
    batches = list(getattr(body, "batches", {}).values())
    source = batches[0] if batches else body
    found = getattr(source, "producer_id", -1)
    return {"producer_id": found, "producer_epoch": source.producer_epoch} if found >= 0 else {}
