"""`python -m tests.wire.kills --times 100`: end a server with SIGKILL at random moments under load; nothing is lost.

Producers of confluent-kafka write transactions, with the offsets of a group, and keep a log of what they were told. At
the end the logs of the server are read by a new consumer and compared with that.
"""

from __future__ import annotations

import argparse
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, Producer, TopicPartition

TOPIC, PARTITIONS, SECONDS = "orders", 3, 60
WAIT_S, STUCK_S = 20, 30
"""librdkafka 2.16 never returns from send_offsets_to_transaction if its TxnOffsetCommit is lost with the connection."""
WITH_OFFSETS = 5
"""Every so many transactions one commits an offset of a group."""
QUICK = {
    "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 20, "log_level": 0,
}  # fmt: skip


def free_ports(count: int) -> int:
    """Return the first of `count` ports in a row that are free now."""
    for first in range(20_000 + random.randrange(10_000), 60_000, count):
        try:
            for port in range(first, first + count):
                with socket.create_server(("127.0.0.1", port)):
                    pass
        except OSError:
            continue
        return first
    raise OSError("no free ports")


class Worker(threading.Thread):
    """One producer. `told` has each transaction's outcome, `acknowledged` every record that was acknowledged.

    A successor goes on for a worker whose client never returned; its transactional id fences that one.
    """

    def __init__(self, name: str, servers: str, seed: int, told: dict[int, str] | None = None) -> None:
        super().__init__(daemon=True)
        self.name, self.servers, self.random = name, servers, random.Random(seed)
        self.told = dict(told or {})
        self.progress_s = time.monotonic()
        self.acknowledged: dict[str, tuple[int, int]] = {}
        """Partition and offset of each record."""
        self.ended, self.errors = threading.Event(), Counter[str]()
        self.failed: BaseException | None = None

    def run(self) -> None:
        """Write transactions until `ended` is set."""
        try:
            producer = self.producer()
            while not self.ended.is_set():
                if not self._transaction(producer, len(self.told)):
                    del producer  # its threads end
                    producer = self.producer()
                self.progress_s = time.monotonic()
        except BaseException as error:
            self.failed = error

    def producer(self) -> Producer:
        """Return a producer that has fenced any earlier one."""
        timeouts = {"transaction.timeout.ms": 60_000, "message.timeout.ms": 50_000}
        producer = Producer({"bootstrap.servers": self.servers, "transactional.id": self.name, **QUICK, **timeouts})
        self._until_done(producer.init_transactions)
        return producer

    def _until_done(self, call: Any, *args: Any) -> None:
        """Call, and again after an error of which the client says that this is right."""
        until = time.monotonic() + SECONDS
        while True:
            try:
                call(*args, 5)
                return
            except KafkaException as error:
                self.errors[error.args[0].name()] += 1
                if not error.args[0].retriable() or time.monotonic() > until:
                    raise

    def _transaction(self, producer: Producer, number: int) -> bool:
        """Write one transaction, and what became of it; return whether the producer can go on."""
        producer.begin_transaction()
        self.told[number] = "unknown"
        try:
            for place in range(PARTITIONS):
                value = f"{self.name}-{number}-{place}"
                producer.produce(TOPIC, value, partition=place, on_delivery=self._on_delivery)
            if number % WITH_OFFSETS == 0:
                read = TopicPartition(TOPIC, 0, number + 1)
                group = self._group().consumer_group_metadata()
                self._until_done(producer.send_offsets_to_transaction, [read], group)
            if self.random.randrange(4):
                self._until_done(producer.commit_transaction)
                self.told[number] = "committed"
                return True
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                return False
        try:
            self._until_done(producer.abort_transaction)
        except KafkaException:
            return False
        self.told[number] = "aborted"
        return True

    def _group(self) -> Consumer:
        if not hasattr(self, "_consumer"):
            self._consumer = Consumer({"bootstrap.servers": self.servers, "group.id": f"g-{self.name}", **QUICK})
        return self._consumer

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is None:
            self.acknowledged[message.value().decode()] = (message.partition(), message.offset())


class Killed:
    """A server that is killed and started again, on the same ports and folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_ports(3)
        given = ("--port", str(self.port), "--data", str(folder / "data"), "--topics", f"{TOPIC}:{PARTITIONS}")
        self.command = [sys.executable, "-m", "kafkalab.cli.main", "serve", *given, *options]
        self.log = folder / "serve.log"
        self.servers = ",".join(f"127.0.0.1:{self.port + n}" for n in range(3))

    def start(self) -> None:
        """Return when it is ready."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("ready"), f"it did not start: see {self.log}"

    def kill(self) -> None:
        """End the process as it stands."""
        self.process.kill()
        self.process.communicate()


