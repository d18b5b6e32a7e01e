"""Unmodified clients on the lab's brokers: one program, the same results for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wire.clients.clusters import lab
from tests.wire.clients.java_client import jars
from tests.wire.clients.native import go_program, node_modules
from tests.wire.clients.running import CLIENTS, seen
from tests.wire.clients.script import EXPECTED

pytestmark = pytest.mark.clients

NEEDS = {"java": jars, "franz-go": go_program, "kafkajs": node_modules}
LOST = [
    *("InitProducerIdResponse#2", "AddPartitionsToTxnResponse#1", "ProduceResponse#5", "EndTxnResponse#1"),
    *("EndTxnResponse#3", "TxnOffsetCommitResponse#1", "AddOffsetsToTxnResponse#1", "FindCoordinatorResponse#1"),
]


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_sees_exactly_once(client: str, profile: str, tmp_path: Path):
    NEEDS.get(client, Path)()
    with lab(tmp_path, profile) as cluster:
        assert seen(cluster, client, tmp_path / "errors") == EXPECTED


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_no_lost_answer_loses_or_doubles_anything(profile: str, tmp_path: Path):
    chapters = ("idempotent", "outcomes", "offsets", "rebalance")
    with lab(tmp_path, profile, *(f"Drop:{frame}" for frame in LOST)) as cluster:
        found = seen(cluster, "confluent-kafka", tmp_path / "errors", "", *chapters)
    assert found == {chapter: EXPECTED[chapter] for chapter in chapters}
    lines = (tmp_path / "serve.log").read_text().splitlines()
    lost = [frame for frame in LOST if any(frame.partition("Response")[0] in line for line in lines)]
    assert len(lost) >= 5, lines
