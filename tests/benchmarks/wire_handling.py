"""`python -m tests.benchmarks.wire_handling`: the time of a transaction from bytes to bytes, without sockets and
clients (the fastest tenth); with --profile, where it goes.

The requests are those of librdkafka: AddPartitionsToTxn 0, Produce 10 and EndTxn 1, each on its own connection.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import statistics
import time
from typing import Any

from kafkalab.protocol import batch_bytes
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.wire.batches import read_batch
from kafkalab.wire.codec import read_response, request_bytes
from kafkalab.wire.live import RealTime, scenario_of
from kafkalab.wire.server import Connection, Server
from tests.benchmarks.lines import line


class Socket(asyncio.Transport):
    """Takes what is written; nobody reads it but who asks for `written`."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: Any) -> None:
        self.written = data

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        """Nothing to pause."""

    def resume_reading(self) -> None:
        """Nothing to resume."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self if name == "socket" else default

    def abort(self) -> None:
        """Nothing to close."""

    def setsockopt(self, *args: int) -> None:
        """Nothing to set."""


class Client:
    """One transactional producer, with a connection to each broker."""

    def __init__(self, server: Server, number: int, records: int) -> None:
        self.tid, self.partition, self.records = f"t{number}", f"orders-{number % 3}", records
        self.server, self.sequence, self.count = server, 0, 0
        self.connections = {}
        for broker in server.live.cluster.broker_names:
            self.connections[broker] = Connection(server, broker)
            self.connections[broker].connection_made(Socket())
        leaders = server.live.cluster.controller.metadata
        self.coordinator = leaders.leader(transaction_partition(self.tid))
        self.leader = leaders.leader(self.partition)
        made = self.ask(self.coordinator, InitProducerId(transactional_id=self.tid, transaction_timeout_ms=60_000), 4)
        self.producer_id, self.epoch = made.producer_id, made.producer_epoch

    def ask(self, broker: str, body: Any, version: int) -> Any:
        """Send a request and read its response."""
        api = type(body).__name__
        written = self.send(broker, request_bytes(api, version, 1, "rdkafka", body, self.server.names))
        return read_response(api, version, written[4:], self.server.names)[1]

    def send(self, broker: str, data: bytes) -> bytes:
        """Send the bytes of a request; return those of its response."""
        connection = self.connections[broker]
        transport: Any = connection.transport
        transport.written = b""
        connection.data_received(data)
        written: bytes = transport.written
        assert written, "no answer at once"
        return written

    def requests(self) -> list[tuple[str, bytes]]:
        """Return the bytes of the next transaction's requests, and the brokers they go to."""
        ids = {"transactional_id": self.tid, "producer_id": self.producer_id, "producer_epoch": self.epoch}
        batch = Batch(
            records=(Record(None, "x" * 100),) * self.records, timestamp_ms=self.server.live.now_ms, transactional=True,
            producer_id=self.producer_id, producer_epoch=self.epoch, base_sequence=self.sequence, base_offset=0,
        )  # fmt: skip
        self.sequence += self.records
        batches = {self.partition: read_batch(batch_bytes.encode(batch))}
        made = (
            (self.coordinator, AddPartitionsToTxn(partitions=(self.partition,), **ids), 0),
            (self.leader, Produce(batches=batches, transactional_id=self.tid, acks=-1, timeout_ms=30_000), 10),
            (self.coordinator, EndTxn(committed=True, **ids), 1),
        )
        names = self.server.names
        return [(to, request_bytes(type(b).__name__, v, 1, "rdkafka", b, names)) for to, b, v in made]


async def measure(count: int, records: int, keep: bool, profile: bool) -> None:
    """Print the time of a transaction, or a profile."""
    server = Server(RealTime(scenario_of(2, 3, {"orders": 3}, {}), keep=keep))
    await server.listen(port=0)
    client = Client(server, 0, records)
    profiler = cProfile.Profile()
    used: dict[str, list[float]] = {"add": [], "produce": [], "end": []}
    for number in range(count + count // 10):
        for kind, (to, data) in zip(used, client.requests(), strict=True):
            if profile and number >= count // 10:
                profiler.enable()
            began = time.perf_counter()
            client.send(to, data)
            used[kind].append((time.perf_counter() - began) * 1e6)
            profiler.disable()
        await asyncio.sleep(0)
        server.live.catch_up()
    least = {kind: statistics.quantiles(taken, n=10)[0] for kind, taken in used.items()}
    parts = ", ".join(f"{kind} {taken:4.0f}" for kind, taken in least.items())
    figures = f"{sum(least.values()):5.0f} us: {parts}"
    line(f"{records} records, trace {'kept' if keep else 'off'}", figures)
    await server.close()
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(45)


def main() -> None:
    """Print figures, or profiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    for records, keep in ((1, False), (1, True), (100, False)):
        asyncio.run(measure(options.count, records, keep, options.profile))


if __name__ == "__main__":
    main()
