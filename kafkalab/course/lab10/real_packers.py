"""A packer with a real client: librdkafka's and aiokafka's transactional producer, and their group's committed offset.

A client is imported when its packer is made, so that a lab can be read without it. Records are in flight until the
commit: no packer waits for one of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

GIVEN_UP_MS, WAIT_S = 1_000, 60
"""When a client gives a request up and sends it again; the limit of each call."""
ORDERS, PARCELS, GROUP = "orders", "parcels", "packers"
TOPICS = {ORDERS: 1, PARCELS: 1}
WAITING = ("tea", "jam", "pot")
"""The records of the only partition of `orders`."""
CLIENT = "app"
"""The client's name, which frames have: "app:EndTxn#2"."""


class Packer(Protocol):
    """One process of the packing service. `send_offset` puts the group's next offset into the transaction."""

    def begin(self) -> None: ...
    def send(self, parcel: str) -> None: ...
    def send_offset(self, offset: int, timeout_s: float = WAIT_S) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def find_offset(self) -> int: ...
    def close(self) -> None: ...


Start = Callable[[], Packer]


class Librdkafka:
    """confluent-kafka, which is librdkafka. `settings` are more of its producer's; names begin with `prefix`."""

    def __init__(self, servers: str, prefix: str = "", **settings: Any) -> None:
        from confluent_kafka import Consumer, Producer

        self.orders, self.parcels = prefix + ORDERS, prefix + PARCELS
        quiet = {"bootstrap.servers": servers, "log_level": 0}
        self.consumer = Consumer({**quiet, "group.id": prefix + GROUP, "client.id": "reader"})
        self.producer = Producer({
            **quiet, "client.id": CLIENT, "transactional.id": prefix + "packer-1", "linger.ms": 0,
            "socket.timeout.ms": GIVEN_UP_MS, **settings,
        })  # fmt: skip
        self.producer.init_transactions(WAIT_S)

    def begin(self) -> None:
        self.producer.begin_transaction()

    def send(self, parcel: str) -> None:
        self.producer.produce(self.parcels, parcel, partition=0)

    def send_offset(self, offset: int, timeout_s: float = WAIT_S) -> None:
        group = self.consumer.consumer_group_metadata()
        self.producer.send_offsets_to_transaction([self._place(offset)], group, timeout_s)

    def commit(self) -> None:
        self.producer.commit_transaction(WAIT_S)

    def abort(self) -> None:
        self.producer.abort_transaction(WAIT_S)

    def find_offset(self) -> int:
        return max(0, int(self.consumer.committed([self._place()], WAIT_S)[0].offset))

    def _place(self, offset: int = 0) -> Any:
        from confluent_kafka import TopicPartition

        return TopicPartition(self.orders, 0, offset)

    def close(self) -> None:
        self.consumer.close()


class Aiokafka:
    """aiokafka, in an event loop of its own: the thread of a notebook has one already."""

    def __init__(self, servers: str, prefix: str = "") -> None:
        from aiokafka import TopicPartition

        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        self.servers, self.prefix, self.place = servers, prefix, TopicPartition(prefix + ORDERS, 0)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.producer = self._wait(self._start())

    def _run(self) -> None:
        with contextlib.closing(self.loop):
            self.loop.run_forever()

    def _wait(self, call: Coroutine[Any, Any, Any], timeout_s: float = WAIT_S) -> Any:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(call, timeout_s), self.loop).result()

    async def _start(self) -> Any:
        from aiokafka import AIOKafkaProducer

        made = AIOKafkaProducer(
            bootstrap_servers=self.servers, client_id=CLIENT, transactional_id=self.prefix + "packer-1",
            enable_idempotence=True, request_timeout_ms=GIVEN_UP_MS,
        )  # fmt: skip
        await made.start()
        return made

    def begin(self) -> None:
        self._wait(self.producer.begin_transaction())

    def send(self, parcel: str) -> None:
        self._wait(self.producer.send(self.prefix + PARCELS, parcel.encode(), partition=0))

    def send_offset(self, offset: int, timeout_s: float = WAIT_S) -> None:
        self._wait(self.producer.send_offsets_to_transaction({self.place: offset}, self.prefix + GROUP), timeout_s)

    def commit(self) -> None:
        self._wait(self.producer.commit_transaction())

    def abort(self) -> None:
        self._wait(self.producer.abort_transaction())

    def find_offset(self) -> int:
        return int(self._wait(self._ask()))

    async def _ask(self) -> int:
        from aiokafka.admin import AIOKafkaAdminClient

        admin = AIOKafkaAdminClient(bootstrap_servers=self.servers, client_id="reader")
        await admin.start()
        found = await admin.list_consumer_group_offsets(self.prefix + GROUP, partitions=[self.place])
        await admin.close()
        return max(0, int(found[self.place].offset))

    def close(self) -> None:
        self._wait(self.producer.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
