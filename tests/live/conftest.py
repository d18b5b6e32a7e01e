"""Live clusters for tests, and a client whose calls wait in a thread of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from kafkalab.live.cluster import LiveCluster
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, Record
from tests.browser.conftest import browser, console_errors, page
from tests.wire.connection import Connection

__all__ = ["browser", "console_errors", "page"]
CALL_S = 30


class Client:
    """A transactional producer of raw requests; `later` makes a call in a thread, `now` waits for its result."""

    def __init__(self, live: LiveCluster, tid: str = "pay", name: str = "app") -> None:
        self.live, self.tid, self.name = live, tid, name
        self.servers = live.bootstrap_servers
        self.pid, self.epoch, self.sequence = -1, -1, 0
        self._pool = ThreadPoolExecutor(1)
        self._connections: dict[int, Connection] = {}

    def ask(self, broker: str, body: Any, version: int) -> Any:
        number = int(broker[1:])
        if number not in self._connections:
            self._connections[number] = Connection(self.servers, number, self.name)
        return self._connections[number].ask(body, version)

    def later(self, call: Callable[[], Any]) -> Future[Any]:
        return self._pool.submit(call)

    def now(self, call: Callable[[], Any]) -> Any:
        return self.later(call).result(CALL_S)

    @property
    def coordinator(self) -> str:
        return self.live.cluster.controller.metadata.leader(transaction_partition(self.tid))

    def init(self) -> Error:
        found = self.ask(self.coordinator, InitProducerId(transactional_id=self.tid), 4)
        self.pid, self.epoch = found.producer_id, found.producer_epoch
        error: Error = found.error
        return error

    def send(self, value: str, partition: str = "out-0") -> Error:
        leader = self.live.cluster.controller.metadata.leader(partition)
        batch = Batch(
            records=(Record("k", value),), producer_id=self.pid, producer_epoch=self.epoch,
            base_sequence=self.sequence, transactional=True, timestamp_ms=time.time_ns() // 1_000_000,
        )  # fmt: skip
        self.sequence += 1
        found = self.ask(
            leader, Produce(transactional_id=self.tid, acks=-1, timeout_ms=9000, batches={partition: batch}), 12
        )
        error: Error = found.partitions[partition].error
        return error

    def end(self, committed: bool = True) -> Error:
        asked = EndTxn(
            transactional_id=self.tid, producer_id=self.pid, producer_epoch=self.epoch, committed=committed
        )
        found = self.ask(self.coordinator, asked, 5)
        if found.error is Error.NONE:
            if found.producer_epoch != self.epoch or found.producer_id != self.pid:
                self.sequence = 0
            self.pid, self.epoch = found.producer_id, found.producer_epoch
        error: Error = found.error
        return error

    def disconnect(self) -> None:
        for connection in self._connections.values():
            connection.socket.close()
        self._connections.clear()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self.disconnect()


@pytest.fixture
def live() -> Iterator[LiveCluster]:
    with LiveCluster(topics={"out": 1}) as cluster:
        yield cluster


@pytest.fixture
def client(live: LiveCluster) -> Iterator[Client]:
    made = Client(live)
    yield made
    live.free_run()
    live.close()
    made.close()
