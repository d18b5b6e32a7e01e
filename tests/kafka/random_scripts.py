"""Random scripts of raw requests: the same one for the same seed, mostly sensible, with wrong numbers now and then."""

from __future__ import annotations

from random import Random
from typing import Any

from kafkalab.protocol.messages.registry import BY_NAME
from tests.kafka.script import Script

TOPICS = {"t": 2, "u": 1}
PARTITIONS = ("t-0", "t-1", "u-0")
IDS = ("x", "y")
IDEMPOTENT = "i"
"""The name of a producer without transactions."""
OLDEST = {"Produce": 3, "Fetch": 4, "ListOffsets": 1, "OffsetCommit": 2, "OffsetFetch": 1, "DeleteRecords": 1}
"""Kafka 4 no longer takes older versions."""
NEWEST = {"TxnOffsetCommit": 5, "OffsetCommit": 9, "OffsetFetch": 9}
"""Newer versions are younger than Kafka 4.3, or name topics by id."""
SETTLE_MS = 300
"""After what is completed in the background, where something is held back that never completes."""
WEIGHTS = {
    "produce": 34, "produce_idempotent": 8, "produce_plain": 3, "end": 14, "init": 10, "add_partitions": 8,
    "verify": 4, "add_offsets": 4, "commit_offsets": 8, "fetch_offsets": 5, "commit_group_offsets": 2, "fetch": 8,
    "list_offsets": 4, "describe_transactions": 5, "describe_producers": 4, "list_transactions": 2, "write_markers": 3,
    "delete_records": 1,
}  # fmt: skip
"""How often each kind of step is taken."""


def random_script(seed: int) -> Script:
    """Return the script of a seed: 10 to 30 steps, and then a look at everything they could have changed."""
    return _Writer(seed).script()


