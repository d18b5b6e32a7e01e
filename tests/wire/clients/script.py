"""One program for every client: what exactly-once means to whoever writes and reads."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

PATIENCE_S = 120


class FencedError(Exception):
    """A newer producer has the transactional id."""


class Read(NamedTuple):
    """A record that a consumer has returned."""

    partition: int
    offset: int
    value: str


class Producer(Protocol):
    """A transactional producer, or an idempotent one if it has no transactional id.

    `send` waits for the answer and returns the offset; a record that is enqueued is in flight until the commit.
    """

    def init(self) -> None: ...
    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, value: str) -> int: ...
    def enqueue(self, topic: str, partition: int, value: str) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class Consumer(Protocol):
    """A member of a group that has subscribed to one topic."""

    def poll(self) -> list[Read]: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


class Instance(Protocol):
    """An application's process: consume from a topic, produce to another, and commit both in one transaction.

    `step` does so once with what a poll returns, or aborts, and returns the values; none if there was nothing to do, or
    the transaction was refused. `assigned` is the number of its partitions.
    """

    def step(self, commit: bool) -> list[str]: ...
    def assigned(self) -> int: ...
    def close(self) -> None: ...


class Client(Protocol):
    """One library. `close` ends what it has started. A group without a committed offset has -1."""

    def producer(self, transactional_id: str) -> Producer: ...
    def consumer(self, group: str, topic: str, isolation: str) -> Consumer: ...
    def instance(self, group: str, topic: str, out: str, transactional_id: str) -> Instance: ...
    def committed(self, group: str, topic: str, partition: int) -> int: ...
    def close(self) -> None: ...


class Stage(NamedTuple):
    """The place of a chapter: its client, the prefix of all its names, and how a broker is crashed.

    `crash` ends the broker that coordinates a transactional id; `restart` starts it again.
    """

    client: Client
    prefix: str
    crash: Callable[[str], None]
    restart: Callable[[], None]

    def read(self, topic: str, count: int, isolation: str = "read_committed") -> list[str]:
        """Return the values of a topic as a new group reads them; at least `count`, unless they do not come."""
        consumer = self.client.consumer(f"{self.prefix}-{topic}-{isolation}", self.prefix + topic, isolation)
        found = read(consumer, count)
        consumer.close()
        return found


def read(consumer: Consumer, count: int) -> list[str]:
    """Poll until `count` records have come, and once more."""
    found: list[str] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        found += [one.value for one in consumer.poll()]
    return found + [one.value for one in consumer.poll()]


def idempotent(stage: Stage) -> Any:
    """An idempotent producer writes each record once, and a group goes on from what it has committed."""
    plain, topic = stage.client.producer(""), stage.prefix + "plain"
    offsets = [plain.send(topic, 0, str(n)) for n in range(3)]
    first = stage.client.consumer(stage.prefix + "readers", topic, "read_committed")
    values = read(first, 3)
    first.commit()
    first.close()
    plain.send(topic, 0, "3")
    second = stage.client.consumer(stage.prefix + "readers", topic, "read_committed")
    rest = read(second, 1)
    second.close()
    plain.close()
    return [offsets, values, rest]


def outcomes(stage: Stage) -> Any:
    """Commit, abort, and be fenced: what is committed is read, what is aborted is not, a zombie can do neither.

    Records are in flight when a transaction is committed. An aborted one waits for its record, which may be dropped
    otherwise before it is sent.
    """
    a, topic = stage.client.producer(stage.prefix + "pay"), stage.prefix + "payments"
    a.init()
    _commit(a, topic, "1", "2", "3")
    a.begin()
    a.send(topic, 0, "no")
    a.abort()
    _commit(a, topic, "4", "5")
    b = stage.client.producer(stage.prefix + "pay")
    b.init()
    zombie = "not fenced"
    try:
        a.begin()
        a.send(topic, 0, "zombie")
        a.commit()
    except FencedError:
        zombie = "fenced"
    _commit(b, topic, "6")
    b.close()
    return [zombie, stage.read("payments", 6), stage.read("payments", 7, "read_uncommitted")]


def _commit(producer: Producer, topic: str, *values: str) -> None:
    producer.begin()
    for value in values:
        producer.enqueue(topic, 0, value)
    producer.commit()


def offsets(stage: Stage) -> Any:
    """Offsets are committed with the transaction or not at all: after an abort the same records come again."""
    client, topic, out, group = stage.client, stage.prefix + "in", stage.prefix + "out", stage.prefix + "sums"
    plain = client.producer("")
    for n in range(3):
        plain.send(topic, 0, str(n))
    plain.close()
    instance = client.instance(group, topic, out, stage.prefix + "sum")
    _work([instance], 1, commit=False)
    after_abort = client.committed(group, topic, 0)
    _work([instance], 3)
    after_commit = client.committed(group, topic, 0)
    instance.close()
    return [after_abort, after_commit, stage.read("out", 3)]


def rebalance(stage: Stage) -> Any:
    """Two instances share four partitions; the second joins, the first leaves, and each record is handled once."""
    client, topic, out, group = (stage.client, *(stage.prefix + name for name in ("orders", "bills", "biller")))
    plain = client.producer("")

    def put(letter: str) -> None:
        for partition in range(4):
            plain.send(topic, partition, f"{letter}{partition}")

    put("a")
    one = client.instance(group, topic, out, stage.prefix + "one")
    alone = _work([one], 4)
    two = client.instance(group, topic, out, stage.prefix + "two")
    until = time.monotonic() + PATIENCE_S
    while (one.assigned(), two.assigned()) != (2, 2) and time.monotonic() < until:
        _step([one, two])
    put("b")
    both = _work([one, two], 4)
    one.close()
    put("c")
    left = _work([two], 4)
    two.close()
    plain.close()
    return [alone, both, left, sorted(stage.read("bills", 12))]


def crash(stage: Stage) -> Any:
    """The coordinator's broker crashes in the middle of a transaction, which goes on."""
    a, topic = stage.client.producer(stage.prefix + "steady"), stage.prefix + "steady"
    a.init()
    a.begin()
    a.send(topic, 0, "before")
    stage.crash(stage.prefix + "steady")
    a.send(topic, 0, "after")
    a.commit()
    stage.restart()
    a.begin()
    a.send(topic, 0, "again")
    a.commit()
    a.close()
    return stage.read("steady", 3)


