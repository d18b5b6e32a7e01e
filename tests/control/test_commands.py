"""`kafkalab serve --control` and `kafkalab tap --control` as processes."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkalab.cli.main import main
from tests.wire.connection import Connection


@contextmanager
def running(tmp_path: Path, *words: str) -> Iterator[tuple[str, str]]:
    """Run a command with --control; give the bootstrap servers and the address of the control."""
    command = [sys.executable, "-m", "kafkalab.cli.main", *words, "--port", "0", "--control", "0"]
    with (tmp_path / f"{words[0]}.log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        try:
            ready, control = process.stdout.readline().split(), process.stdout.readline().split()
            assert (ready[0], control[0]) == ("ready:", "control:")
            yield ready[1], control[1]
        finally:
            process.terminate()
            assert process.wait(30) == 0
            (tmp_path / f"{words[0]}.said").write_text(process.stdout.read())
            process.stdout.close()


def ask(url: str, **body: Any) -> Any:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if body else {})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read())


def test_a_served_cluster_and_a_tap_before_it_are_controlled(tmp_path: Path) -> None:
    with running(tmp_path, "serve", "--topics", "orders:2", "--fault", "Drop:EndTxn#7") as (servers, control):
        assert ask(f"{control}/topics") == {"topics": {"orders": 2}}
        assert ask(f"{control}/faults") == {"unused": ["Drop(frame='EndTxn#7')"]}
        assert ask(f"{control}/status")["bootstrap_servers"] == servers
        with running(tmp_path, "tap", servers.split(",")[0], "--quiet", "--faults", "Drop:EndTxn#8") as (doors, tap):
            assert ask(f"{tap}/faults") == {"unused": ["Drop(frame='EndTxn#8')"]}
            assert ask(f"{tap}/faults", fault="Delay:Heartbeat#1:10") == {
                "fault": "Delay(frame='Heartbeat#1', delay_ms=10)"
            }
            hold_a_frame(doors, tap)
        never = "unknown: the fault Drop(frame='EndTxn#{0}') never struck: EndTxn#{0} has not been sent"
        assert never.format(8) in (tmp_path / "tap.said").read_text()
        ask(f"{control}/crash", broker="b2")
        assert ask(f"{control}/status")["brokers"] == {"b1": True, "b2": False, "b3": True}
    assert never.format(7) in (tmp_path / "serve.said").read_text()


def hold_a_frame(doors: str, tap: str) -> None:
    """Hold a request at the tap, step it and its answer, and look at what passed."""
    from kafkalab.protocol.messages.find_coordinator import FindCoordinator

    ask(f"{tap}/hold", names=["FindCoordinator", "FindCoordinatorResponse"])
    with Connection(doors, client_id="app") as connection:
        connection.send(FindCoordinator(key="g"), 3)
        assert ask(f"{tap}/step", timeout_s=10) == {"frame": "FindCoordinator#1"}
        assert ask(f"{tap}/step", timeout_s=10) == {"frame": "FindCoordinatorResponse#1"}
        assert connection.answer()
    assert [f["id"] for f in ask(f"{tap}/frames?count=9")["frames"]] == [
        "FindCoordinator#1", "FindCoordinatorResponse#1"
    ]  # fmt: skip
    assert ask(f"{tap}/release", frame="") == {}
    assert ask(f"{tap}/held") == {"held": []}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("serve --control 0 --data folder", "so it does not go with --data"),
        ("serve --control 0 --fault Crash:b9", "no node 'b9' in this scenario"),
        ("serve --control 0 --fault Nix", "a fault is Drop:EndTxnResponse#1"),
        ("serve --control 70000", "port"),
        ("tap --control 0 localhost:1", "does not answer as a Kafka broker"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_line(
    words: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words.split(), "--port", "0"], tmp_path) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_without_control_none_of_its_code_is_imported(root: Path) -> None:
    code = """
import asyncio, sys
from kafkalab.cli import serve
from kafkalab.cli.main import main
async def stop(*arguments):
    print([name for name in sys.modules if name.startswith(("kafkalab.control", "http.", "kafkalab.live"))])
serve._serve = stop
main(["serve", "--port", "0"])
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "[]\n"
