"""A lab broker for tests: starts `kafkalab serve --control`, or uses one that runs (KAFKALAB_CONTROL).

Copy this file into your tests. It needs nothing but Python 3.9.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from typing import Any


class KafkaLab:
    """A small Kafka for one test. Use it as a context manager."""

    def __init__(self, topics: str = "", *options: str) -> None:
        """Start brokers with these topics ("orders:1,payments:3") and options of `kafkalab serve`.

        The variable KAFKALAB has the command, if it is another than `kafkalab`.
        """
        self.process: subprocess.Popen[str] | None = None
        self.url = os.environ.get("KAFKALAB_CONTROL", "")
        if not self.url:
            command = [*shlex.split(os.environ.get("KAFKALAB", "kafkalab")), "serve", "--port", "0", "--control", "0"]
            quick = ["--config", "group.initial.rebalance.delay.ms=0", "--topics", topics]
            self.process = subprocess.Popen(
                [*command, *quick, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
            )
            assert self.process.stdout is not None
            lines = [self.process.stdout.readline().partition(": ") for _ in range(2)]
            self.url = {name: value.strip() for name, _, value in lines}.get("control", "")
            if not self.url:
                raise RuntimeError(f"{' '.join(command)} has not started; its reason is on stderr")
        self.bootstrap_servers: str = self.get("/status")["bootstrap_servers"]

    def get(self, path: str, **query: Any) -> Any:
        """Ask. RuntimeError, with the lab's sentence, for what is wrong."""
        return self._ask(f"{path}?{urllib.parse.urlencode(query, doseq=True)}", None)

    def post(self, path: str, **body: Any) -> Any:
        """Press. RuntimeError, with the lab's sentence, for what is wrong."""
        return self._ask(path, json.dumps(body).encode())

    def _ask(self, path: str, data: bytes | None) -> Any:
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"} if data else {})
        try:
            with urllib.request.urlopen(request, timeout=90) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {json.load(error)['error']}") from None

    def fault(self, words: str) -> None:
        """Strike: "Drop:EndTxnResponse#1", "Delay:Produce#2:500", "Crash:b2"."""
        self.post("/faults", fault=words)

    def pipeline(self, source: str, target: str) -> None:
        """Declare that each record of `source` makes one of `target` with the same key."""
        self.post("/pipeline", source=source, target=target)

    def values(self, topic: str) -> list[str | None]:
        """Return what a read_committed consumer would be given."""
        return [record["value"] for record in self.get("/records", topic=topic)["records"]]

    def check(self, *checks: str) -> None:
        """AssertionError, with frames and steps, if a promise is broken or a fault has struck nothing."""
        verdict = self.get("/verdict", check=list(checks))
        if not verdict["holds"]:
            raise AssertionError(verdict["message"])

    def __enter__(self) -> KafkaLab:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the brokers that were started here."""
        if self.process is not None:
            self.process.terminate()
            self.process.communicate()
