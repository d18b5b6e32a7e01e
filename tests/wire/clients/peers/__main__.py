"""Run the integration tests of aiokafka or kafka-python on `kafkalab serve`: `python -m tests.wire.clients.peers`.

`NAME CHECKOUT [--python PYTHON] [pytest's options]`: CHECKOUT holds the library's repository at the installed version,
and PYTHON has the library, pytest and what its tests import. The library's tests are not changed. aiokafka starts its
broker by Docker's library, for which `docker.py` beside this file stands in; kafka-python is given one by KAFKA_URI.
The command's status is that of pytest. README.md has the numbers, and says why each test fails that does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.wire.clients.peers.docker import Container

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[4]
KAFKA = "4.3.1"
AIOKAFKA = (
    *(f"--docker-image=kafkalab:2.13_{KAFKA}", "--no-pull"),
    *("--ignore=tests/record", "--ignore=tests/test_sasl.py"),  # no broker, and Kerberos
)
KAFKA_PYTHON = (
    "test/integration",
    *("--ignore=test/integration/test_sasl_integration.py", "--ignore=test/integration/test_ssl_integration.py"),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wire.clients.peers", description=__doc__)
    parser.add_argument("name", choices=("aiokafka", "kafka-python"))
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable)
    options, more = parser.parse_known_args()
    environment = os.environ | {"KAFKALAB_PYTHON": sys.executable, "KAFKALAB_ROOT": str(ROOT)}
    pytest = [options.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if options.name == "aiokafka":
        environment["PYTHONPATH"] = str(HERE)
        return subprocess.run([*pytest, *AIOKAFKA, *more], cwd=options.checkout, env=environment).returncode
    environment.pop("PYTHONPATH", None)
    broker = Container(0, {"NUM_PARTITIONS": 4})
    try:
        broker_at = {"KAFKA_URI": f"kafka://127.0.0.1:{broker.port}", "KAFKA_ROOT": str(HERE)}
        environment |= {"KAFKA_VERSION": KAFKA, **broker_at}
        return subprocess.run([*pytest, *KAFKA_PYTHON, *more], cwd=options.checkout, env=environment).returncode
    finally:
        broker.stop()


if __name__ == "__main__":
    sys.exit(main())
