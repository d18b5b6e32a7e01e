"""`python -m tests.wire.soak --minutes 10`: sixteen clients for as long as that; memory stays flat, and no error comes.

Of confluent-kafka's clients ten write transactions, two consume, transform and produce, two read a group's share and
two write without transactions. `--traced` says of what there are more objects than a minute before.
"""

from __future__ import annotations

import argparse
import gc
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

TOPIC, OUT, PARTITIONS = "orders", "out", 3
ABORTS, OFFSETS = 10, 5
"""Every so many transactions one is aborted, one commits an offset of a group."""
MOST_LINES, MOST_ITEMS = 14, 1_500
GROWTH_MB = 10
"""The MB that memory may grow from the end of the warm-up on: the index of older batches takes 0.2 KB a transaction."""
QUIET = {"log_level": 0, "linger.ms": 0}


class Client(threading.Thread):
    """One client; `done` counts what it did, `failed` is what ended it. `pause_s` is how long it waits after each."""

    def __init__(self, name: str, servers: str, pause_s: float) -> None:
        super().__init__(daemon=True)
        self.name, self.servers, self.pause_s = name, servers, pause_s
        self.ended, self.done, self.failed = threading.Event(), Counter[str](), ""

    def run(self) -> None:
        """Act until `ended` is set."""
        try:
            self.begin()
            number = 0
            while not self.ended.is_set():
                self.act(number)
                number += 1
                self.ended.wait(self.pause_s)
        except KafkaException as error:
            self.failed = f"{self.name}: {error}"
        finally:
            self.close()

    def on_delivery(self, error: Any, message: Any) -> None:
        """Note a record that was not delivered, but for those of an aborted transaction."""
        if error is not None and error.name() != "_PURGE_QUEUE":
            self.failed = f"{self.name}: {error}"

    def begin(self) -> None:
        """Make the client."""
        self.producer = Producer({"bootstrap.servers": self.servers, "transactional.id": self.name, **QUIET})
        self.producer.init_transactions(30)

    def close(self) -> None:
        """End the client."""
        self.producer.flush(10)

    def act(self, number: int) -> None:
        """Do what this client does, for the time `number`."""
        self.producer.begin_transaction()
        for place in range(PARTITIONS):
            self.producer.produce(TOPIC, b"x" * 100, partition=place, on_delivery=self.on_delivery)
        self.end(number)

    def end(self, number: int) -> None:
        """Commit, or abort."""
        if number % ABORTS == ABORTS - 1:
            self.producer.flush(30)
            self.producer.abort_transaction(30)
            self.done["aborted"] += 1
        else:
            self.producer.commit_transaction(30)
            self.done["committed"] += 1


class Processor(Client):
    """Consume, transform and produce."""

    def begin(self) -> None:
        super().begin()
        self.consumer = Consumer({
            "bootstrap.servers": self.servers, "group.id": "processors", "isolation.level": "read_committed",
            "enable.auto.commit": False, "auto.offset.reset": "latest", **QUIET,
        })  # fmt: skip
        self.consumer.subscribe([TOPIC])

    def act(self, number: int) -> None:
        found = [m for m in self.consumer.consume(50, 0.5) if m.error() is None]
        if not found:
            return
        self.producer.begin_transaction()
        for message in found:
            self.producer.produce(OUT, message.value(), on_delivery=self.on_delivery)
        if number % OFFSETS == 0:
            places = self.consumer.position(self.consumer.assignment())
            self.producer.send_offsets_to_transaction(places, self.consumer.consumer_group_metadata(), 30)
        self.end(number)

    def close(self) -> None:
        self.consumer.close()


class Reader(Client):
    """Read what is committed, as one of a group, and commit."""

    def begin(self) -> None:
        self.consumer = Consumer({
            "bootstrap.servers": self.servers, "group.id": self.name, "isolation.level": "read_committed",
            "auto.offset.reset": "earliest", "auto.commit.interval.ms": 500, **QUIET,
        })  # fmt: skip
        self.consumer.subscribe([OUT])

    def act(self, number: int) -> None:
        self.done["read"] += len([m for m in self.consumer.consume(200, 0.2) if m.error() is None])

    def close(self) -> None:
        self.consumer.close()


class Idempotent(Client):
    """Write without transactions."""

    def begin(self) -> None:
        self.producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True, **QUIET})

    def act(self, number: int) -> None:
        self.producer.produce(TOPIC, b"y" * 100, on_delivery=self.on_delivery)
        self.producer.flush(30)
        self.done["sent alone"] += 1


