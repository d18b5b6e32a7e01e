"""An S3 server (moto) in a process of its own, on loopback; it keeps in memory what it is given."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.programs_found import give_up
from tests.spark import standalone_cluster as cluster
from tests.spark.standalone_cluster import HOST, Daemon, free_ports

BUCKET = "lab"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "a-key", "AWS_SECRET_ACCESS_KEY": "a-secret"}


@dataclass(frozen=True, slots=True)
class Store:
    """A server with one bucket. Whoever uses it needs CREDENTIALS in its environment; it takes any."""

    address: str

    def uri(self, name: str, bucket: str = BUCKET) -> str:
        """A place in it, as a history is named."""
        return f"s3://{bucket}/{name}?scheme=http&endpoint_override={self.address}"

    def names(self, prefix: str = "") -> list[str]:
        """The first thousand objects whose names begin so; not those by which pyarrow remembers an empty folder."""
        asked = f"http://{self.address}/{BUCKET}?list-type=2&prefix={prefix}"
        with urllib.request.urlopen(asked, timeout=60) as answer:
            found = re.findall("<Key>([^<]*)</Key>", answer.read().decode())
        return [name for name in found if not name.endswith("/")]

    def put(self, name: str, content: bytes) -> None:
        """Make an object."""
        self._ask("PUT", f"{BUCKET}/{name}", content)

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._ask("DELETE", f"{BUCKET}/{name}")

    def heed_credentials(self, whether: bool) -> None:
        """From now on nobody is let in, or everybody again."""
        self._ask("POST", "moto-api/reset-auth", b"0" if whether else b"inf")

    def _ask(self, method: str, path: str, content: bytes = b"") -> None:
        headers = {"Content-Type": "text/plain"}
        asked = urllib.request.Request(f"http://{self.address}/{path}", content, headers, method=method)
        urllib.request.urlopen(asked, timeout=60).close()


@contextmanager
def object_store(timeout_s: float = 120) -> Iterator[Store]:
    """A server that is gone at the end. Without moto the test is skipped, or fails if KAFKALAB_REQUIRE names it."""
    if find_spec("moto") is None:
        give_up("no moto: pip install 'moto[s3]' flask flask-cors", "moto")
    with tempfile.TemporaryDirectory(prefix="kafkalab-s3-") as name, cluster._daemons() as started:
        (port,) = free_ports(1)
        command = [sys.executable, "-m", "moto.server", "--host", HOST, "--port", str(port)]
        log = Path(name) / "moto.log"
        with log.open("wb") as out:
            started.append(Daemon("the S3 server", cluster._group(command, Path(name), dict(os.environ), out), log))
        cluster._wait(started, lambda: cluster._listens(port), timeout_s)
        store = Store(f"{HOST}:{port}")
        store._ask("PUT", BUCKET)
        yield store
