"""A scripted client for tests of the engine: it does at its third input what its name says.

`python -m tests.scorecard.fake HOW SERVERS`. It reads from its group's committed offset, writes each input to the
target, and commits: `keeps`. `duplicates` begins at the first input again when it is started anew, and `loses` commits
one input without its output. `hangs`, `dies` and `fenced` do so once; with `-again` each new process does, too.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from kafkalab.protocol.messages.fetch import READ_UNCOMMITTED, Fetch
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.records import Batch, Record
from tests.scorecard.processor import FENCED, GROUP, SOURCE, TARGET
from tests.wire.connection import Connection

THIRD = 2
IN, OUT = f"{SOURCE}-0", f"{TARGET}-0"


def work(how: str, servers: str) -> None:
    """Process until stdin ends, or until the third input has the effect of `how`."""
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    kind, _, again = how.partition("-")
    with Connection(servers, 1, "fake") as connection:
        committed = connection.ask(OffsetFetch(group_id=GROUP, partitions=(IN,)), 7).offsets[IN]
        begin = position = 0 if kind == "duplicates" else max(0, committed)
        while True:
            for value in _read(connection, position):
                if position == THIRD and (begin == 0 or again):
                    _misbehave(kind)
                if not (kind == "loses" and position == THIRD):
                    _write(connection, value)
                position += 1
                connection.ask(OffsetCommit(group_id=GROUP, offsets={IN: position}), 8)


def _misbehave(kind: str) -> None:
    if kind == "hangs":
        time.sleep(600)
    elif kind in ("dies", "fenced"):
        print(f"{kind} at the third input", file=sys.stderr, flush=True)
        os._exit(FENCED if kind == "fenced" else 1)


def _read(connection: Connection, position: int) -> list[Any]:
    asked = Fetch(isolation_level=READ_UNCOMMITTED, positions={IN: position}, max_wait_ms=100)
    batches = connection.ask(asked, 12).partitions[IN].batches
    records = [(batch.base_offset + n, record.value) for batch in batches for n, record in enumerate(batch.records)]
    return [value for offset, value in records if offset >= position]


def _write(connection: Connection, value: Any) -> None:
    batch = Batch(records=(Record(None, value),), timestamp_ms=time.time_ns() // 1_000_000)
    connection.ask(Produce(transactional_id=None, acks=-1, timeout_ms=2_000, batches={OUT: batch}), 9)


if __name__ == "__main__":
    work(*sys.argv[1:3])
