"""The clients' program on a running Apache Kafka: the same results as on the lab's brokers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.kafka.jars import broker_jars
from tests.wire.clients.clusters import apache, lab
from tests.wire.clients.odd_metadata import answers
from tests.wire.clients.running import CLIENTS, NEEDS, run_client
from tests.wire.clients.script import CHAPTERS, EXPECTED

pytestmark = [pytest.mark.clients, pytest.mark.kafka]

ODD = "odd requests for metadata"
WHILE_IT_RUNS = [name for name in CHAPTERS if name != "crash"]


@pytest.fixture(scope="module", params=[1, 2], ids=["TV1", "TV2"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return what each client saw of one Apache Kafka at this level of transaction.version; all use it side by side.

    The chapter `crash` is the last one, and the crash is one for all.
    """
    if "KAFKA_JARS" not in os.environ:
        pytest.skip("takes five minutes: KAFKA_JARS=FOLDER names the jars (`make oracle` fetches them)")
    jars, folder = broker_jars(), tmp_path_factory.mktemp("kafka")
    clients = list(_list_installed())
    pool = ThreadPoolExecutor(len(clients))

    def run(client: str, *chapters: str) -> dict[str, Any]:
        found = run_client(cluster, client, folder / client, f"{client}-", *chapters)
        if "error" in found:
            cluster.give_up()
        return found

    with apache(jars, folder / "home", request.param, len(clients)) as cluster, pool:
        odd = answers(cluster.servers)
        for client in clients:
            cluster.create(f"{client}-")
        before = list(pool.map(lambda client: run(client, *WHILE_IT_RUNS), clients))
        after = list(pool.map(lambda client: run(client, "crash"), clients))
    return {client: {**one, **two} for client, one, two in zip(clients, before, after, strict=True)} | {ODD: odd}


def _list_installed() -> Iterator[str]:
    for client in CLIENTS:
        with contextlib.suppress(pytest.skip.Exception, pytest.fail.Exception):  # the client's own test will say so
            NEEDS.get(client, Path)()
            yield client


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_sees_the_same_on_apache_kafka(client: str, found: dict[str, dict[str, Any]]) -> None:
    NEEDS.get(client, Path)()
    assert found[client] == EXPECTED


def test_odd_requests_for_metadata_are_answered_alike(found: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    with lab(tmp_path, 2) as cluster:
        assert answers(cluster.servers) == found[ODD]
