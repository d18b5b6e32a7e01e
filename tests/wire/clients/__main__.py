"""Run the program with one client and print what could be seen: `python -m tests.wire.clients Confluent SERVERS`.

In a process of its own: a client that was fenced may leave sockets and threads behind.
"""

from __future__ import annotations

import json
import sys

from tests.wire.clients.java_client import Java
from tests.wire.clients.python_clients import Aio, Confluent, KafkaPython
from tests.wire.clients.script import run

KINDS = {kind.__name__: kind for kind in (Confluent, KafkaPython, Aio, Java)}

if __name__ == "__main__":
    client = KINDS[sys.argv[1]](sys.argv[2])
    try:
        print(json.dumps(run(client)))
    finally:
        client.close()
