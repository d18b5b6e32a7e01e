"""What scenes are played with: producers that send and commit, readers that poll, expected findings."""

from __future__ import annotations

from typing import Any

from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.names import EMPTY, word
from kafkalab.spark.synthetic.scenes.window import (
    MOST_COMMITS,
    MOST_ENTRIES,
    MOST_ROLES,
    RC,
    READ_COMMITTED,
    RU,
    A,
    B,
    Key,
    Reader,
    Ref,
    Rows,
    Sender,
    Start,
)

TIMEOUT_MS = 60_000
COMMITS = Key(Ref(Start.COMMITS_KEY), Ref(Start.COMMITS), Ref(Start.ZERO, names.BROKER + 1), Ref(Start.ZERO))
"""The partition of __consumer_offsets that holds what the group "app" has committed."""


class Scene(Rows):
    """A window while its function plays it. `bump` is 1 where a transaction's end raises the epoch (version 2)."""

    def __init__(self, bump: int) -> None:
        super().__init__()
        self.bump = bump
        self.producers: list[Sender] = []
        self.held: dict[Key, dict[int, dict[str, Any]]] = {}
        self.open: dict[Sender, list[Key]] = {}
        self.at: dict[tuple[Reader, Key], int] = {}
        self.assigned: list[tuple[Reader, Key]] = []

    def producer(self, transactional: bool = True, idempotent: bool = True) -> Sender:
        """Another client of the window; a transactional one has initialised itself."""
        made = Sender(len(self.producers), transactional, idempotent)
        self.producers.append(made)
        assert made.role < MOST_ROLES, "a window has at most MOST_ROLES producers"
        if transactional:
            self.operation(made, "init")
            self.entry(made, "Empty")
        return made

    def entry(self, producer: Sender, state: str, *keys: Key) -> tuple[Ref, Ref]:
        """An entry of the transaction log: its step and its offset."""
        step, offset = self.tick(), Ref(Start.ENTRIES, self.entries)
        self.entries += 1
        assert self.entries <= MOST_ENTRIES, "a window has at most MOST_ENTRIES entries"
        self.add(
            "transactions",
            key=Ref(Start.TXN_LOG + producer.role),
            offset=offset,
            transactional_id=producer.id,
            state=word(state),
            producer_id=producer.pid,
            producer_epoch=producer.epoch,
            partitions=tuple(key.name for key in keys),
            timeout_ms=TIMEOUT_MS,
            started=-1 if state in ("Empty", "CompleteCommit", "CompleteAbort") else Ref(Start.STEP),
            coordinator_epoch=0,
            node=names.BROKER + 3,
            step=step,
            removed=EMPTY,
        )
        return step, offset

    def begin(self, producer: Sender, *keys: Key) -> None:
        """The next transaction, with these partitions."""
        producer.transaction += 1
        self.operation(producer, "begin")
        if keys:
            self.entry(producer, "Ongoing", *keys)
        self.open[producer] = list(keys)
        if self.bump:
            producer.sequences.clear()

    def record(self, producer: Sender, key: Key, value: Ref, sequence: int | None = None, **given: Any) -> int:
        """A record in the log, sent or not: its offset in the window."""
        if sequence is None:
            sequence = producer.sequences.get(key, 0)
        producer.sequences[key] = max(sequence + 1, producer.sequences.get(key, 0))
        at, step = self.log(
            key,
            value=value,
            producer_id=producer.pid,
            producer_epoch=producer.epoch if producer.idempotent else -1,
            sequence=sequence if producer.idempotent else -1,
            transactional=int(producer.transactional),
            **given,
        )
        if given.get("removed", EMPTY) == EMPTY:
            self.held.setdefault(key, {})[at] = {"value": value, "step": step, "producer": producer, "outcome": "plain"}
            if producer.transactional:
                self.held[key][at]["outcome"] = "open"
        return at

    def asked(
        self, producer: Sender, key: Key, value: Ref, sequence: int, end: str = "ok", told: int = -1, **given: Any
    ) -> tuple[Ref, Ref]:
        """The operation of a send, told that it lies at this offset of the window: the steps of invoke and end."""
        invoke = Ref(Start.STEP, self.clock + 1)
        self.operation(
            producer,
            "send",
            end,
            key=key.name,
            value=value,
            producer_id=producer.pid,
            producer_epoch=producer.epoch if producer.idempotent else -1,
            sequence=sequence if producer.idempotent else -1,
            offset=key.offset + told if told >= 0 else -1,
            **given,
        )
        return invoke, Ref(Start.STEP, self.clock)

    def send(
        self,
        producer: Sender,
        key: Key,
        value: Ref | None = None,
        sequence: int | None = None,
        headers: Ref | int = names.NULL,
    ) -> int:
        """A record that was sent, appended and acknowledged: its offset in the window."""
        value = self.value() if value is None else value
        at = self.record(producer, key, value, sequence, headers=headers)
        number = producer.sequences[key] - 1 if sequence is None else sequence
        self.asked(producer, key, value, number, told=at, headers=headers)
        return at

    def result(self, producer: Sender, output: Key, key: Key, at: int) -> int:
        """An output made from the record at this offset of a window's own partition, which its header declares."""
        value = self.value_of(key, at) + (names.RESULT - names.VALUE)
        header = Ref(Start.NUMBER, names.SOURCE_OF_OWN[at] + key.name.plus - names.OWN)
        return self.send(producer, output, value, headers=header)

    def step_of(self, key: Key, at: int) -> Ref:
        """When the record at this offset of the window was appended."""
        step: Ref = self.held[key][at]["step"]
        return step

    def value_of(self, key: Key, at: int) -> Ref:
        """What it holds."""
        value: Ref = self.held[key][at]["value"]
        return value

    def offsets(self, producer: Sender, key: Key, offset: int) -> None:
        """Commits the offset of an input in the producer's transaction."""
        if COMMITS not in self.open[producer]:
            self.open[producer].append(COMMITS)
            self.entry(producer, "Ongoing", *self.open[producer])
        self.operation(
            producer,
            "offsets",
            key=key.name,
            offset=key.offset + offset,
            value=word("app"),
            producer_id=producer.pid,
            producer_epoch=producer.epoch,
        )
        assert self.ends.get(COMMITS, 0) < MOST_COMMITS, "a window has at most MOST_COMMITS commits and markers"
        self.log(
            COMMITS,
            record_key=Ref(Start.NUMBER, key.commit),
            value=names.PLAIN_NUMBER + offset,
            producer_id=producer.pid,
            producer_epoch=producer.epoch,
            sequence=0,
            transactional=1,
        )

    def marker(self, producer: Sender, key: Key, control: str, **given: Any) -> tuple[int, Ref]:
        """COMMIT or ABORT on one partition: its offset in the window, and its step."""
        epoch = given.pop("epoch", producer.epoch)
        for held in self.held.get(key, {}).values():
            if held["producer"] is producer and held["outcome"] == "open":
                held["outcome"] = control
        return self.log(
            key,
            producer_id=producer.pid,
            producer_epoch=epoch,
            transactional=1,
            control=word(control),
            coordinator_epoch=0,
            **given,
        )

    def end(self, producer: Sender, control: str = "COMMIT") -> None:
        """The client asks, the coordinator decides, and every partition has its marker."""
        kind = "Commit" if control == "COMMIT" else "Abort"
        self.operation(producer, kind.lower())
        self.decide(producer, control)
        for key in self.open[producer]:
            self.marker(producer, key, control)
        self.entry(producer, f"Complete{kind}")

    def decide(self, producer: Sender, control: str = "COMMIT") -> Ref:
        """The PREPARE for all partitions, which under transaction version 2 raises the epoch."""
        producer.epoch += self.bump
        state = "PrepareCommit" if control == "COMMIT" else "PrepareAbort"
        return self.entry(producer, state, *self.open[producer])[0]

    def visible(self, key: Key, level: int) -> list[int]:
        """The offsets that a reader of this level is given."""
        hidden = ("ABORT", "open") if level == READ_COMMITTED else ()
        return [at for at, held in sorted(self.held.get(key, {}).items()) if held["outcome"] not in hidden]

    def poll(
        self,
        reader: Reader,
        key: Key,
        reads: list[int],
        end: int,
        start: int | None = None,
        moved: str = "",
        **shown: Ref,
    ) -> Ref:
        """One poll that returns the records at these offsets of the window; `shown` other values: o3=value."""
        step = self.tick()
        first = self.at.get((reader, key), 0) if start is None else start
        self.at[reader, key] = end
        if key.offset.start == Start.ZERO and (reader, key) not in self.assigned:
            moved = moved or "assign"
            self.assigned.append((reader, key))
        same = {"consumer": reader.name, "process": reader.process, "isolation_level": reader.level, "poll": step}
        self.add(
            "polls",
            **same,
            group=reader.group,
            key=key.name,
            start=key.offset + first,
            end=key.offset + end,
            moved=word(moved),
            step=step,
        )
        for index, at in enumerate(reads):
            value = shown.get(f"o{at}", self.value_of(key, at))
            self.add("reads", **same, index=index, key=key.name, offset=key.offset + at, value=value, step=step)
        return step

    def mark(self, key: Key, stable: int) -> Ref:
        """The last stable offset moved on the leader."""
        step = self.tick()
        self.add(
            "watermarks",
            key=key.name,
            node=key.node,
            leads=1,
            leader_epoch=key.leader_epoch,
            high_watermark=key.offset + self.ends.get(key, 0),
            last_stable_offset=key.offset + stable,
            step=step,
        )
        return step

    def leader(self, key: Key, epoch: int = 0) -> None:
        """A partition of the window's own has a leader."""
        self.add("leaders", key=key.name, leader=key.node, leader_epoch=epoch, step=self.tick())

    def read_on(self, *readers: Reader) -> None:
        """The lane's readers (both, unless one is named) read what they have not read of A and B."""
        for key in (A, B):
            end = self.ends.get(key, 0)
            for reader in readers or (RC, RU):
                start = self.at.get((reader, key), 0)
                if end > start:
                    self.poll(reader, key, [at for at in self.visible(key, reader.level) if at >= start], end)

    def rest(self) -> None:
        """End the scene: everything is read and stable."""
        for key in (A, B):
            if self.ends.get(key, 0):
                self.mark(key, self.ends[key])
        self.read_on()
