"""`python -m tests.fuzz.served --minutes 60`: change requests for an hour and send them to one `kafkalab serve`.

The brokers keep what they were asked, so each request meets what earlier ones have left. Prints memory by minute; ends
with 1 if the server dies, does not answer the next client, does not end a connection, or logs a traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.wire_bytes import API_VERSIONS, HARD, ODD, requests
from tests.wire import messages

CORPUS, THREADS, WAIT_S, LOOK_EVERY, MOST_MB = 4_000, 4, 60, 500, 400
SIZES = (-1, 0, 3, 2**24, 2**31 - 1)
FEW = {
    "producer_id": st.sampled_from((-1, 0, 1, 2, 3, 1000)), "producer_epoch": st.integers(-1, 3),
    "acks": st.sampled_from((-1, 0, 1)), "key_type": st.integers(0, 2),
}  # fmt: skip
"""Requests that are about the same few things meet in the brokers' state."""


def corpus(number: int, count: int = CORPUS) -> list[bytes]:
    """Return requests as clients could send them; the same number gives the same ones."""
    found: list[bytes] = []

    @seed(number)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(requests())
    def each(one: bytes) -> None:
        found.append(one)

    with patch.dict(messages.BY_NAME_OF_FIELD, FEW), patch.object(messages, "TEXT", st.sampled_from(("", "a", "b"))):
        each()
    return found


def draw_bytes(chance: random.Random, whole: list[bytes]) -> bytes:
    """Return what one client sends: one to six requests, some of them changed, the last one maybe of a wrong length."""
    parts = [chance.choice(whole) for _ in range(chance.randint(1, 6))]
    for place in range(len(parts)):
        if chance.random() < 0.5:
            data = bytearray(parts[place])
            for _ in range(chance.randint(1, 3)):
                change(chance, data)
            struct.pack_into(">i", data, 0, len(data) - 4 if chance.random() < 0.95 else chance.choice(SIZES))
            parts[place] = bytes(data)
    return b"".join(parts)


def change(chance: random.Random, data: bytearray) -> None:
    """Change one place behind the length: other bits, other bytes, fewer or more of them."""
    at, kind = chance.randrange(4, max(len(data), 5)), chance.randrange(6)
    hard = chance.choice(HARD)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1 and at < len(data):
        data[at] = chance.choice(ODD)
    elif kind == 2:
        data[at : at + len(hard)] = hard
    elif kind == 3:
        data[at:at] = hard
    elif kind == 4:
        del data[at : at + chance.randint(1, 20)]
    else:
        end = at + chance.randint(1, 40)
        data[end:end] = data[at:end]


class Clients:
    """Clients that come one after the other, in some threads; `failed` says what went wrong."""

    def __init__(self, places: list[tuple[str, int]], whole: list[bytes], number: int) -> None:
        self.places, self.whole, self.number = places, whole, number
        self.ended, self.counts, self.failed = threading.Event(), Counter[str](), list[str]()
        self.threads = [threading.Thread(target=self._run, args=(n,), daemon=True) for n in range(THREADS)]
        for thread in self.threads:
            thread.start()

    def _run(self, thread: int) -> None:
        chance, case = random.Random(f"{self.number} {thread}"), 0
        while not self.ended.is_set():
            data = draw_bytes(chance, self.whole)
            try:
                self.counts[self._meet(chance, data)] += 1
                if case % LOOK_EVERY == 0:
                    self._look(chance.choice(self.places))
            except (OSError, AssertionError) as error:
                if not self.ended.is_set():
                    self.failed.append(f"thread {thread}, case {case}: {error!r}\n  {data.hex()[:4000]}")
                    return
            case += 1

    def _meet(self, chance: random.Random, data: bytes) -> str:
        """Send all, in two parts, and read until the server closes; TimeoutError if it does not."""
        with socket.create_connection(chance.choice(self.places), timeout=WAIT_S) as client:
            answered = False
            with suppress(ConnectionError), _not_connected():
                cut = chance.randrange(len(data) + 1)
                client.sendall(data[:cut])
                client.sendall(data[cut:])
                client.shutdown(socket.SHUT_WR)
                while client.recv(65_536):
                    answered = True
        return "answered" if answered else "closed without an answer"

    def _look(self, place: tuple[str, int]) -> None:
        """Ask what every client asks first."""
        with socket.create_connection(place, timeout=WAIT_S) as client:
            client.sendall(API_VERSIONS)
            assert client.recv(8)[4:8] == struct.pack(">i", 1), "the next client is not served"


