"""Unmodified clients on the lab's brokers: one program, the same results for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.wire.clients.clusters import lab
from tests.wire.clients.running import CLIENTS, NEEDS, afterwards, run_client
from tests.wire.clients.script import CHAPTERS, EXPECTED

pytestmark = pytest.mark.clients

LEVELS = (1, 2)
LOST = [
    *("InitProducerIdResponse#2", "AddPartitionsToTxnResponse#1", "ProduceResponse#5", "EndTxnResponse#1"),
    *("EndTxnResponse#3", "TxnOffsetCommitResponse#1", "AddOffsetsToTxnResponse#1", "FindCoordinatorResponse#1"),
]
HANGS = dict.fromkeys(("kafka-python", "kacrab"), {"error": "time-out", "crash": ["next"]})
"""Clients that wait forever in the chapter `crash`, as README.md explains: the next producer of the id aborts what they
have written."""
HANGS_S = 20
Run = Callable[[str, int], Future[dict[str, Any]]]


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A function that returns a client's run, on a cluster of its own. Those that are wanted run side by side.

    Each run is returned once: for a test that is repeated the client runs anew.
    """
    runs: dict[tuple[str, int], Future[dict[str, Any]]] = {}

    def work(client: str, level: int, folder: Path) -> dict[str, Any]:
        with lab(folder, level, client=client) as cluster:
            if client not in HANGS:
                return run_client(cluster, client, folder / "errors")
            found = run_client(cluster, client, folder / "errors", "", *(name for name in CHAPTERS if name != "crash"))
            hung = run_client(cluster, client, folder / "hung", "", "crash", patience_s=HANGS_S)
            return {**found, **hung, "crash": afterwards(cluster.servers, "steady", "steady")["read_committed"]}

    with ThreadPoolExecutor(6) as pool:

        def start(client: str, level: int) -> None:
            if (client, level) not in runs:
                NEEDS.get(client, Path)()
                runs[client, level] = pool.submit(work, client, level, tmp_path_factory.mktemp("run"))

        def take(client: str, level: int) -> Future[dict[str, Any]]:
            start(client, level)
            return runs.pop((client, level))

        for item in request.session.items:
            # pytest's type of an item does not have the parameters of the test.
            given: dict[str, Any] = vars(item)["callspec"].params if item.path == request.path else {}
            if "client" in given:
                with contextlib.suppress(pytest.skip.Exception, pytest.fail.Exception):  # the test itself will say so
                    start(**given)
        yield take


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_sees_exactly_once(client: str, level: int, run: Run) -> None:
    assert run(client, level).result() == {**EXPECTED, **HANGS.get(client, {})}


@pytest.mark.parametrize("level", LEVELS)
def test_no_lost_answer_loses_or_doubles_anything(level: int, tmp_path: Path) -> None:
    chapters = ("idempotent", "outcomes", "offsets")
    with lab(tmp_path, level, *(f"Drop:{frame}" for frame in LOST)) as cluster:
        found = run_client(cluster, "confluent-kafka", tmp_path / "errors", "", *chapters)
    assert found == {chapter: EXPECTED[chapter] for chapter in chapters}
    lines = (tmp_path / "serve.log").read_text().splitlines()
    lost = [frame for frame in LOST if any(frame.partition("Response")[0] in line for line in lines)]
    assert len(lost) >= 5, lines