class _Writer:
    """What the steps so far have made, as far as it can be known without their answers."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.seed = seed
        self.steps: list[dict[str, Any]] = []
        self.named: dict[str, str] = {}
        self.sequences: dict[tuple[str, str], int] = {}
        self.values = 0
        self.epochs = {"x": self.random.choice((32764, 32765, 32766))} if self.random.random() < 0.1 else {}
        self.held = self.random.random() < 0.1
        self.tv2 = self.random.random() < 0.6
        """Whether the producers of the script mostly speak as those of transaction.version 2."""

    def script(self) -> Script:
        for tid in (*IDS, IDEMPOTENT):
            self._init(tid, until=True)
        kinds = list(WEIGHTS)
        for kind in self.random.choices(kinds, [WEIGHTS[k] for k in kinds], k=self.random.randint(10, 30)):
            if self.held and self.random.random() < 0.1:
                self.steps.append({"min_isr": {"t": self.random.choice((1, 2))}})
            getattr(self, f"_{kind}")()
        if self.held:
            self.steps += [{"min_isr": {"t": 1}}, {"settle": True}]
        self._look_around()
        script = {"name": f"random.{self.seed}", "topics": TOPICS, "steps": self.steps}
        return {**script, "producer_epochs": self.epochs} if self.epochs else script

    # parts of steps

    def _ask(self, api: str, to: str, version: int, given: dict[str, Any], **more: Any) -> None:
        self.steps.append({"ask": api, "to": to, "with": given, "version": version, **more})

    def _version(self, api: str, usual: int = -1, least: int = 0) -> int:
        """Return the usual version mostly, else any that both sides know."""
        known = [v for v in BY_NAME[api].versions if max(OLDEST.get(api, 0), least) <= v <= NEWEST.get(api, v)]
        return usual if usual in known and self.random.random() < 0.75 else self.random.choice(known)

    def _settle(self) -> None:
        self.steps.append({"sleep": SETTLE_MS} if self.held else {"settle": True})

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _tid(self) -> str:
        return self.random.choice((*IDS, IDS[0]))

    def _identity(self, tid: str) -> dict[str, Any]:
        """Return producer id and epoch: the newest mostly, else of yesterday, of tomorrow, or somebody else's."""
        name = self.named[tid]
        change = self.random.choices(("", "-1", "+1", "other", "foreign"), (86, 5, 4, 3, 2))[0]
        if change == "foreign":
            return {"producer_id": 700_000_001, "producer_epoch": 0}
        if change == "other":
            name, change = self.named[self.random.choice((*IDS, IDEMPOTENT))], ""
        return {"producer_id": f"${name}.producer_id", "producer_epoch": f"${name}.producer_epoch{change}"}

    def _transaction(self, tid: str) -> dict[str, Any]:
        return {"transactional_id": tid, **self._identity(tid)}

    def _partitions(self) -> list[str]:
        return self.random.sample(PARTITIONS, self.random.choice((1, 1, 1, 2)))

    def _batch(self, owner: str, partition: str, identity: dict[str, Any], transactional: bool) -> dict[str, Any]:
        values = [f"v{self.values + n}" for n in range(self.random.choice((1, 1, 2, 3)))]
        self.values += len(values)
        expected = self.sequences.get((owner, partition), 0)
        kind = self.random.choices(("next", "again", "gap", "zero", "last"), (82, 7, 5, 4, 2))[0]
        wrong = {"again": max(0, expected - len(values)), "gap": expected + 1, "zero": 0, "last": 2**31 - 1}
        if kind == "next":
            self.sequences[owner, partition] = expected + len(values)
        sequence = {"base_sequence": wrong.get(kind, expected)}
        batch = {"values": values, "timestamp_ms": self.values, **identity, **sequence, "transactional": transactional}
        return batch

    # steps

    def _init(self, tid: str = "", until: bool = False) -> None:
        tid = tid or self._tid()
        name = f"p{len(self.steps)}"
        given: dict[str, Any] = {"transactional_id": None if tid == IDEMPOTENT else tid}
        if not until and self._chance(0.4):
            given |= self._identity(tid)
        version = 5 if until else self._version("InitProducerId", 5)
        more = {"until": "NONE"} if until or self._chance(0.6) else {}
        if self.held:
            more = {"until": "NONE"} if until else {}
        self._ask("InitProducerId", f"coordinator of {tid}", version, given, **{"as": name}, **more)
        if until or more:
            self.named[tid] = name
            self._forget(tid)
        self._settle()

    def _forget(self, owner: str) -> None:
        self.sequences = {k: n for k, n in self.sequences.items() if k[0] != owner}

    def _produce(self) -> None:
        tid = self._tid()
        identity, transactional = self._identity(tid), not self._chance(0.05)
        batches = {p: self._batch(tid, p, identity, transactional) for p in self._partitions()}
        tid_sent = None if self._chance(0.03) else tid
        self._send(batches, tid_sent, self._version("Produce", 12 if self.tv2 else 11))

    def _send(self, batches: dict[str, Any], tid: str | None, version: int) -> None:
        acks = -1 if tid is not None or self._chance(0.7) else 1
        given = {"transactional_id": tid, "acks": acks, "timeout_ms": 10_000, "batches": batches}
        self._ask("Produce", f"leader of {next(iter(batches))}", version, given)

    def _produce_idempotent(self) -> None:
        identity = self._identity(IDEMPOTENT)
        batches = {p: self._batch(IDEMPOTENT, p, identity, False) for p in self._partitions()}
        self._send(batches, None, self._version("Produce", 11))

    def _produce_plain(self) -> None:
        identity = {"producer_id": -1, "producer_epoch": -1}
        batch = {**self._batch("", "u-0", identity, self._chance(0.1)), "base_sequence": -1}
        self._send({"u-0": batch}, None, self._version("Produce", 11))

    def _end(self) -> None:
        tid = self._tid()
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

    def _add_offsets(self) -> None:
        tid = self._tid()
        given = {**self._transaction(tid), "group_id": "g"}
        self._ask("AddOffsetsToTxn", f"coordinator of {tid}", self._version("AddOffsetsToTxn", 3), given)

    def _commit_offsets(self) -> None:
        tid = self._tid()
        self.values += 1
        member = {"member_id": "nobody", "generation_id": 3} if self._chance(0.08) else {}
        given = {**self._transaction(tid), "group_id": "g", "offsets": {"t-0": self.values}, **member}
        version = self._version("TxnOffsetCommit", 5 if self.tv2 else 4, 3 if member else 0)
        self._ask("TxnOffsetCommit", "group coordinator of g", version, given)

    def _commit_group_offsets(self) -> None:
        self.values += 1
        given = {"group_id": "g", "offsets": {"t-0": self.values, "u-0": self.values}}
        self._ask("OffsetCommit", "group coordinator of g", self._version("OffsetCommit", 9), given)

    def _fetch_offsets(self) -> None:
        version = self._version("OffsetFetch", 9)
        stable = {"require_stable": self._chance(0.5)} if version >= 7 else {}
        given = {"group_id": "g", "partitions": ["t-0", "u-0"], **stable}
        self._ask("OffsetFetch", "group coordinator of g", version, given)

    def _fetch(self, partition: str = "", at: int = -1, isolation: str = "") -> None:
        partition = partition or self.random.choice(PARTITIONS)
        isolation = isolation or self.random.choice(("read_committed", "read_uncommitted"))
        at = self.random.choice((0, 0, 0, 1, 2, 5)) if at < 0 else at
        given = {"isolation_level": isolation, "positions": {partition: at}, "max_wait_ms": 50}
        self._ask("Fetch", f"leader of {partition}", 12, given)

    def _list_offsets(self) -> None:
        timestamp = self.random.choice((-1, -1, -2, -3, 0, self.values))
        version = self._version("ListOffsets", 7, 7 if timestamp == -3 else 2)
        isolation = self.random.choice(("read_committed", "read_uncommitted"))
        given = {"partitions": [self.random.choice(PARTITIONS)], "timestamp": timestamp, "isolation_level": isolation}
        self._ask("ListOffsets", f"leader of {given['partitions'][0]}", version, given)

    def _describe_transactions(self) -> None:
        for tid in IDS:
            self._ask("DescribeTransactions", f"coordinator of {tid}", 0, {"transactional_ids": [tid]})

    def _describe_producers(self) -> None:
        for partition in PARTITIONS:
            self._ask("DescribeProducers", f"leader of {partition}", 0, {"partitions": [partition]})

    def _list_transactions(self) -> None:
        states = self.random.choice(([], ["Ongoing"], ["CompleteCommit", "CompleteAbort"], ["Empty"]))
        given = {"state_filters": states, "transactional_id_pattern": ".*"}
        self._ask("ListTransactions", "coordinator of x", 2, given)

    def _write_markers(self) -> None:
        tid = self._tid()
        partition = self.random.choice(PARTITIONS)
        row = {**self._identity(tid), "committed": self._chance(0.5), "partitions": [partition]}
        row |= {"coordinator_epoch": self.random.choice((0, 0, 1)), "transaction_version": 2 if self.tv2 else 0}
        version = 2 if self.tv2 else self.random.choice((1, 2))
        self._ask("WriteTxnMarkers", f"leader of {partition}", version, {"markers": [row]})
        self._settle()

    def _delete_records(self) -> None:
        given = {"offsets": {self.random.choice(PARTITIONS): self.random.choice((-1, 1, 2))}}
        self._ask("DeleteRecords", f"leader of {next(iter(given['offsets']))}", 2, given)

    def _look_around(self) -> None:
        self._describe_transactions()
        self._describe_producers()
        for partition in PARTITIONS:
            for isolation in ("read_committed", "read_uncommitted"):
                self._fetch(partition, 0, isolation)
        self._ask("OffsetFetch", "group coordinator of g", 9, {"group_id": "g", "partitions": ["t-0", "u-0"]})
