"""Run the program with one client, in a process of its own, on a cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.wire.clients.clusters import Apache, Lab
from tests.wire.clients.java_client import jars
from tests.wire.clients.native import go_program, node_modules

CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka", "java", "franz-go", "kafkajs")
NEEDS = {"java": jars, "franz-go": go_program, "kafkajs": node_modules}
"""What installs or builds a client once, or skips the test."""
PATIENCE_S = 300


def seen(cluster: Lab | Apache, client: str, errors: Path, prefix: str = "", *chapters: str) -> dict[str, Any]:
    """Return by chapter what the client saw; what it printed besides goes into the file `errors`.

    The key "error" has the last line of a program that has failed.
    """
    command = [sys.executable, "-W", "ignore", "-m", "tests.wire.clients", client, cluster.servers, prefix, *chapters]
    found: dict[str, Any] = {}
    with errors.open("w") as complaints:
        process = subprocess.Popen(
            ["timeout", str(PATIENCE_S), *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word in ("crash", "restart"):
                cluster.crash(rest) if word == "crash" else cluster.restart()
                process.stdin.write("done\n")
                process.stdin.flush()
            else:
                found |= json.loads(line)
        process.stdin.close()
        process.stdout.close()
        if process.wait():
            found["error"] = (errors.read_text().strip().splitlines() or ["time-out"])[-1]
    return found
