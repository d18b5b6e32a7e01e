"""Unmodified clients on the lab's brokers: one program, the same results for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wire.clients.java_client import Java
from tests.wire.clients.python_clients import Aio, Confluent, KafkaPython
from tests.wire.clients.script import EXPECTED, Client, run
from tests.wire.serving import serving

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
