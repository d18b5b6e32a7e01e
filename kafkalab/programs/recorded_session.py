"""A session of real clients as a scenario of raw requests, which runs again in virtual time.

Each client is a node that sends what it sent, to the same brokers, in the same order, and waits for an answer where the
client had it. Producer ids, epochs, member ids and generations are taken from the answers that gave them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault, FrameFault, TimedFault
from kafkalab.faults.frame import Drop, Duplicate, Hold, Release
from kafkalab.faults.request import CrashAt, RespondWith
from kafkalab.protocol.messages.list_offsets import ListOffsets
from kafkalab.protocol.records import Batch
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.kernel.task import no_requests
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Event, Frame, Trace, error_of, plain

HOP_MS, CALL_MS, SHORT_CALL_MS = 5, 60, 15
"""The longest that a frame, a request that is replicated, and any other request take in the simulator."""
LATE_MS = 200
"""A frame that was on its way for longer was held, also if nothing else happened in that time."""
TRIES = 20
SAVED: dict[str, type[FrameFault]] = {kind.__name__: kind for kind in (Drop, Duplicate, CrashAt, RespondWith)}
"""The faults of frames that are saved as they are; others are saved as frames that were held and released."""
Key = tuple[str, int, bool]
"""A frame in any run of the session: its client, which of the client's requests it is, and whether it is the answer."""


@dataclass(frozen=True, slots=True)
class FaultStrike:
    """A fault of a live cluster, and the step of the first event that followed it."""

    step: int
    fault: Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResult:
    """A session as a scenario: how many answers of its run are the same, and what differs."""

    scenario: Scenario
    answers: int
    differences: tuple[str, ...]

    def __str__(self) -> str:
        same = f"{self.answers - len(self.differences)} of {self.answers} answers are the same in virtual time"
        return "\n".join([same, *self.differences])


@dataclass(slots=True)
class _Client:
    """The steps of one client, and the answers from which later steps take their ids."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0
    producers: dict[int, tuple[str, int]] = field(default_factory=dict)
    members: dict[str, tuple[str, int]] = field(default_factory=dict)

    def learn(self, name: str, response: Any) -> None:
        """Note the ids that the answer of this name gave."""
        producer_id = getattr(response, "producer_id", -1)
        if type(producer_id) is int and producer_id >= 0:
            self.producers[producer_id] = (name, response.producer_epoch)
        if getattr(response, "member_id", "") and hasattr(response, "generation_id"):
            self.members[response.member_id] = (name, response.generation_id)

    def with_references(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of a request, or of a batch, with ids taken from answers."""
        if (producer := self.producers.get(fields.get("producer_id", -1))) and "producer_epoch" in fields:
            name, epoch = producer
            further = fields["producer_epoch"] - epoch
            distance = f"{further:+d}" if further else ""
            ids = {"producer_id": f"${name}.producer_id", "producer_epoch": f"${name}.producer_epoch{distance}"}
            return {**fields, **ids}
        if member := self.members.get(fields.get("member_id", "")):
            name, generation = member
            fields = {**fields, "member_id": f"${name}.member_id"}
            if fields.get("generation_id") == generation:
                fields["generation_id"] = f"${name}.generation_id"
        return fields


