"""Unmodified clients on the lab's brokers: one program, the same results for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.wire.clients.clusters import lab
from tests.wire.clients.running import CLIENTS, NEEDS, seen
from tests.wire.clients.script import EXPECTED

pytestmark = pytest.mark.clients

PROFILES = ("4.x/TV1", "4.x/TV2")
LOST = [
    *("InitProducerIdResponse#2", "AddPartitionsToTxnResponse#1", "ProduceResponse#5", "EndTxnResponse#1"),
    *("EndTxnResponse#3", "TxnOffsetCommitResponse#1", "AddOffsetsToTxnResponse#1", "FindCoordinatorResponse#1"),
]
Run = Callable[[str, str], Future[dict[str, Any]]]


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A function that starts a client's run, on a cluster of its own. Those that are wanted run side by side."""
    runs: dict[tuple[str, str], Future[dict[str, Any]]] = {}

    def work(client: str, profile: str, folder: Path) -> dict[str, Any]:
        with lab(folder, profile) as cluster:
            return seen(cluster, client, folder / "errors")

    with ThreadPoolExecutor(6) as pool:

        def start(client: str, profile: str) -> Future[dict[str, Any]]:
            if (client, profile) not in runs:
                NEEDS.get(client, Path)()
                runs[client, profile] = pool.submit(work, client, profile, tmp_path_factory.mktemp("run"))
            return runs[client, profile]

        for item in request.session.items:
            if item.path == request.path and "client" in (given := item.callspec.params):
                with contextlib.suppress(pytest.skip.Exception, pytest.fail.Exception):  # the test itself will say so
                    start(**given)
        yield start


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_sees_exactly_once(client: str, profile: str, run: Run):
    assert run(client, profile).result() == EXPECTED


@pytest.mark.parametrize("profile", PROFILES)
def test_no_lost_answer_loses_or_doubles_anything(profile: str, tmp_path: Path):
    chapters = ("idempotent", "outcomes", "offsets")
    with lab(tmp_path, profile, *(f"Drop:{frame}" for frame in LOST)) as cluster:
        found = seen(cluster, "confluent-kafka", tmp_path / "errors", "", *chapters)
    assert found == {chapter: EXPECTED[chapter] for chapter in chapters}
    lines = (tmp_path / "serve.log").read_text().splitlines()
    lost = [frame for frame in LOST if any(frame.partition("Response")[0] in line for line in lines)]
    assert len(lost) >= 5, lines
