"""torn transaction, as it arrives: of one transaction a second part ends in another way than the first did.

The same rules as in kafkalab/checks/torn_transaction.py, told as soon as they are broken. What a client's two newest
transactions sent is kept, and of older ones what is still open; a producer id's eight newest decisions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from kafkalab.checks.check import Finding
from kafkalab.checks.torn_transaction import describe_joined, describe_part, describe_torn, torn_transaction
from kafkalab.spark.streaming.watch import Limits

DECISIONS_KEPT = 8
CLIENTS_KEPT = 2


@dataclass(slots=True)
class Kept:
    """All of it, as JSON knows it. A transaction is a client, or "producer 7" where none is known, and a number."""

    owner: dict[str, list[Any]] = field(default_factory=dict)  # what was sent -> client and number
    sent: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # client -> number -> what was sent
    open: dict[str, list[list[Any]]] = field(default_factory=dict)  # producer id and key -> undecided records
    waiting: dict[str, int] = field(default_factory=dict)  # transaction -> how many undecided records
    ended: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)  # client -> number -> name -> first part
    told: dict[str, int] = field(default_factory=dict)
    decisions: dict[str, list[list[Any]]] = field(default_factory=dict)  # producer id -> epoch, outcome, step, keys
    decided: dict[str, int] = field(default_factory=dict)  # producer id -> how many decisions so far
    together: dict[str, list[Any]] = field(default_factory=dict)  # COMMIT decision -> its first client's transaction


class TornTransaction:
    """The transactions of one run."""

    def __init__(self, limits: Limits, kept: Any = None) -> None:
        self.seen = Kept(**kept) if kept else Kept()

    def take(self, row: Any) -> Iterator[Finding]:
        """A tear is certain when a marker ends the second part of a transaction."""
        if row.kind in ("send", "offsets"):
            if row.transaction >= 1:
                self._sent(row)
        elif row.kind == "decision":
            self._decision(row)
        elif row.kind == "record" and row.transactional:
            self._record(row)
        elif row.kind == "marker":
            for record in self.seen.open.pop(f"{row.producer_id} {row.key}", []):
                yield from self._end(row, *record)

    def kept(self) -> Any:
        """Everything that still matters."""
        return asdict(self.seen)

    def _sent(self, row: Any) -> None:
        """The newest attempt to write a record is the one that a record is taken to be of, unless it was refused."""
        place = (f"{row.value}/{row.key}", str(row.offset), row.producer_id, row.producer_epoch)
        identity = _identity(row) if row.kind == "send" else json.dumps(place)
        mine = [row.client, row.transaction]
        if row.state == "fail":
            if self.seen.owner.get(identity) == mine:
                del self.seen.owner[identity]
            return
        if row.state != "invoke" and (row.kind == "offsets" or identity in self.seen.owner):
            return  # an end tells something new only where the client has numbered the record anew
        numbers = self.seen.sent.setdefault(row.client, {})
        if str(row.transaction) not in numbers:
            self._forget(row.client, row.transaction - CLIENTS_KEPT)
        if self.seen.owner.get(identity) != mine:
            self.seen.owner[identity] = mine
            numbers.setdefault(str(row.transaction), []).append(identity)

    def _forget(self, client: str, newest: int) -> None:
        """Drop what this client's transactions up to that number sent, and how those ended that are over."""
        numbers = self.seen.sent.get(client, {})
        for number in [n for n in numbers if int(n) <= newest]:
            for identity in numbers.pop(number):
                if self.seen.owner.get(identity) == [client, int(number)]:
                    del self.seen.owner[identity]
        ended = self.seen.ended.get(client, {})
        for number in [n for n in ended if int(n) <= newest]:
            if not any(name in self.seen.waiting for name in ended[number]):
                del ended[number]

    def _decision(self, row: Any) -> None:
        who = str(row.producer_id)
        self.seen.decided[who] = self.seen.decided.get(who, 0) + 1
        here = self.seen.decisions.setdefault(who, [])
        here.append([row.producer_epoch, row.state, row.step, list(row.partitions)])
        for gone in here[:-DECISIONS_KEPT]:
            self.seen.together.pop(f"{who} {gone[2]}", None)
        del here[:-DECISIONS_KEPT]
        self._forget(f"producer {who}", self.seen.decided[who] - DECISIONS_KEPT)

    def _record(self, row: Any) -> None:
        who, identity = str(row.producer_id), _identity(row)
        number = self.seen.decided.get(who, 0) + 1
        client, number = self.seen.owner.get(identity, [f"producer {who}", number])
        name = f"{client}, transaction {number}"
        self.seen.open.setdefault(f"{who} {row.key}", []).append(
            [row.offset, row.step, row.producer_epoch, identity, client, number]
        )
        self.seen.waiting[name] = self.seen.waiting.get(name, 0) + 1

    def _end(
        self, marker: Any, offset: int, step: int, epoch: int, identity: str, client: str, number: int
    ) -> Iterator[Finding]:
        name = f"{client}, transaction {number}"
        self.seen.waiting[name] -= 1
        if not self.seen.waiting[name]:
            del self.seen.waiting[name]
        if client.startswith("producer "):
            client, number = self.seen.owner.get(identity, [client, number])
        known = not client.startswith("producer ")
        name = f"{client}, transaction {number}" if known else f"{client}, epoch {epoch}, transaction {number}"
        ending = [marker.state, self._decided_at(marker)]
        part = [ending, marker.key, offset, step, marker.offset, marker.step]
        first = self.seen.ended.setdefault(client, {}).setdefault(str(number), {}).setdefault(name, part)
        if first[0] != ending and name not in self.seen.told:
            self.seen.told[name] = 1
            yield _finding(describe_torn(name, (_part(first), _part(part))), first, part)
        if known and marker.state == "COMMIT" and ending[1] >= 0:
            other = self.seen.together.setdefault(f"{marker.producer_id} {ending[1]}", [name, part])
            both = f"{other[0]} and {name}"
            if other[0] != name and both not in self.seen.told:
                self.seen.told[both] = 1
                yield _finding(describe_joined((other[0], name)), other[1], part)

    def _decided_at(self, marker: Any) -> int:
        """The step of the newest decision that this marker carries out, -1 if there is none."""
        for epoch, state, step, keys in reversed(self.seen.decisions.get(str(marker.producer_id), [])):
            if (epoch, state) == (marker.producer_epoch, marker.state) and marker.key in keys:
                return int(step)
        return -1


def _identity(row: Any) -> str:
    if row.kind == "record" and row.record_key:
        return json.dumps((row.record_key, row.value, row.producer_id, row.producer_epoch))
    return json.dumps((row.key, row.producer_id, row.producer_epoch, row.sequence, row.value))


def _part(part: list[Any]) -> str:
    return describe_part(part[1], part[0][0], part[4])


def _finding(text: str, first: list[Any], second: list[Any]) -> Finding:
    steps = {first[3], first[5], second[3], second[5]} - {-1}
    return Finding(
        anomaly=torn_transaction.name,
        policy=torn_transaction.policy,
        text=text,
        steps=tuple(sorted(steps)),
        keys=tuple(dict.fromkeys((first[1], second[1]))),
        offsets=(first[2], second[2]),
    )
