"""The application of every cell: consume, transform, produce, and commit offsets and records in one transaction.

`python -m tests.scorecard.processor CLIENT SERVERS` goes on until its stdin is closed. It ends with `FENCED` when its
producer is fenced or has a fatal error, after which clients' documentation asks for a new one, and with 1 after an
error that it was not told how to handle. What one step does is in `tests/wire/clients`, by each client's documentation.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

from tests.wire.clients.__main__ import KINDS
from tests.wire.clients.script import FencedError

GROUP, SOURCE, TARGET, ID = "billing", "orders", "bills", "biller"
PREFIX = "SCORECARD_PREFIX"
"""The variable of the environment that has what these names begin with."""
FENCED, FAILED = 3, 1
CLOSE_S = 10


def work(client_name: str, servers: str) -> int:
    """Process until stdin ends; return the status with which to exit."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()
        time.sleep(CLOSE_S)
        os._exit(FAILED)  # it hangs, and its owner is gone

    threading.Thread(target=wait, daemon=True).start()
    try:
        client = KINDS[client_name](servers)
        prefix = os.environ.get(PREFIX, "")
        instance = client.instance(*(prefix + name for name in (GROUP, SOURCE, TARGET, ID)))
        while not ended.is_set():
            instance.step(True)
    except FencedError as error:
        print(f"fenced: {error}", file=sys.stderr)
        return FENCED
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return FAILED
    with contextlib.suppress(Exception):
        instance.close()
        client.close()
    return 0


if __name__ == "__main__":
    status = work(*sys.argv[1:3])
    sys.stderr.flush()
    os._exit(status)  # a client that was fenced may leave threads that never end
