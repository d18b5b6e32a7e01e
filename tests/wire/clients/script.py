"""One program for every client: what exactly-once means to whoever writes and reads."""

from __future__ import annotations

import time
from typing import Any, Protocol

PATIENCE_S = 60


class FencedError(Exception):
    """A newer producer has the transactional id."""


class Producer(Protocol):
    """A transactional producer, or an idempotent one if it has no transactional id."""

    def init(self) -> None: ...
    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, value: str) -> int: ...
    def send_offset(self, topic: str, partition: int, offset: int, consumer: Any) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class Consumer(Protocol):
    """A member of a group that has subscribed to one topic."""

    def poll(self) -> list[str]: ...
    def committed(self, topic: str, partition: int) -> int: ...
    def close(self) -> None: ...


class Client(Protocol):
    """One library. `close` ends what it has started."""

    def producer(self, transactional_id: str) -> Producer: ...
    def consumer(self, group: str, topic: str, isolation: str) -> Consumer: ...
    def close(self) -> None: ...


def read(consumer: Consumer, count: int) -> list[str]:
    """Poll until `count` records have come, and once more."""
    found: list[str] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        found += consumer.poll()
    return found + consumer.poll()


EXPECTED = {
    "idempotent": [0, 1, 2],
    "read": ["1", "2"],
    "committed offset": 5,
    "offset after an abort": 5,
    "zombie": "fenced",
    "read_committed": ["1", "2", "3"],
    "read_uncommitted": ["1", "no", "2", "3"],
    "out": ["sum"],
}
"""What every client must see, under every profile, and on a running Kafka."""


def run(client: Client) -> dict[str, Any]:
    """Run the program; return what could be seen."""
    seen: dict[str, Any] = {}
    plain = client.producer("")
    seen["idempotent"] = [plain.send("plain", 0, str(n)) for n in range(3)]
    a = client.producer("pay")
    a.init()
    for value, ends in (("1", a.commit), ("no", a.abort), ("2", a.commit)):
        a.begin()
        a.send("in", 0, value)
        ends()
    reader = client.consumer("group", "in", "read_committed")
    seen["read"] = read(reader, 2)
    a.begin()
    a.send("out", 0, "sum")
    a.send_offset("in", 0, 5, reader)
    a.commit()
    seen["committed offset"] = reader.committed("in", 0)
    a.begin()
    a.send_offset("in", 0, 4, reader)
    a.abort()
    seen["offset after an abort"] = reader.committed("in", 0)
    reader.close()
    b = client.producer("pay")
    b.init()
    try:
        a.begin()
        a.send("in", 0, "zombie")
        a.commit()
    except FencedError:
        seen["zombie"] = "fenced"
    b.begin()
    b.send("in", 0, "3")
    b.commit()
    for isolation, count in (("read_committed", 3), ("read_uncommitted", 4)):
        consumer = client.consumer(isolation, "in", isolation)
        seen[isolation] = read(consumer, count)
        consumer.close()
    consumer = client.consumer("out", "out", "read_committed")
    seen["out"] = read(consumer, 1)
    consumer.close()
    for producer in (plain, b):
        producer.close()
    return seen
