"""Random scripts of raw requests: the same one for the same seed, mostly sensible, with wrong numbers now and then."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.api import USUAL
from tests.kafka.random_groups import GroupSteps
from tests.kafka.random_steps import (
    GROUPS,
    IDEMPOTENT,
    IDS,
    LATE_MS,
    PARTITIONS,
    SHORT_MS,
    TIMEOUT_MS,
    TOPICS,
)
from tests.kafka.script import Script

WEIGHTS = {
    "produce": 34, "produce_idempotent": 8, "produce_plain": 3, "end": 14, "init": 10, "add_partitions": 8,
    "verify": 4, "add_offsets": 4, "commit_offsets": 8, "fetch_offsets": 5, "commit_group_offsets": 2, "fetch": 8,
    "list_offsets": 4, "describe_transactions": 5, "describe_producers": 4, "list_transactions": 2, "write_markers": 3,
    "delete_records": 2, "produce_of_two": 2, "produce_broken": 2, "verify_several": 2, "retry_end": 3, "find": 1,
    "join": 2, "heartbeat": 3, "sync": 1, "leave": 1, "describe_groups": 2, "delete_offsets": 1, "delete_group": 1,
    "join_of_two": 2, "time_out": 2,
}  # fmt: skip
"""The weights of each kind of step."""


def random_script(seed: int, kafka: str = USUAL) -> Script:
    """Return the script of a seed: 10 to 30 steps, and then a look at everything they could have changed.

    It has the versions that this release of Kafka knows.
    """
    return _Writer(seed, kafka).script()


class _Writer(GroupSteps):
    """Every other kind of step, and the script."""

    def script(self) -> Script:
        for tid in (*IDS, IDEMPOTENT):
            self._init(tid, until=True)
        kinds, count = list(WEIGHTS), self.random.randint(10, 30)
        if self.member:
            self._join_first()
        if self.static:
            self._join_static()
        stops_at = self.random.randrange(count) if self.stops else -1
        for number, kind in enumerate(self.random.choices(kinds, [WEIGHTS[k] for k in kinds], k=count)):
            if number == stops_at:
                self._settle()
                self.steps.append({"stop": "clean" if self._has_deleted() else self.random.choice(("clean", "kill"))})
            if self.held and self.random.random() < 0.1:
                self.steps.append({"min_isr": {"t": self.random.choice((1, 2))}})
            getattr(self, f"_{kind}")()
        if self.held:
            self.steps += [{"min_isr": {"t": 1}}, {"settle": True}]
        self._look_around()
        script = {"name": f"random.{self.seed}", "topics": TOPICS, "steps": self.steps}
        return {**script, "producer_epochs": self.epochs} if self.epochs else script

    def _has_deleted(self) -> bool:
        """Return True if records are deleted: after a kill it is chance whether they are back."""
        return any(step.get("ask") == "DeleteRecords" for step in self.steps)

    # steps

    def _init(self, tid: str = "", until: bool = False, timeout_ms: int = TIMEOUT_MS) -> None:
        tid = tid or self._tid()
        name = f"p{len(self.steps)}"
        named = {"transactional_id": tid, "transaction_timeout_ms": timeout_ms}
        given: dict[str, Any] = {"transactional_id": None} if tid == IDEMPOTENT else named
        if not until and self._chance(0.4):
            given |= self._identity(tid)
        version = 5 if until else self._version("InitProducerId", 5)
        more = {"until": "NONE"} if until or ("producer_id" not in given and self._chance(0.9)) else {}
        if self.held:
            more = {"until": "NONE"} if until else {}
        self._ask("InitProducerId", f"coordinator of {tid}", version, given, **{"as": name}, **more)
        if until or more:
            self.named[tid] = name
            self._forget(tid)
        self._settle()

    def _forget(self, owner: str) -> None:
        self.sequences = {k: n for k, n in self.sequences.items() if k[0] != owner}

    def _time_out(self) -> None:
        """A transaction that takes too long, one or two requests of its producer, and a longer timeout."""
        if self.held:
            return
        tid = self._tid()
        self._init(tid, until=True, timeout_ms=SHORT_MS)
        given = {**self._transaction(tid), "partitions": self._partitions()}
        self._ask("AddPartitionsToTxn", f"coordinator of {tid}", 3, given)
        self.steps += [{"sleep": LATE_MS}, {"settle": True}]
        for kind in self.random.choices(("end", "produce", "add_offsets", "commit_offsets"), k=2):
            getattr(self, f"_{kind}")(tid)
        self._settle()
        self._init(tid, until=True)

    def _produce(self, tid: str = "") -> None:
        tid = tid or self._tid()
        identity, transactional = self._identity(tid), not self._chance(0.05)
        batches = {p: self._batch(tid, p, identity, transactional) for p in self._partitions()}
        tid_sent = None if self._chance(0.03) else tid
        self._send(batches, tid_sent, self._version("Produce", 12 if self.tv2 else 11))

    def _send(self, batches: dict[str, Any], tid: str | None, version: int) -> None:
        acks = -1 if tid is not None or self._chance(0.7) else 1
        self._ask("Produce", f"leader of {next(iter(batches))}", version, _request(tid, acks, batches))

    def _produce_idempotent(self) -> None:
        identity = self._identity(IDEMPOTENT)
        batches = {p: self._batch(IDEMPOTENT, p, identity, False) for p in self._partitions()}
        self._send(batches, None, self._version("Produce", 11))

    def _produce_plain(self) -> None:
        identity = {"producer_id": -1, "producer_epoch": -1}
        batch = {**self._batch("", "u-0", identity, self._chance(0.1)), "base_sequence": -1}
        self._send({"u-0": batch}, None, self._version("Produce", 11))

    def _produce_of_two(self) -> None:
        """One request with batches of two producers."""
        owners = self.random.sample((*IDS, IDEMPOTENT), 2)
        partitions = self.random.sample(PARTITIONS, 2)
        batches = {
            p: self._batch(o, p, self._identity(o), o != IDEMPOTENT) for o, p in zip(owners, partitions, strict=True)
        }
        tid = next(o for o in owners if o != IDEMPOTENT)
        self._ask("Produce", f"leader of {partitions[0]}", self._version("Produce", 11), _request(tid, -1, batches))

    def _produce_broken(self) -> None:
        """A batch that no producer writes: a marker, a wrong count, a negative sequence, acks of 2, no topic."""
        tid, partition = self._tid(), self.random.choice((*PARTITIONS, "nope-0"))
        batch = self._batch(tid, partition, self._identity(tid), True)
        wrong: dict[str, Any] = self.random.choice(
            ({"control": "ABORT"}, {"last_offset_delta": 5}, {"base_sequence": -1}, {}, {"transactional": False})
        )
        acks = self.random.choice((-1, -1, 1, 2))
        to = "b1" if partition == "nope-0" else f"leader of {partition}"
        self._ask("Produce", to, self._version("Produce", 11), _request(tid, acks, {partition: {**batch, **wrong}}))

    def _retry_end(self) -> None:
        """The same EndTxn twice, or once more with the other outcome."""
        tid, version = self._tid(), self._version("EndTxn", 5 if self.tv2 else 4)
        given = {**self._transaction(tid), "committed": self._chance(0.6)}
        again = {**given, "committed": given["committed"] == self._chance(0.8)}
        for one in (given, again):
            self._ask("EndTxn", f"coordinator of {tid}", version, one)
            self._settle()

    def _end(self, tid: str = "") -> None:
        tid = tid or self._tid()
        version, name = self._version("EndTxn", 5 if self.tv2 else 4), f"e{len(self.steps)}"
        given = {**self._transaction(tid), "committed": self._chance(0.6)}
        self._ask("EndTxn", f"coordinator of {tid}", version, given, **{"as": name})
        self._settle()
        if version >= 5 and self._chance(0.8):
            self.named[tid] = name
            self._forget(tid)

    def _add_partitions(self) -> None:
        tid = self._tid()
        partitions = [*self._partitions(), *(["nope-0"] if self._chance(0.05) else [])]
        given = {**self._transaction(tid), "partitions": partitions}
        version = self.random.choice((0, 1, 2, 3, 3, 3))
        self._ask("AddPartitionsToTxn", f"coordinator of {tid}", version, given)

    def _verify(self) -> None:
        tid = self._tid()
        given = {**self._transaction(tid), "partitions": self._partitions(), "verify_only": self._chance(0.7)}
        self._ask("AddPartitionsToTxn", f"coordinator of {tid}", self.random.choice((4, 5)), given)

    def _verify_several(self) -> None:
        """Two transactions in one request, as leaders ask."""
        one, two = (
            {**self._transaction(tid), "partitions": self._partitions(), "verify_only": self._chance(0.5)}
            for tid in IDS
        )
        self._ask("AddPartitionsToTxn", "coordinator of x", self.random.choice((4, 5)), {**one, "further": [two]})

    def _add_offsets(self, tid: str = "") -> None:
        tid = tid or self._tid()
        given = {**self._transaction(tid), "group_id": self._group()}
        self._ask("AddOffsetsToTxn", f"coordinator of {tid}", self._version("AddOffsetsToTxn", 3), given)

    def _commit_offsets(self, tid: str = "") -> None:
        tid, group = tid or self._tid(), self._group()
        self.values += 1
        member = self._describe_member(group) if self._chance(0.5 if self.member else 0.08) else {}
        more = {"u-0": self.values} if self._chance(0.2) else {"nope-0": 1} if self._chance(0.1) else {}
        given = {**self._transaction(tid), "offsets": {"t-0": self.values, **more}, **member}
        version = self._version("TxnOffsetCommit", 5 if self.tv2 else 4, 3 if member else 0)
        self._ask_group("TxnOffsetCommit", group, version, given)

    def _commit_group_offsets(self) -> None:
        self.values += 1
        group = self._group()
        member = self._describe_member(group) if self._chance(0.5 if self.member else 0.1) else {}
        given = {"offsets": {"t-0": self.values, "u-0": self.values}, **member}
        self._ask_group("OffsetCommit", group, self._version("OffsetCommit", 9), given)

    def _fetch_offsets(self) -> None:
        version = self._version("OffsetFetch", 9)
        stable = {"require_stable": self._chance(0.5)} if version >= 7 else {}
        partitions = None if version >= 2 and self._chance(0.3) else ["t-0", "u-0"]
        self._ask_group("OffsetFetch", self._group(), version, {"partitions": partitions, **stable})

    # reading

    def _fetch(self, partition: str = "", at: int = -1, isolation: str = "") -> None:
        partition = partition or self.random.choice(PARTITIONS)
        isolation = isolation or self.random.choice(("read_committed", "read_uncommitted"))
        at = self.random.choice((0, 0, 0, 1, 2, 5)) if at < 0 else at
        given: dict[str, Any] = {"isolation_level": isolation, "positions": {partition: at}, "max_wait_ms": 50}
        given |= self._known_epoch(partition)
        self._ask("Fetch", f"leader of {partition}", self._version("Fetch", 12), given)

    def _list_offsets(self) -> None:
        timestamp = self.random.choice((-1, -1, -2, -3, 0, self.values))
        version = self._version("ListOffsets", 7, 7 if timestamp == -3 else 2)
        isolation = self.random.choice(("read_committed", "read_uncommitted"))
        partition = self.random.choice(PARTITIONS)
        given = {"partitions": [partition], "timestamp": timestamp, "isolation_level": isolation}
        self._ask("ListOffsets", f"leader of {partition}", version, {**given, **self._known_epoch(partition)})

    def _describe_transactions(self) -> None:
        for tid in IDS:
            self._ask("DescribeTransactions", f"coordinator of {tid}", 0, {"transactional_ids": [tid]})

    def _describe_producers(self) -> None:
        for partition in PARTITIONS:
            self._ask("DescribeProducers", f"leader of {partition}", 0, {"partitions": [partition]})

    def _list_transactions(self) -> None:
        states = self.random.choice(([], ["Ongoing"], ["CompleteCommit", "CompleteAbort"], ["Empty"]))
        given: dict[str, Any] = {"state_filters": states}
        version = self._version("ListTransactions", 2)
        given |= {"transactional_id_pattern": self.random.choice((".*", "x", "[xy]"))} if version >= 2 else {}
        self._ask("ListTransactions", "coordinator of x", version, given)

    def _write_markers(self) -> None:
        tid = self._tid()
        partition = self.random.choice((*PARTITIONS, "offsets of g"))
        partitions = [partition, *self.random.sample((*PARTITIONS, "nope-0"), self.random.choice((0, 0, 1)))]
        row = {**self._identity(tid), "committed": self._chance(0.5), "partitions": list(dict.fromkeys(partitions))}
        row |= {"coordinator_epoch": self.random.choice((0, 0, 1)), "transaction_version": 2 if self.tv2 else 0}
        version = 2 if self.tv2 else self.random.choice((1, 2))
        to = "group coordinator of g" if partition == "offsets of g" else f"leader of {partition}"
        self._ask("WriteTxnMarkers", to, version, {"markers": [row]})
        self._settle()

    def _delete_records(self) -> None:
        given = {"offsets": {self.random.choice(PARTITIONS): self.random.choice((-1, 1, 2))}}
        version = self._version("DeleteRecords", 2, 1)
        self._ask("DeleteRecords", f"leader of {next(iter(given['offsets']))}", version, given)

    def _look_around(self) -> None:
        self._describe_transactions()
        self._describe_producers()
        for partition in PARTITIONS:
            for isolation in ("read_committed", "read_uncommitted"):
                self._fetch(partition, 0, isolation)
        for group in GROUPS:
            self._ask_group("OffsetFetch", group, 9, {"partitions": ["t-0", "u-0"]})
            self._ask("DescribeGroups", f"group coordinator of {group}", 5, {"groups": [group]})


def _request(tid: str | None, acks: int, batches: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a Produce request."""
    return {"transactional_id": tid, "acks": acks, "timeout_ms": 10_000, "batches": batches}
