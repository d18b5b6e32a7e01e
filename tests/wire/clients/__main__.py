"""Run the program with one client and print what could be seen.

`python -m tests.wire.clients NAME SERVERS PREFIX [CHAPTER...]`, where PREFIX is that of all topics, groups and ids. In
a process of its own: a client that was fenced may leave sockets and threads behind. `crash ID` and `restart` on stdout
ask for what only the cluster's owner can do; a line on stdin says that it is done.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.wire.clients.aio_client import Aio
from tests.wire.clients.java_client import java
from tests.wire.clients.native import go, kafkajs, platformatic, rust, sarama
from tests.wire.clients.python_clients import Confluent, KafkaPython
from tests.wire.clients.script import CHAPTERS, Stage

KINDS: dict[str, Any] = {
    "confluent-kafka": Confluent, "kafka-python": KafkaPython, "aiokafka": Aio,
    "java": java, "franz-go": go, "sarama": sarama, "kafkajs": kafkajs,
    "platformatic": platformatic, "kacrab": rust,
}  # fmt: skip


def ask(words: str) -> None:
    """Have the cluster's owner do something, and wait until it is done."""
    print(words, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    client = KINDS[sys.argv[1]](sys.argv[2])
    stage = Stage(client, sys.argv[3], lambda name: ask(f"crash {name}"), lambda: ask("restart"))
    try:
        for name in sys.argv[4:] or CHAPTERS:
            print(json.dumps({name: CHAPTERS[name](stage)}), flush=True)
    finally:
        client.close()
