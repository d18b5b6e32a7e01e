"""Run one Apache Kafka for the suites: `python -m tests.wire.clients.peers.apache LIBS HOME PORT PARTITIONS [SETTING]`.

It prints "ready: HOST:PORT" once it serves, as `kafkalab serve` does, and ends on SIGTERM.
"""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path

from tests.kafka.running_kafka import RunningKafka


def main(libs: str, home: str, port: str, partitions: str, *settings: str) -> None:
    """Start it, at any port if `port` is 0, and wait for the signal."""
    with socket.create_server(("127.0.0.1", int(port))) as free:
        chosen = free.getsockname()[1]
    more = "\n".join(["auto.create.topics.enable=true", f"num.partitions={partitions}", *settings, ""])
    kafka = RunningKafka(Path(libs).absolute(), Path(home).absolute(), first_port=chosen, more=more)
    kafka.format(2)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        kafka.start()
        print(f"ready: 127.0.0.1:{chosen}", flush=True)
        signal.pause()
    finally:
        kafka.stop_all()


if __name__ == "__main__":
    main(*sys.argv[1:])