class SessionReader:
    """Reads the trace of a live cluster once; `scenario` and the faults on frames, by their keys, are what it finds."""

    def __init__(self, cluster: Cluster, topics: dict[str, int], began_ms: int, struck: Iterable[FaultStrike]) -> None:
        """`topics` are those that the scenario begins with. ValueError for a session without any request."""
        self.trace, self.began_ms = cluster.trace, began_ms
        self.is_client = {name: node.receive is no_requests for name, node in cluster.nodes.items()}
        self.clients: dict[str, _Client] = {}
        self.keys: dict[str, Key] = {}
        self.frame_faults: list[tuple[Key, partial[Any], int]] = []
        self.timed: list[TimedFault] = []
        self._struck = list(struck)
        self._shift = self._least = 0
        self._sent_ms: dict[str, int] = {}
        self._arrived_ms: dict[str, int] = {}
        self._doors: dict[str, int] = {}
        self._answered: dict[str, None] = {}
        self._door = 0
        for event in self.trace.events[cluster.start + 1 :]:
            self._read(event)
        if not self.clients:
            raise ValueError("no client has asked anything yet: there is nothing to save")
        self._keep_what_never_arrived()
        programs = tuple(Program(name, "raw_requests", {"steps": one.steps}) for name, one in self.clients.items())
        title, faults = "a session of real clients", tuple(self.timed)
        self.scenario = replace(cluster.scenario, title=title, topics=topics, programs=programs, faults=faults)

    def _time(self, event: Event) -> int:
        """The time in the scenario: after all that must have happened before; no gap is shorter than it was."""
        live = event.at_ms - self.began_ms
        self._shift += max(0, self._least - live - self._shift)
        self._least = live + self._shift
        return self._least

    def _before_the_jump(self, event: Event, jump_ms: int) -> int:
        """The time in the scenario at which the clock is moved; the event was noted when it had been.

        What expires then is written and replicated, which takes no time in a live cluster: clients wait for it.
        """
        least = self._least
        at_ms = self._time(event) - jump_ms
        later_ms = max(0, least - at_ms)
        self._shift += later_ms
        self._least += later_ms + CALL_MS
        return at_ms + later_ms

    def _read(self, event: Event) -> None:
        while self._struck and self._struck[0].step <= event.step:
            self._door += 1
            fault = self._struck.pop(0).fault
            if isinstance(fault, TimedFault) and not isinstance(fault, Release):
                at_ms = self._before_the_jump(event, fault.ms) if isinstance(fault, AdvanceClock) else self._time(event)
                self.timed.append(replace(fault, at_ms=at_ms, at_step=-1))
        frame = event.data
        if not isinstance(frame, Frame) or frame.copy_of:
            if event.kind == "fault" and event.name in SAVED:
                self._strike(event)
            return
        if not (self.is_client[frame.sender] or self.is_client[frame.receiver]):
            return
        self._door += 1
        if event.kind == "receive":
            self._on_arrival(frame, event)
        elif frame.kind == "request":
            self._note_request(frame, event)
        else:
            self._note_send(frame, event, (*self.keys[frame.of][:2], True))

    def _note_send(self, frame: Frame, event: Event, key: Key) -> None:
        self.keys[frame.id] = key
        self._doors[frame.id] = self._door
        self._sent_ms[frame.id] = self._time(event)

    def _note_request(self, frame: Frame, event: Event) -> None:
        client = self.clients.setdefault(frame.sender, _Client())
        self._note_send(frame, event, (frame.sender, client.count, False))
        client.count += 1
        fields = client.with_references(_fields(frame.body, client, self.began_ms))
        name = f"r{client.count}"
        step = {"ask": frame.name, "to": frame.receiver, "version": frame.version, "with": fields, "as": name}
        client.steps += [{"at": self._sent_ms[frame.id]}, {**step, "wait": False, "times_out": False}]

    def _on_arrival(self, frame: Frame, event: Event) -> None:
        if self._door > self._doors[frame.id] + 1 or frame.received_ms - frame.sent_ms > LATE_MS:
            self._least = max(self._least, self._flies_ms(frame))
            self.frame_faults.append((self.keys[frame.id], partial(Hold), self._time(event)))
        now = self._time(event)
        if frame.kind == "request":
            self._arrived_ms[frame.id], self._least = now, now + HOP_MS
            return
        if frame.of in self._answered:
            return  # the second answer to a doubled request
        self._answered[frame.of] = None
        self._least = max(self._least, self._flies_ms(frame))
        node, number, _ = self.keys[frame.id]
        client, name = self.clients[node], f"r{number + 1}"
        asked = next(s for s in reversed(client.steps) if s.get("as") == name)
        del asked["times_out"]
        client.steps.append({"await": name})
        client.learn(name, frame.body)

    def _flies_ms(self, frame: Frame) -> int:
        """The time in the scenario at which a frame has been sent, and would have arrived."""
        if frame.kind == "request":
            return self._sent_ms[frame.id] + HOP_MS
        return self._arrived_ms[frame.of] + (CALL_MS if frame.category == "transaction" else SHORT_CALL_MS)

    def _strike(self, event: Event) -> None:
        if event.frame in self.keys:
            kind = SAVED[event.name]
            self.frame_faults.append((self.keys[event.frame], partial(kind, **_details(kind, event.data)), -1))

    def _keep_what_never_arrived(self) -> None:
        """Keep frames from arriving that were held at the end, or released when no node was there to receive them."""
        for name, key in self.keys.items():
            if self.trace.frames[name].fate in ("in flight", "lost"):
                self.frame_faults.append((key, partial(Hold), -1))

    def faults(self, names: dict[Key, str]) -> list[Fault]:
        """The faults on frames, which have these names in a run of the scenario; those without a name are left out."""
        found: list[Fault] = []
        doubled = {key for key, kind, _ in self.frame_faults if kind.func is Duplicate}
        for key, kind, release_ms in self.frame_faults:
            if key not in names or (kind.func is Hold and key in doubled):
                continue
            found.append(kind(names[key]))
            if release_ms >= 0:
                found.append(Release(names[key], at_ms=release_ms))
        return found


