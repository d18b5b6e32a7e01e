"""`python -m tests.benchmarks.diagnosis [MEGABYTES]`: how long `kafkalab diagnose` reads, and in how much memory."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.reading import read_files
from tests.benchmarks.lines import line

MEGABYTES = 50
PRODUCERS = 200
BATCH = (
    "baseOffset: {0} lastOffset: {0} count: 1 baseSequence: {1} lastSequence: {1} producerId: {2} producerEpoch: 0 "
    "partitionLeaderEpoch: 0 isTransactional: true isControl: {3} deleteHorizonMs: OptionalLong.empty position: 0 "
    "CreateTime: 1795903643665 size: 130 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
    "| offset: {0} CreateTime: 1795903643665 keySize: 4 valueSize: 24 sequence: {1} headerKeys: [] {4}\n"
)
BROKER = (
    "[2026-11-28 22:09:00,214] INFO [ReplicaFetcherManager on broker 2] Added fetcher to broker 1 for partitions "
    "HashMap(out-{0} -> InitialFetchState(Some(QC2q0RX3QPOpOQWa42gIyg),BrokerEndPoint(id=1, host=kafka-1:9092),0,0)) "
    "(kafka.server.ReplicaFetcherManager)\n"
)
CLIENT = (
    "2026-11-28 22:07:29.437 INFO [main] TransactionManager - [Producer clientId=p, transactionalId=t-{0}] ProducerId "
    "set to {0} with epoch 0\n"
)


def write_text() -> Iterator[str]:
    """Yield a dump without end, one transaction of three records after the other, with log lines between."""
    yield f"Dumping /data/out-0/{'0' * 20}.log\n"
    for n in range(10**9):
        producer, offset = n % PRODUCERS, 4 * n
        for record in range(3):
            what = f"key: k payload: {{amount: {n}}}"
            yield BATCH.format(offset + record, n // PRODUCERS * 3 + record, producer, "false", what)
        yield BATCH.format(offset + 3, -1, producer, "true", "endTxnMarker: COMMIT coordinatorEpoch: 0")
        yield BROKER.format(producer) * 6
        yield CLIENT.format(producer)


def measure(megabytes: int = MEGABYTES) -> None:
    """Write a mixed text of this size, read it, and print CPU time and peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.log"
        with path.open("w", buffering=1 << 20) as file:
            left = megabytes * 1_000_000
            for piece in write_text():
                left -= file.write(piece)
                if left <= 0:
                    break
        begin = time.process_time()
        findings = judge(read_files([path]))
        seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    goal = "a gigabyte in 60 s, in bounded memory"
    line(f"{megabytes} MB of dump and logs", f"{seconds:6.1f} s of CPU, peak {peak:4.0f} MB", goal)
    line("a gigabyte at this pace", f"{seconds / megabytes * 1000:6.1f} s; {len(findings)} finding(s)")


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES)