KINDS = [Client] * 10 + [Processor] * 2 + [Reader] * 2 + [Idempotent] * 2


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) / 1024 for row in rows if row.startswith("VmRSS"))


def soak(
    seconds: float, warm_s: float, every_s: float, rate: float, growth_mb: float, *options: str, traced: bool = False
) -> list[str]:
    """Let sixteen clients work, each at most `rate` times a second; print memory now and then; return what is wrong.

    Memory counts from `warm_s` on, and may grow by `growth_mb`.
    """
    topics = ("--port", "0", "--topics", f"{TOPIC}:{PARTITIONS},{OUT}:{PARTITIONS}")
    quick = ("--config", "group.initial.rebalance.delay.ms=0")
    command = ["-m", "tests.wire.soak", "--serve"] if traced else ["-m", "kafkalab.cli.main", "serve"]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(
            [sys.executable, *command, *topics, *quick, *options], stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert server.stdout is not None
        servers = server.stdout.readline().removeprefix("ready: ").strip()
        clients = [kind(f"{kind.__name__.lower()}-{n}", servers, 1 / rate) for n, kind in enumerate(KINDS)]
        for client in clients:
            client.start()
        began, warm = time.monotonic(), 0.0
        while (passed := time.monotonic() - began) < seconds and server.poll() is None:
            time.sleep(min(every_s if warm else warm_s, max(seconds - passed, 0.1)))
            now, done = memory_mb(server.pid), sum((c.done for c in clients), Counter[str]())
            if not warm:
                warm = now
            if traced:
                server.send_signal(signal.SIGUSR1)
            print(f"{time.monotonic() - began:5.0f} s  {now:6.1f} MB  {dict(done)}", flush=True)
        for client in clients:
            client.ended.set()
        for client in clients:
            client.join(40)
        found = [c.failed for c in clients if c.failed] + [f"{c.name} does not end" for c in clients if c.is_alive()]
        found += [f"{c.name} did nothing" for c in clients if not c.done]
        if now > warm + growth_mb:
            found.append(f"memory has grown from {warm:.1f} to {now:.1f} MB")
        server.terminate()
        if server.wait(30) != 0:
            found.append(f"the server ended with {server.returncode}")
        if traced:
            print(server.stdout.read())
        server.stdout.close()
        log.seek(0)
        return found + [f"log: {line}" for line in log.read().splitlines()]


def serve(options: list[str]) -> None:
    """Serve as `kafkalab serve` does; at SIGUSR1 print of which types there are more objects than at the last one.

    (A snapshot of tracemalloc holds the server up until its clients time out.)
    """
    from kafkalab.cli.main import main as kafkalab

    last: list[Counter[str]] = [Counter()]

    def show(*_: Any) -> None:
        gc.collect()
        found = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects())
        for deque_or_map in gc.get_objects():
            if type(deque_or_map) in (dict, list, deque, set) and len(deque_or_map) > MOST_ITEMS:
                print(f"  {len(deque_or_map):8} in a {type(deque_or_map).__name__} {str(deque_or_map)[:90]}")
        for name, count in (found - last[-1]).most_common(MOST_LINES):
            print(f"  {count:8} more {name}", flush=True)
        print(flush=True)
        last[:] = [found]

    signal.signal(signal.SIGUSR1, show)
    sys.exit(kafkalab(["serve", *options]))


def main() -> int:
    """Print memory and counts; return 1 if anything is wrong."""
    if "--serve" in sys.argv:
        serve(sys.argv[sys.argv.index("--serve") + 1 :])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--warm", type=float, default=60, help="seconds after which memory counts")
    parser.add_argument("--every", type=float, default=60, help="seconds between two lines")
    parser.add_argument("--rate", type=float, default=20, help="the most that each client does in a second")
    parser.add_argument("--growth", type=float, default=GROWTH_MB, help="the megabytes that memory may grow after that")
    parser.add_argument("--data", action="store_true")
    parser.add_argument("--traced", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = ("--data", folder) if options.data else ()
        seconds = options.minutes * 60
        how = (options.warm, options.every, options.rate, options.growth)
        found = soak(seconds, *how, *data, traced=options.traced)
    for line in found:
        print(line)
    print(f"16 clients for {options.minutes:g} minutes: {len(found)} wrong")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
