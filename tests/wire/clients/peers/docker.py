"""What aiokafka's tests use of Docker's library; a container with a broker is `kafkalab serve` with one broker.

It uses Python's own library only: the tests import it in their environment, which does not have the lab.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any


class Container:
    """A running broker; with the port -1 nothing, as for the container that makes certificates."""

    def __init__(self, port: int = -1, environment: Mapping[str, Any] | None = None) -> None:
        self.port = port
        self._server = self._serve(port, environment or {}) if port >= 0 else None

    def _serve(self, port: int, environment: Mapping[str, Any]) -> subprocess.Popen[str]:
        partitions = environment.get("NUM_PARTITIONS", 1)
        options = ["--brokers", "1", "--port", str(port), "--config", f"num.partitions={partitions}"]
        command = [os.environ.get("KAFKALAB_PYTHON", sys.executable), "-m", "kafkalab", "serve", *options]
        lab = os.environ | {"PYTHONPATH": os.environ.get("KAFKALAB_ROOT", os.environ.get("PYTHONPATH", ""))}
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=lab)
        assert server.stdout is not None
        self.port = int(server.stdout.readline().strip().rpartition(":")[2])
        return server

    def exec_run(self, *command: Any, **options: Any) -> tuple[int, bytes]:
        """Return what a command gives that has nothing to do here: the lab has neither Kerberos nor ACL files."""
        return 0, b""

    def stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait(60)


def run(environment: Mapping[str, Any] | None = None, **options: Any) -> Container:
    """Start the container with the broker, at the port that the tests have chosen."""
    return Container((environment or {}).get("ADVERTISED_PORT", -1), environment)


def from_env() -> SimpleNamespace:
    """Return the client of Docker."""
    return SimpleNamespace(containers=SimpleNamespace(run=run), close=lambda: None)


models = SimpleNamespace(containers=SimpleNamespace(Container=Container))