def _details(kind: type[FrameFault], data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a fault, besides its frame, that its event says."""
    return {one.name: data[one.name] for one in fields(kind) if one.name in data}


def _fields(body: Any, client: _Client, began_ms: int) -> dict[str, Any]:
    fields: dict[str, Any] = plain(body)
    if isinstance(batches := getattr(body, "batches", None), dict):
        fields["batches"] = {p: client.with_references(_batch_fields(b, began_ms)) for p, b in batches.items()}
    if isinstance(body, ListOffsets):
        fields["timestamp"] = _virtual(body.timestamp, began_ms)
    return fields


def _virtual(timestamp_ms: int, began_ms: int) -> int:
    """A client's time by the clock of the scenario, which begins at 0: retention and ListOffsets compare the two."""
    return timestamp_ms if timestamp_ms < 0 else max(0, timestamp_ms - began_ms)


def _batch_fields(batch: Batch, began_ms: int) -> dict[str, Any]:
    """The batch as raw requests have it. ValueError for one that cannot be read."""
    records = list(batch.records)
    fields: dict[str, Any] = {
        "values": [None if r.value is None else str(r.value) for r in records],
        "keys": [r.key for r in records],
        "headers": [[[k, None if v is None else v.decode(errors="backslashreplace")] for k, v in r.headers]
                    for r in records],
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "transactional": batch.transactional,
        "timestamp_ms": _virtual(batch.timestamp_ms, began_ms),
    }  # fmt: skip
    return fields if any(fields["headers"]) else {k: v for k, v in fields.items() if k != "headers"}


def names_in(trace: Trace, clients: Iterable[str]) -> dict[Key, str]:
    """The names of the clients' requests and their answers in a run."""
    names: dict[Key, str] = {}
    keys: dict[str, Key] = {}
    counts: Counter[str] = Counter()
    known = frozenset(clients)
    for frame in trace.frames.values():
        if frame.copy_of:
            continue
        if frame.kind == "request" and frame.sender in known:
            keys[frame.id] = (frame.sender, counts[frame.sender], False)
            names[keys[frame.id]] = frame.id
            counts[frame.sender] += 1
        elif frame.of in keys:
            names.setdefault((*keys[frame.of][:2], True), frame.id)
    return names


def save_session(read: SessionReader) -> SessionResult:
    """Return the session as a scenario, with its faults under the names that frames have in its run, and compare."""
    names: dict[Key, str] = {}
    for _ in range(TRIES):
        scenario = read.scenario.with_faults(*read.faults(names))
        again = _run(scenario)
        found = names_in(again.trace, read.clients)
        if all(found.get(key) == names.get(key) for key, _, _ in read.frame_faults):
            break
        names = found
    return _compare(read, scenario, again)


def _run(scenario: Scenario) -> Cluster:
    cluster = Cluster(scenario)
    with suppress(StuckError, RunawayError):  # what was not answered is a difference
        cluster.run()
    return cluster


def _compare(read: SessionReader, scenario: Scenario, again: Cluster) -> SessionResult:
    names = names_in(again.trace, read.clients)
    differences, answers = [], 0
    for name, key in read.keys.items():
        frame = read.trace.frames[name]
        if frame.kind != "response" or frame.fate != "delivered":
            continue
        answers += 1
        other = again.trace.frames.get(names.get(key, ""))
        was, now = error_of(frame.body), "no answer" if other is None else error_of(other.body)
        if was != now:
            differences.append(f"{name} to {key[0]}: {was} live, {now} in virtual time")
    return SessionResult(scenario=scenario, answers=answers, differences=tuple(differences))
