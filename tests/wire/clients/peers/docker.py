"""What aiokafka's tests use of Docker's library: a container is the process that `PEER_BROKER` names.

It imports Python's own library only: the tests import it in their environment, which does not have the lab.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any


class Container:
    """A running broker at `port`, 0 being any; with -1 nothing runs, as for the container that makes certificates."""

    def __init__(self, port: int = -1, partitions: int = 1) -> None:
        self.port = port
        self._process = self._start(port, partitions) if port >= 0 else None

    def _start(self, port: int, partitions: int) -> subprocess.Popen[str]:
        command = shlex.split(os.environ["PEER_BROKER"].format(port=port, partitions=partitions))
        root = os.environ["PEER_BROKER_PATH"]  # the tests' own folder has a package `tests`, too
        lab = os.environ | {"PYTHONPATH": root}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=lab, cwd=root)
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line.startswith("ready:"):
            process.communicate(timeout=60)
            raise RuntimeError(f"{command} did not start: it printed {line!r} and no line with 'ready:'")
        self.port = int(line.rpartition(":")[2])
        return process

    def exec_run(self, *command: Any, **options: Any) -> tuple[int, bytes]:
        """Do nothing: these commands set up TLS, SASL and ACLs, whose tests do not run."""
        return 0, b""

    def stop(self) -> None:
        """End the broker."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=60)


def run(environment: Mapping[str, Any] | None = None, **options: Any) -> Container:
    """Start the container with the broker, at the port that the tests have chosen."""
    given = environment or {}
    return Container(given.get("ADVERTISED_PORT", -1), given.get("NUM_PARTITIONS", 1))


def from_env() -> SimpleNamespace:
    """Return the client of Docker."""
    return SimpleNamespace(containers=SimpleNamespace(run=run), close=lambda: None)


models = SimpleNamespace(containers=SimpleNamespace(Container=Container))