def values(servers: str, isolation: str) -> dict[tuple[int, int], str]:
    """Return each value that can be read, by partition and offset."""
    consumer = Consumer({
        "bootstrap.servers": servers, "group.id": f"reader {isolation}", "isolation.level": isolation,
        "enable.auto.commit": False, **QUICK,
    })  # fmt: skip
    ends = [consumer.get_watermark_offsets(TopicPartition(TOPIC, p), 30)[1] for p in range(PARTITIONS)]
    consumer.assign([TopicPartition(TOPIC, p, 0) for p in range(PARTITIONS)])
    found: dict[tuple[int, int], str] = {}
    until = time.monotonic() + SECONDS
    while True:
        for message in consumer.consume(1_000, 0.2):
            partition, offset, value = message.partition(), message.offset(), message.value()
            assert partition is not None
            assert offset is not None
            assert value is not None
            found[partition, offset] = value.decode()
        places = [place.offset for place in consumer.position([TopicPartition(TOPIC, p) for p in range(PARTITIONS)])]
        if all(place >= end for place, end in zip(places, ends, strict=True)):
            break
        assert time.monotonic() < until, f"read up to {places} of {ends}"
    consumer.close()
    return found


def find_reused(worker: Worker, places: dict[tuple[int, int], str]) -> list[str]:
    """Return the values that were acknowledged with the offset of an earlier record of the same producer.

    librdkafka 2.16 gives a sequence twice: see tests/wire/clients/test_reused_sequence.py.
    """
    held = {value: places.get(place, "") for value, place in worker.acknowledged.items()}
    return [v for v, there in held.items() if there != v and there.startswith(f"{worker.name}-")]


def wrong(workers: list[Worker], servers: str, counts: Counter[str]) -> list[str]:
    """Return what differs from what the producers were told; count what they did wrong themselves."""
    committed, found = Counter(values(servers, "read_committed").values()), []
    places = values(servers, "read_uncommitted")
    written = Counter(places.values())
    for worker in workers:
        last, excused = -1, find_reused(worker, places)
        counts["sequences that the client used twice"] += len(excused)
        lost = [value for value in worker.acknowledged if not written[value] and value not in excused]
        found += [f"acknowledged, and lost: {value} at {worker.acknowledged[value]}" for value in lost]
        for number, outcome in worker.told.items():
            names = [f"{worker.name}-{number}-{place}" for place in range(PARTITIONS)]
            seen = [committed[name] or int(outcome == "committed" and name in excused) for name in names]
            right = {"committed": ([1] * 3,), "aborted": ([0] * 3,), "unknown": ([0] * 3, [1] * 3)}[outcome]
            if seen not in right:
                found.append(f"{worker.name}-{number} was {outcome}, and its records are there {seen} times")
            elif seen == [1] * 3 and number % WITH_OFFSETS == 0:
                last = number
        (place,) = worker._group().committed([TopicPartition(TOPIC, 0)], 30)
        if place.offset != (last + 1 or OFFSET_INVALID):
            found.append(f"{worker.name}: the group is at {place.offset}, its last committed transaction is {last}")
    return found


def replace_stuck(worker: Worker) -> Worker:
    """Return the worker, or its successor if its client has not returned for long."""
    if worker.failed or time.monotonic() - worker.progress_s < STUCK_S:
        return worker
    worker.ended.set()
    successor = Worker(worker.name, worker.servers, len(worker.told), worker.told)
    successor.acknowledged |= worker.acknowledged
    successor.start()
    return successor


def campaign(folder: Path, times: int, seed: int, *options: str, producers: int = 3) -> tuple[list[str], Counter[str]]:
    """Kill a server `times` times; return what is wrong, and counts."""
    chance, server = random.Random(seed), Killed(folder, *options)
    server.start()
    workers = [Worker(f"w{n}", server.servers, seed + n) for n in range(producers)]
    for worker in workers:
        worker.start()
    successors = kills = 0
    for _ in range(times):
        if any(w.failed for w in workers):
            break
        now = [replace_stuck(worker) for worker in workers]
        successors += sum(a is not b for a, b in zip(now, workers, strict=True))
        workers = now
        before = sum(len(w.told) for w in workers)
        until = time.monotonic() + WAIT_S
        while sum(len(w.told) for w in workers) < before + 2 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.5)
        server.kill()
        kills += 1
        server.start()
    for worker in workers:
        worker.ended.set()
    until = time.monotonic() + STUCK_S
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
    found = [f"{w.name} has stopped: {w.failed!r}" for w in workers if w.failed]
    for worker in workers:
        Worker(worker.name, server.servers, 0).producer()  # it aborts what a client that never returned has left open
    counts = Counter(outcome for w in workers for outcome in w.told.values())
    found += wrong(workers, server.servers, counts)
    counts["kills"], counts["clients that never returned"] = kills, successors
    counts["records acknowledged"] = sum(len(w.acknowledged) for w in workers)
    counts["starts that cut torn bytes"] = server.log.read_text().count(" are cut")
    server.process.terminate()
    server.process.communicate()
    return found, counts


def main() -> int:
    """Print what became of the transactions; return 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cluster-level", default="2")
    parser.add_argument("--fsync", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kills"))
    more = ("--cluster-level", options.cluster_level, *(["--fsync"] if options.fsync else []))
    began = time.monotonic()
    found, counts = campaign(folder, options.times, options.seed, *more)
    for line in found:
        print(line)
    print(f"{counts.pop('kills')} kills in {time.monotonic() - began:.0f} s:", dict(counts), f"{len(found)} wrong")
    if found:
        print(f"see {folder}")
    else:
        shutil.rmtree(folder)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
