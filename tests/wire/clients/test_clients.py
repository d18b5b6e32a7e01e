"""Unmodified clients on the lab's brokers: one program, the same results for all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.wire.clients.java_client import jars
from tests.wire.clients.script import EXPECTED
from tests.wire.serving import serving

pytestmark = pytest.mark.clients

CASES = [("Confluent", "4.x/TV2"), ("KafkaPython", "4.x/TV1"), ("Aio", "4.x/TV1"), ("Java", "4.x/TV1")]
LOST = [
    *("InitProducerIdResponse#2", "AddPartitionsToTxnResponse#1", "ProduceResponse#4", "EndTxnResponse#1"),
    *("EndTxnResponse#3", "TxnOffsetCommitResponse#1", "AddOffsetsToTxnResponse#1", "FindCoordinatorResponse#1"),
]


def seen(client: str, servers: str) -> Any:
    """Run the program with a client, in a process of its own; return what it saw."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.wire.clients", client, servers]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(("client", "profile"), [*CASES, ("Java", "4.x/TV2")])
def test_a_client_sees_exactly_once(client: str, profile: str, tmp_path: Path):
    if client == "Java":
        jars()
    with serving(tmp_path, "--profile", profile) as servers:
        assert seen(client, servers) == EXPECTED
    assert (tmp_path / "serve.log").read_text() == ""


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_no_lost_answer_loses_or_doubles_anything(profile: str, tmp_path: Path):
    faults = [word for frame in LOST for word in ("--fault", f"Drop:{frame}")]
    with serving(tmp_path, "--profile", profile, *faults) as servers:
        assert seen("Confluent", servers) == EXPECTED
    lines = (tmp_path / "serve.log").read_text().splitlines()
    lost = [frame for frame in LOST if any(frame.partition("Response")[0] in line for line in lines)]
    assert len(lost) >= 5, lines