TASKS = [f"{letter}{partition}{n}" for letter in "ab" for partition in range(2) for n in range(3)]


def process(stage: Stage) -> Any:
    """A processor handles each record of two batches once, whatever happens: after a fatal error by a new instance."""
    client, group, topic = stage.client, stage.prefix + "processor", stage.prefix + "tasks"
    processor = _Processor(client, (group, topic, stage.prefix + "results", stage.prefix + "processor"))
    plain = _connect(client)
    for letter in "ab":
        for task in (one for one in TASKS if one[0] == letter):
            plain.send(topic, int(task[1]), task)
        processor.work(3 if letter == "a" else 6)
    plain.close()
    processor.close()
    return [client.committed(group, topic, partition) for partition in range(2)]


def _connect(client: Client) -> Producer:
    """Return an idempotent producer; kafkajs connects at the second try if the answer to InitProducerId is lost."""
    try:
        return client.producer("")
    except RuntimeError:
        return client.producer("")


class _Processor:
    """An application that is started again, as its client's documentation asks for, whenever it has ended."""

    def __init__(self, client: Client, names: tuple[str, str, str, str]) -> None:
        self.client, self.names = client, names
        self.instance: Instance | None = None

    def work(self, offset: int) -> None:
        """Go on until the group has committed this offset of both partitions."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                self.instance = self.instance or self.client.instance(*self.names)
                if not self.instance.step(True) and self._has_committed(offset):
                    return
            except Exception as error:
                print(f"a new instance after {type(error).__name__}: {error}", file=sys.stderr)
                self.close()

    def _has_committed(self, offset: int) -> bool:
        return all(self.client.committed(*self.names[:2], partition) == offset for partition in range(2))

    def close(self) -> None:
        """End the instance, in whatever state it is."""
        ended, self.instance = self.instance, None
        if ended is not None:
            with contextlib.suppress(Exception):
                ended.close()


def _step(instances: Sequence[Instance], commit: bool = True) -> list[int]:
    return [len(instance.step(commit)) for instance in instances]


def _work(instances: Sequence[Instance], count: int, commit: bool = True) -> list[int]:
    """Step until `count` records are handled; return how many each instance has handled."""
    done = [0] * len(instances)
    until = time.monotonic() + PATIENCE_S
    while sum(done) < count and time.monotonic() < until:
        done = [before + now for before, now in zip(done, _step(instances, commit), strict=True)]
    return done


BILLS = [f"{letter}{partition}" for letter in "abc" for partition in range(4)]
CHAPTERS = {chapter.__name__: chapter for chapter in (idempotent, outcomes, offsets, rebalance, process, crash)}
EXPECTED: dict[str, Any] = {
    "idempotent": [[0, 1, 2], ["0", "1", "2"], ["3"]],
    "outcomes": ["fenced", list("123456"), ["1", "2", "3", "no", "4", "5", "6"]],
    "offsets": [-1, 3, ["0", "1", "2"]],
    "rebalance": [[4], [2, 2], [4], BILLS],
    "process": [6, 6],
    "crash": ["before", "after", "again"],
}
"""The results that every client must see, under every profile, and on a running Kafka."""
