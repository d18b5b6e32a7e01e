"""`python -m tests.benchmarks.wire`: transactions a second through confluent-kafka, side by side with librdkafka's own
mock cluster in a process of its own; start, and memory after many transactions.

`kafkalab serve` runs as it is, with `--data`, and with its trace kept. Each turn measures all servers, one after the
other, so that what else the machine does hits all of them; the table has the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.lines import line

SERVE = ("-m", "kafkalab.cli.main", "serve", "--port", "0", "--topics", "orders:3")
MOCK = """
import sys
from confluent_kafka import Producer
mock = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 3})
brokers = mock.list_topics(timeout=10).brokers.values()
print("ready: " + ",".join(f"{b.host}:{b.port}" for b in brokers), flush=True)
sys.stdin.read()
"""
CLIENT = {"linger.ms": 0, "log_level": 0}
WORK = (("1 producer, 1 record", 1, 1), ("16 producers, 1 record", 16, 1), ("1 producer, 100 records", 1, 100))


def keep_trace() -> None:
    """Serve with the trace kept."""
    from kafkalab.wire.live import RealTime, scenario_of
    from kafkalab.wire.server import Server

    async def serve() -> None:
        server = Server(RealTime(scenario_of(2, 3, {"orders": 3}, {}), keep=True))
        await server.listen(port=0)
        print(f"ready: {server.bootstrap_servers}", flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


@contextlib.contextmanager
def running(*command: str) -> Iterator[tuple[str, int]]:
    """Give the bootstrap servers that a process prints, and its id; end it."""
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().removeprefix("ready: ").strip(), process.pid
    finally:
        process.kill()
        process.communicate()


def pace(servers: str, producers: int, records: int, duration_s: float) -> tuple[float, list[float]]:
    """Return transactions a second, and how long each took in ms, sorted."""
    taken: list[float] = []
    ready = threading.Barrier(producers + 1)
    end = [0.0]

    def work(number: int) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": servers, "transactional.id": f"t{number}-{records}", **CLIENT})
        producer.init_transactions(30)
        transaction(producer, number)
        ready.wait()
        while time.perf_counter() < end[0]:
            began = time.perf_counter()
            transaction(producer, number)
            taken.append((time.perf_counter() - began) * 1_000)

    def transaction(producer: Any, number: int) -> None:
        producer.begin_transaction()
        for place in range(records):
            producer.produce("orders", b"x" * 100, partition=place % 3 if records > 1 else number % 3)
        producer.commit_transaction(30)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(producers)]
    for thread in threads:
        thread.start()
    end[0] = time.perf_counter() + 60
    ready.wait(60)
    began = time.perf_counter()
    end[0] = began + duration_s
    for thread in threads:
        thread.join()
    return len(taken) / (time.perf_counter() - began), sorted(taken)


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    rows = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) / 1024 for row in rows if row.startswith("VmRSS"))


def speed(turns: int, duration_s: float, only: str = "") -> None:
    """Print the table of transactions a second."""
    found: dict[tuple[str, str], list[tuple[float, float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        servers = {
            "mock": ("-c", MOCK),
            "kafkalab": SERVE,
            "kafkalab --data": (*SERVE, "--data", folder),
            "kafkalab, trace kept": ("-m", "tests.benchmarks.wire", "--keep-trace"),
        }
        for _ in range(turns):
            for what, producers, records in WORK:
                for name, command in servers.items():
                    if only and only not in name:
                        continue
                    with running(*command) as (bootstrap, pid):
                        before = cpu_s(pid)
                        rate, taken = pace(bootstrap, producers, records, duration_s)
                        used = (cpu_s(pid) - before) / len(taken) * 1_000
                    row = (rate, used, taken[len(taken) // 2], taken[int(len(taken) * 0.99)])
                    found.setdefault((what, name), []).append(row)
    for (what, name), rows in found.items():
        rate, used, p50, p99 = (statistics.median(column) for column in zip(*rows, strict=True))
        mock = found.get((what, "mock"))
        ratio = f"{rate / statistics.median(r[0] for r in mock):5.2f} of the mock's" if mock and name != "mock" else ""
        figures = f"{rate:7.0f} txn/s, p50 {p50:6.2f} p99 {p99:6.1f} ms, CPU {used:5.2f} ms/txn"
        line(f"{what}, {name}", f"{figures} {ratio}", "1.0" if ratio else "")


def start(times: int) -> None:
    """Print how long it takes until the line is there, and the CPU time until then."""
    taken, used = [], []
    for _ in range(times):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with running(*SERVE):
            taken.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    figures = f"median {statistics.median(taken):.2f} s, least {min(taken):.2f} s, CPU {min(used):.2f} s"
    line("start until the line", figures, "0.3 s")


def memory(transactions: int) -> None:
    """Print what the server's process has after many transactions."""
    with running(*SERVE) as (servers, pid):
        before, done = memory_mb(pid), 0
        while done < transactions:
            done += len(pace(servers, 4, 1, 5)[1])
        line(f"memory after {done:,} transactions", f"{memory_mb(pid):.0f} MB, {before:.0f} at the start", "80 MB")


def main(argv: Any = None) -> None:
    """Print figures, or serve for those who measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep-trace", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", choices=("speed", "start", "memory"), action="append")
    options = parser.parse_args(argv)
    if options.keep_trace:
        keep_trace()
        return
    parts = options.part or ("start", "speed", "memory")
    if "start" in parts:
        start(9)
    if "speed" in parts:
        speed(options.turns, options.seconds, options.only)
    if "memory" in parts:
        memory(10_000)


if __name__ == "__main__":
    main()
