"""What the steps of random scripts are made of: names, versions, producers, batches."""

from __future__ import annotations

from random import Random
from typing import Any

from kafkalab.protocol.messages.registry import BY_NAME

TOPICS = {"t": 2, "u": 1}
PARTITIONS = ("t-0", "t-1", "u-0")
IDS = ("x", "y")
IDEMPOTENT = "i"
"""The name of a producer without transactions."""
OLDEST = {"Produce": 3, "Fetch": 4, "ListOffsets": 1, "OffsetCommit": 2, "OffsetFetch": 1, "JoinGroup": 2}
"""Kafka 4 no longer takes older versions."""
STOPS_IN, STOPS_OF = 60, 5
"""Sixty of three hundred seeds in a row are of scripts in which the broker ends: those run at once share that."""
MEMBER = {"member_id": "$m.member_id", "generation_id": "$m.generation_id"}
GROUPS = ("g", "h")
"""Group g has one member or two for a while, h a static one."""
TIMEOUT_MS = 600_000
"""Of transactions: a restart of the broker on a busy machine may take longer than the usual minute."""
SHORT_MS, LATE_MS = 3_000, 6_000
"""A timeout, and how long after its transaction has begun the coordinator has surely noticed."""
KEPT = 8
"""The number of batches of a producer that are sent again: more than a leader remembers."""
SETTLE_MS = 300
"""After what is completed in the background, where something is held back that never completes."""


class Steps:
    """The things that the steps so far have made, as far as it can be known without their answers."""

    def __init__(self, seed: int, kafka: str) -> None:
        self.random = Random(seed)
        self.seed, self.kafka = seed, kafka
        self.steps: list[dict[str, Any]] = []
        self.named: dict[str, str] = {}
        self.sequences: dict[tuple[str, str], int] = {}
        self.batches: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.values = 0
        self.stops = seed // STOPS_IN % STOPS_OF == 0
        near_the_end = [tid for tid in IDS if self.random.random() < 0.12 and not self.stops]
        self.epochs = {tid: self.random.choice((32763, 32764, 32765, 32766)) for tid in near_the_end}
        self.held = self.random.random() < 0.1 and not self.stops
        self.member = self.random.random() < 0.4
        """True if group g has a member."""
        self.static = self.random.random() < 0.3
        """True if group h has a static member."""
        self.tv2 = self.random.random() < 0.6
        """True if the producers of the script mostly speak as those of transaction.version 2."""

    def _ask(self, api: str, to: str, version: int, given: dict[str, Any], **more: Any) -> None:
        self.steps.append({"ask": api, "to": to, "with": given, "version": version, **more})

    def _version(self, api: str, usual: int = -1, least: int = 0) -> int:
        """Return the usual version mostly, else any that both sides know."""
        known = [v for v in BY_NAME[api].known_to(self.kafka) if max(OLDEST.get(api, 0), least) <= v]
        return usual if usual in known and self.random.random() < 0.75 else self.random.choice(known)

    def _settle(self) -> None:
        self.steps.append({"sleep": SETTLE_MS} if self.held else {"settle": True})

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _group(self) -> str:
        return self.random.choice((*GROUPS, GROUPS[0], GROUPS[0]))

    def _ask_group(self, api: str, group: str, version: int, given: dict[str, Any], **more: Any) -> None:
        self._ask(api, f"group coordinator of {group}", version, {"group_id": group, **given}, **more)

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

    def _known_epoch(self, partition: str) -> dict[str, Any]:
        """Return, now and then, the leader epoch that a reader says to know: the first, or one of the future."""
        return {"current_leader_epochs": {partition: self.random.choice((0, 0, 99))}} if self._chance(0.15) else {}

    def _partitions(self) -> list[str]:
        return self.random.sample(PARTITIONS, self.random.choice((1, 1, 1, 2)))

    def _batch(self, owner: str, partition: str, identity: dict[str, Any], transactional: bool) -> dict[str, Any]:
        values = [f"v{self.values + n}" for n in range(self.random.choice((1, 1, 2, 3)))]
        self.values += len(values)
        expected = self.sequences.get((owner, partition), 0)
        kind = self.random.choices(("next", "again", "gap", "zero", "last", "older"), (78, 6, 5, 4, 2, 5))[0]
        before = self.batches.setdefault((owner, partition), [])
        if kind == "older" and before:
            return self.random.choice(before[-KEPT:])
        wrong = {"again": max(0, expected - len(values)), "gap": expected + 1, "zero": 0, "last": 2**31 - 1}
        if kind == "next":
            self.sequences[owner, partition] = expected + len(values)
        sequence = {"base_sequence": wrong.get(kind, expected)}
        at = {"timestamp_ms": max(0, self.values - self.random.choice((0, 0, 0, 0, 1, 7)))}
        before.append({"values": values, **at, **identity, **sequence, "transactional": transactional})
        return before[-1]
