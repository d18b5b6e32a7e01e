"""Start `kafkalab serve` in a process of its own, and stop it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """Serve on free ports with these options; give the bootstrap servers. What it logs is in `folder`/serve.log."""
    quick = ("--port", "0", "--config", "group.initial.rebalance.delay.ms=0")
    command = [sys.executable, "-m", "kafkalab.cli.main", "serve", *quick, *options]
    with (folder / "serve.log").open("w") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert server.stdout is not None
        try:
            yield server.stdout.readline().removeprefix("ready: ").strip()
        finally:
            server.terminate()
            assert server.wait(30) == 0
            server.stdout.close()
