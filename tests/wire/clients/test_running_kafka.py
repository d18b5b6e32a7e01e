"""The clients' program on a running Apache Kafka: the same results as on the lab's brokers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.jars import broker_jars
from tests.wire.clients.clusters import Apache, apache
from tests.wire.clients.running import CLIENTS, NEEDS, seen
from tests.wire.clients.script import EXPECTED

pytestmark = [pytest.mark.clients, pytest.mark.kafka]
RUNS = itertools.count()
"""A test that is run again has topics of its own."""


@pytest.fixture(scope="module", params=[1, 2], ids=["TV1", "TV2"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apache]:
    """A process of Apache Kafka at one level of transaction.version, on loopback."""
    with apache(broker_jars(), tmp_path_factory.mktemp("kafka") / "home", request.param) as running:
        yield running


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_sees_the_same_on_apache_kafka(client: str, cluster: Apache, tmp_path: Path):
    NEEDS.get(client, Path)()
    prefix = f"{client}-{next(RUNS)}-"
    cluster.create(prefix)
    assert seen(cluster, client, tmp_path / "errors", prefix) == EXPECTED
