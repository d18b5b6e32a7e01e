"""Consume, transform, produce, as the documentation of the clients for Python has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.wire.clients.script import FencedError


class Application:
    """One process of an application; `transactional_id` names the id of the transactions of a partition.

    Records are in flight when the offsets are sent: it is the commit that waits for their acknowledgements.

    A client that sends its generation with a transaction's offsets (KIP-447) has one id for all partitions. With one
    that does not, each partition has its own: whoever gets the partition next fences the one before.
    """

    def __init__(
        self, client: Any, group: str, topic: str, out: str, transactional_id: Callable[[int], str]
    ) -> None:
        self.client, self.topic, self.out, self.transactional_id = client, topic, out, transactional_id
        self.consumer = client.consumer(group, topic, "read_committed")
        self.producers: dict[str, Any] = {}

    def step(self, commit: bool) -> list[str]:
        """Handle what a poll returns, one transaction for each transactional id; return the values that passed."""
        by_id: dict[str, list[Any]] = {}
        for record in self.consumer.poll():
            by_id.setdefault(self.transactional_id(record.partition), []).append(record)
        done: list[str] = []
        for name, records in by_id.items():
            done += self._transact(self._producer(name), records, commit)
        return done

    def _producer(self, name: str) -> Any:
        if name not in self.producers:
            self.producers[name] = self.client.producer(name)
            self.producers[name].init()
        return self.producers[name]

    def _transact(self, producer: Any, records: list[Any], commit: bool) -> list[str]:
        offsets = {record.partition: record.offset + 1 for record in records}
        producer.begin()
        try:
            for record in records:
                producer.enqueue(self.out, record.partition, record.value)
            producer.send_offsets(self.topic, offsets, self.consumer)
            if commit:
                producer.commit()
                return [record.value for record in records]
        except FencedError:
            raise
        except Exception:
            records = []
        producer.abort()
        self.consumer.rewind()
        return [record.value for record in records]

    def forget(self) -> None:
        """Close the producers: their partitions may have become another instance's."""
        for producer in self.producers.values():
            producer.close()
        self.producers.clear()

    def assigned(self) -> int:
        return int(self.consumer.assigned())

    def close(self) -> None:
        self.consumer.close()
        self.forget()
