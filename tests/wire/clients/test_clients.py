"""Unmodified clients on the lab's brokers: one program, the same results for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wire.clients.java_client import Java
from tests.wire.clients.python_clients import Aio, Confluent, KafkaPython
from tests.wire.clients.script import EXPECTED, Client, run
from tests.wire.serving import serving

LOST = [
    *("InitProducerIdResponse#2", "AddPartitionsToTxnResponse#1", "ProduceResponse#4", "EndTxnResponse#1"),
    *("EndTxnResponse#3", "TxnOffsetCommitResponse#1", "AddOffsetsToTxnResponse#1", "FindCoordinatorResponse#1"),
]
CASES = [(Confluent, "4.x/TV2"), (KafkaPython, "4.x/TV1"), (Aio, "4.x/TV1"), (Java, "4.x/TV1"), (Java, "4.x/TV2")]


@pytest.mark.clients
@pytest.mark.parametrize(("kind", "profile"), CASES)
def test_a_client_sees_exactly_once(kind: type[Client], profile: str, tmp_path: Path):
    with serving(tmp_path, "--profile", profile) as servers:
        client = kind(servers)
        try:
            assert run(client) == EXPECTED
        finally:
            client.close()
    assert (tmp_path / "serve.log").read_text() == ""


@pytest.mark.clients
@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_no_lost_answer_loses_or_doubles_anything(profile: str, tmp_path: Path):
    faults = [word for frame in LOST for word in ("--fault", f"Drop:{frame}")]
    with serving(tmp_path, "--profile", profile, *faults) as servers:
        assert run(Confluent(servers)) == EXPECTED
    lines = (tmp_path / "serve.log").read_text().splitlines()
    lost = [frame for frame in LOST if any(frame.partition("Response")[0] in line for line in lines)]
    assert len(lost) >= 5, lines
