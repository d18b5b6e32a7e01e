"""KAFKA-17754 with real clients at a live cluster: librdkafka's transaction is torn, Java's under TV2 is not.

`python -m tests.wire.clients.test_torn_for_real` saves Java's session anew (data/torn_for_real_java.klab).
"""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from kafkalab.course.lab09.for_real import TOPICS, producer_of, torn
from kafkalab.live.cluster import LiveCluster
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Frame
from tests.wire.clients.java_client import jars, java

pytestmark = pytest.mark.clients
GIVEN_UP_MS = 1_500
WHOLE = {"out-0": ("first-a",), "out-1": ("first-b",)}
TORN = {"out-0": ("first-a", "second-a"), "out-1": ("first-b",)}


def java_session(live: LiveCluster) -> Frame:
    """Let Java's producer give up an EndTxn that waits, and let that go in its next transaction; return the answer."""
    jvm = java(live.bootstrap_servers)
    times = (f"request.timeout.ms={GIVEN_UP_MS}", f"delivery.timeout.ms={2 * GIVEN_UP_MS}", "client.id=app")
    producer = jvm.producer("pay", *times)
    producer.init()
    producer.begin()
    producer.send("out", 0, "first-a")
    producer.send("out", 1, "first-b")
    live.hold("EndTxn#1")
    commit = Thread(target=producer.commit)
    commit.start()
    late = live.wait_for("EndTxn", 30)
    commit.join()
    producer.begin()
    producer.send("out", 0, "second-a")
    live.let_go(late)
    producer.send("out", 1, "second-b")
    producer.abort()
    producer.close()
    jvm.close()
    return next(f for f in live.trace.frames.values() if f.of == late)


def test_java_under_version_2_is_not_torn(tmp_path: Path) -> None:
    jars()
    with LiveCluster(cluster_level=2, topics={"out": 2}) as live:
        answer = java_session(live)
        assert (answer.version, answer.error) == (5, "PRODUCER_FENCED")
        assert live.outcome().committed == WHOLE
        assert live.save(tmp_path / "java.klab").differences == ()


@pytest.mark.smoke
@pytest.mark.parametrize("level", [1, 2])
def test_librdkafka_is_torn_whatever_the_brokers_offer(level: int, tmp_path: Path) -> None:
    """It speaks version 1 also where the cluster has finalized version 2 (librdkafka 2.16)."""
    with LiveCluster(cluster_level=level, topics=TOPICS) as live:
        torn(live, producer_of(live))
        assert live.outcome().committed == TORN
        assert live.save(tmp_path / "torn.klab").differences == ()
        assert Scenario.load(tmp_path / "torn.klab").profile == f"4.x/TV{level}"


if __name__ == "__main__":
    with LiveCluster(cluster_level=2, topics={"out": 2}) as cluster:
        print(java_session(cluster).error, cluster.outcome().committed)
        print(cluster.save("data/torn_for_real_java.klab"))
