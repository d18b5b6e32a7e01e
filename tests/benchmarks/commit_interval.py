"""`python -m tests.benchmarks.commit_interval`: how long a reader waits, by commit interval, with librdkafka.

The brokers are those of this package, over sockets; beside it are the simulator's numbers. `--save` writes
docs/commit_interval.txt, with the machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import threading
import time
from pathlib import Path

import confluent_kafka
from confluent_kafka import Consumer, Producer

from kafkalab.course.lab13.scenario import commit_interval
from kafkalab.live.cluster import LiveCluster
from kafkalab.programs.committing import times
from kafkalab.sim.cluster import ran

COMMAND = "python -m tests.benchmarks.commit_interval --save"
PAGE = Path(__file__).parents[2] / "docs" / "commit_interval.txt"
EVERY_MS, INTERVALS, LEVELS = 50, (100, 200, 500, 1_000), ("read_uncommitted", "read_committed")


def measure(interval_ms: int, until_ms: int, level: str) -> dict[str, int]:
    """Send a record each EVERY_MS, commit each interval; return the reader's shortest, mean and longest wait in ms."""
    count, waits = until_ms // EVERY_MS, list[int]()
    with LiveCluster(topics={"out": 1}) as live:
        place = {"bootstrap.servers": live.bootstrap_servers, "log_level": 0}
        ready = threading.Event()

        def read() -> None:
            consumer = Consumer(
                {
                    **place,
                    "group.id": "g",
                    "isolation.level": level,
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 5,
                }
            )
            consumer.assign([confluent_kafka.TopicPartition("out", 0, 0)])
            ready.set()
            end = time.monotonic() + 60
            while len(waits) < count and time.monotonic() < end:
                message = consumer.poll(0.5)
                if message is not None and message.error() is None:
                    waits.append(round((time.monotonic_ns() - int(message.value() or b"")) / 1e6))
            consumer.close()

        reader = threading.Thread(target=read)
        reader.start()
        producer = Producer({**place, "transactional.id": "stream-0", "linger.ms": 5})
        producer.init_transactions(30)
        ready.wait()
        _send(producer, count, interval_ms)
        reader.join()
    return times(waits)


def _send(producer: Producer, count: int, interval_ms: int) -> None:
    begun = time.monotonic_ns()
    commit_ns, is_open = begun + interval_ms * 1_000_000, False
    for number in range(1, count + 1):
        comes_ns = begun + number * EVERY_MS * 1_000_000
        while comes_ns > commit_ns:
            time.sleep(max(commit_ns - time.monotonic_ns(), 0) / 1e9)
            if is_open:
                producer.commit_transaction(30)
            is_open, commit_ns = False, commit_ns + interval_ms * 1_000_000
        time.sleep(max(comes_ns - time.monotonic_ns(), 0) / 1e9)
        if not is_open:
            producer.begin_transaction()
            is_open = True
        producer.produce("out", str(comes_ns), partition=0)
        producer.poll(0)
    time.sleep(max(commit_ns - time.monotonic_ns(), 0) / 1e9)
    producer.commit_transaction(30)


def main() -> None:
    """Measure every interval under both isolation levels, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--until-ms", type=int, default=4_000)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    library = f"confluent-kafka {confluent_kafka.version()}, librdkafka {confluent_kafka.libversion()[0]}"
    lines = [
        f"Made by `{COMMAND}`: a record each {EVERY_MS} ms for {options.until_ms} ms, all on one machine.",
        f"Machine: {machine}; {library}; load {os.getloadavg()[0]:.0f} when it began.",
        "Milliseconds from when a record was due until its reader had it: shortest, mean, longest.",
        "",
        "isolation level    commit each        over sockets       in the simulator",
    ]
    for level in LEVELS:
        for interval in INTERVALS:
            real = measure(interval, options.until_ms, level)
            virtual = times(ran(commit_interval(interval, EVERY_MS, options.until_ms, level)).results["reader"])
            told = ["".join(f"{value:6}" for value in found.values()) for found in (real, virtual)]
            lines.append(f"{level:18} {interval:8} ms  {told[0]}     {told[1]}")
            print(lines[-1], flush=True)
    if options.save:
        PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
