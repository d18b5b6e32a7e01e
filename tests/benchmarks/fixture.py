"""`python -m tests.benchmarks.fixture`: how long a test waits for `kafka_lab.bootstrap_servers`.

The first test of a process pays for the imports: it is measured in `times` processes. Every further test is measured in
one more process.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

from tests.benchmarks.lines import line

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "kafka_lab" if entry_points(group="pytest11", name="kafka_lab") else "kafkalab.testing.plugin"
TIMES = """
import time
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    begin = time.perf_counter(), time.process_time()
    lab = yield
    if fixturedef.argname == "kafka_lab":
        assert lab.bootstrap_servers
        print("took", time.perf_counter() - begin[0], time.process_time() - begin[1])
    return lab
"""
TEST = 'import pytest\n\n@pytest.mark.parametrize("n", range({}))\ndef test_it(kafka_lab, n):\n    pass\n'


def take_times(tests: int) -> list[tuple[float, float]]:
    """Run a file of `tests` tests; return how long the fixture took in each, by the clock and of the processor."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "conftest.py").write_text(TIMES)
        Path(folder, "test_it.py").write_text(TEST.format(tests))
        command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:nbval", "-sq", "-p", "no:cacheprovider"]
        environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return [(float(wall), float(processor)) for wall, processor in re.findall(r"took (\S+) (\S+)", run.stdout)]


def measure(times: int = 20) -> None:
    """Print the medians."""
    first, further = [take_times(1)[0] for _ in range(times)], take_times(times + 1)[1:]
    for name, rows in (("first test of a process", first), ("each further test", further)):
        wall, processor = (statistics.median(column) * 1000 for column in zip(*rows, strict=True))
        line(f"kafka_lab, {name}", f"{wall:7.1f} ms, processor {processor:7.1f} ms", "below 400 ms")


if __name__ == "__main__":
    measure()
