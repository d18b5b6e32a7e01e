"""Run the integration tests of aiokafka or kafka-python on `kafkalab serve`: `python -m tests.wire.clients.peers`.

`NAME CHECKOUT [--python PYTHON] [--jars LIBS] [pytest's options]`: CHECKOUT holds the library's repository at the
installed version, and PYTHON has pytest and what the tests import. With `--jars`, Apache Kafka from the jars in LIBS
takes the lab's place. The library's tests are not changed. aiokafka starts its broker by Docker's library, for which
`docker.py` beside this file stands in; kafka-python is given one by KAFKA_URI. The command's status is that of pytest.
README.md has the numbers, and says why each test fails that does.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.wire.clients.peers.docker import Container

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[4]
RELEASE = "4.3.1"
SETTINGS = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")
"""As kafka-python's own brokers have them (servers/resources/default/kafka.properties)."""
AIOKAFKA = "admin client conn consumer coordinator pep492 producer sender transactional_consumer transactional_producer"
SUITES = {
    "aiokafka": [
        *(f"tests/test_{name}.py" for name in AIOKAFKA.split()),
        *(f"--docker-image=kafkalab:2.13_{RELEASE}", "--no-pull", "-m", "not ssl"),
        *("-o", "asyncio_default_fixture_loop_scope=function"),
    ],
    "kafka-python": [f"test/integration/test_{name}_integration.py" for name in ("admin", "consumer", "producer")],
}
"""The modules whose tests use a broker, without those of TLS and SASL, which the lab does not have."""


def main() -> int:
    """Run the suite; return pytest's status."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.clients.peers", description=__doc__)
    parser.add_argument("name", choices=tuple(SUITES))
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--jars", type=Path)
    options, more = parser.parse_known_args()
    command = [options.python, "-m", "pytest", "-p", "no:cacheprovider", *SUITES[options.name], *more]
    with tempfile.TemporaryDirectory() as folder:
        set_environment(Path(folder), options.jars)
        if options.name == "aiokafka":
            return subprocess.run(command, cwd=options.checkout).returncode
        broker = Container(0, partitions=4)
        try:
            os.environ["KAFKA_URI"] = f"kafka://127.0.0.1:{broker.port}"
            return subprocess.run(command, cwd=options.checkout).returncode
        finally:
            broker.stop()


def set_environment(folder: Path, jars: Path | None = None) -> None:
    """Say how a broker is started, of Apache Kafka with `jars`; `folder` gets its data and a stand-in for Kerberos."""
    lab = ["kafkalab", "serve", "--brokers", "1", "--port", "{port}", "--config", "num.partitions={partitions}"]
    lab += [word for setting in SETTINGS for word in ("--config", setting)]
    if jars:
        kafka = [str(jars.absolute()), str(folder / "kafka"), "{port}", "{partitions}", *SETTINGS]
        lab = ["tests.wire.clients.peers.apache", *kafka]
    os.environ |= {"PEER_BROKER": shlex.join([sys.executable, "-m", *lab]), "PEER_BROKER_PATH": str(ROOT)}
    os.environ |= {"KAFKA_VERSION": RELEASE, "KAFKA_ROOT": str(HERE), "PYTHONPATH": str(HERE)}
    (folder / "ktutil").symlink_to("/bin/true")  # each class of aiokafka's tests calls it
    os.environ |= {"PATH": f"{folder}:{os.environ['PATH']}", "AIOKAFKA_NO_EXTENSIONS": "1"}


if __name__ == "__main__":
    sys.exit(main())
