"""Run the program with one client, in a process of its own, on a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

from tests.wire.clients.clusters import Cluster
from tests.wire.clients.java_client import jars
from tests.wire.clients.native import go_program, new_node, node_modules, rust_program, sarama_program
from tests.wire.clients.python_clients import Confluent
from tests.wire.clients.script import Stage

NEEDS: dict[str, Callable[[], object]] = {
    "java": jars, "franz-go": go_program, "sarama": sarama_program, "kafkajs": node_modules,
    "platformatic": new_node, "kacrab": rust_program,
}  # fmt: skip
"""The fixture that installs or builds a client once, or skips the test."""
CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka", *NEEDS)
PATIENCE_S, TIMED_OUT = 180, 124


def run_client(
    cluster: Cluster, client: str, errors: Path, prefix: str = "", *chapters: str, patience_s: int = PATIENCE_S
) -> dict[str, Any]:
    """Return by chapter what the client saw; what it printed besides goes into the file `errors`.

    The key "error" has the last line of a program that has failed; "time-out" if it has not ended in `patience_s`.
    """
    command = [sys.executable, "-W", "ignore", "-m", "tests.wire.clients", client, cluster.servers, prefix, *chapters]
    found: dict[str, Any] = {}
    with errors.open("a") as complaints:
        process = subprocess.Popen(
            ["timeout", str(patience_s), *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word in ("crash", "restart"):
                try:
                    cluster.crash(rest) if word == "crash" else cluster.restart()
                except BrokenBarrierError:  # another client of the cluster has failed, and says why
                    found["error"] = "no crash: another client has given up"
                    process.terminate()
                    break
                process.stdin.write("done\n")
                process.stdin.flush()
            else:
                found |= json.loads(line)
        process.stdin.close()
        process.stdout.close()
        if (status := process.wait()) and "error" not in found:
            lines = errors.read_text().strip().splitlines()
            found["error"] = "time-out" if status == TIMED_OUT or not lines else lines[-1]
    return found


def afterwards(servers: str, transactional_id: str, topic: str) -> dict[str, list[str]]:
    """Commit "next" by a new producer of this id; return by isolation level what its topic holds then."""
    client = Confluent(servers)
    producer = client.producer(transactional_id)
    producer.init()
    producer.begin()
    producer.send(topic, 0, "next")
    producer.commit()
    stage = Stage(client, "", lambda name: None, lambda: None)
    return {level: stage.read(topic, 1, level) for level in ("read_committed", "read_uncommitted")}