@contextlib.contextmanager
def _not_connected() -> Iterator[None]:
    """Let a connection be closed by the server before the client says that it has sent all."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise


def lines_of(log: Path) -> Counter[str]:
    """Count what the server has logged, without peers and numbers."""
    found: Counter[str] = Counter()
    with log.open(errors="replace") as lines:
        for line in lines:
            if line.startswith("Traceback"):
                found["Traceback"] += 1
            elif ": closed, " in line:
                words = line.partition(": closed, ")[2].split()
                found[f"closed, {' '.join(word for word in words[:5] if word.isalpha())}"] += 1
    return found


def places_of(ready: str) -> list[tuple[str, int]]:
    """Return host and port of each broker."""
    found = (one.rpartition(":") for one in ready.removeprefix("ready: ").strip().split(","))
    return [(host, int(port)) for host, _, port in found]


def main() -> int:
    """Print memory by minute, what became of the connections, and what failed; return 1 if anything has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="of CPU time that the server takes")
    parser.add_argument("--hours", type=float, default=6, help="stop after this time, whatever the CPU time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=int, default=CORPUS)
    parser.add_argument("--cluster-level", default="2")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kafkalab-fuzz-"))
    command = [sys.executable, "-m", "kafkalab.cli.main", "serve", "--port", "0", "--topics", "t:2,other:13"]
    command += ["--cluster-level", options.cluster_level]
    with (folder / "serve.log").open("w") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    clients = Clients(places_of(server.stdout.readline()), corpus(options.seed, options.corpus), options.seed)
    failed = _watch(server, clients, options.minutes * 60, time.monotonic() + options.hours * 3600)
    clients.ended.set()
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
        if server.wait(WAIT_S) != 0:
            failed.append(f"the server ended with {server.returncode}")
    logged = lines_of(folder / "serve.log")
    if logged["Traceback"]:
        failed.append(f"{logged['Traceback']} tracebacks: see {folder}/serve.log")
    for what, count in [*clients.counts.most_common(), *logged.most_common()]:
        print(f"{count:>9,} {what}")
    print(*failed, f"{len(failed)} failures", sep="\n", flush=True)
    return int(bool(failed))


def _watch(server: subprocess.Popen[str], clients: Clients, cpu_s: float, until_s: float) -> list[str]:
    """Wait until the server has taken this CPU time, printing each minute of it; return what went wrong."""
    minute, took_s, most = 0, 0.0, 0.0
    while took_s < cpu_s and time.monotonic() < until_s and not clients.failed and server.poll() is None:
        time.sleep(1)
        took_s, most = max(took_s, cpu_of(server.pid)), max(most, memory_mb(server.pid, "VmHWM"))
        if took_s >= 60 * (minute + 1):
            minute = int(took_s // 60)
            cases = f"{clients.counts.total():,} clients"
            print(f"minute {minute} of CPU: {memory_mb(server.pid):.1f} MB, {cases}", flush=True)
    print(f"{clients.counts.total():,} clients, {took_s:.0f} s of the server's CPU, at most {most:.1f} MB", flush=True)
    failed = list(clients.failed)
    if server.poll() is not None:
        failed.append(f"the server has ended with {server.returncode}")
    if most > MOST_MB:
        failed.append(f"{most:.0f} MB")
    return failed


def memory_mb(pid: int, what: str = "VmRSS") -> float:
    """Return a process's memory, or with VmHWM its peak (Linux); 0 when it has ended."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/status").read_text("ascii").partition(f"{what}:")[2].split()[0]) / 1024
    return 0.0


def cpu_of(pid: int) -> float:
    """Return how many seconds of CPU a process has taken (Linux); 0 when it has ended."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[11:13]
        return sum(map(int, words)) / 100
    return 0.0


if __name__ == "__main__":
    sys.exit(main())
