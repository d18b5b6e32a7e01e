"""Kafka 1.0.0 with its own ZooKeeper, on 127.0.0.1, asked in the versions that it knows."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

from tests.kafka.real_cluster import COORDINATOR_ERRORS, IDS, PAUSE_S, RealCluster
from tests.kafka.running_kafka import RunningKafka

ZOOKEEPER = 100
STARTED = {ZOOKEEPER: "binding to port", 1: "[KafkaServer id=1] started"}
BROKER = """
broker.id=1
zookeeper.connect=127.0.0.1:{zookeeper}
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs=data1
num.network.threads=2
num.io.threads=4
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
log.retention.ms=-1
"""
LOG4J = """
log4j.rootLogger=INFO, c
log4j.appender.c=org.apache.log4j.ConsoleAppender
log4j.appender.c.layout=org.apache.log4j.PatternLayout
log4j.appender.c.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class OldKafka(RunningKafka):
    """Node 1 is the broker, node 100 ZooKeeper."""

    log4j = "-Dlog4j.configuration=file:log4j.properties"
    mains = {ZOOKEEPER: "org.apache.zookeeper.server.quorum.QuorumPeerMain", 1: "kafka.Kafka"}
    started = STARTED

    def __init__(self, libs: Path, home: Path, brokers: int, first_port: int, more: str = "") -> None:
        super().__init__(libs, home, brokers, first_port, more)
        self.controller = ZOOKEEPER

    def format(self, level: int) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        zoo = f"clientPort={self.controller_port}\nclientPortAddress=127.0.0.1\ndataDir=zookeeper\ntickTime=2000\n"
        (self.home / f"{ZOOKEEPER}.properties").write_text(zoo)
        broker = BROKER.format(zookeeper=self.controller_port, port=self.ports[1])
        (self.home / "1.properties").write_text(broker)
        (self.home / "log4j.properties").write_text(LOG4J)


class OldCluster(RealCluster):
    """The recorder's cluster of Kafka 1.0.0; it has no topic ids, and shows no leader epochs."""

    def features(self) -> dict[str, int]:
        return {}

    def create(self, wanted: dict[str, tuple[int, int]]) -> None:
        rows = [{"Name": t, "NumPartitions": n, "ReplicationFactor": 1} for t, (n, _) in wanted.items()]
        done = self.ask("CreateTopics", 2, {"Topics": rows, "timeoutMs": 30_000})
        assert all(t["ErrorCode"] == 0 for t in done["Topics"]), done

    def topic_ids(self, topics: list[str]) -> dict[str, bytes]:
        return {}

    def coordinator_epoch(self, key: str) -> int:
        return 0

    def _coordinator_errors(self, node: int) -> set[int]:
        found: list[dict[str, Any]] = []
        for key in IDS:
            one = {"TransactionalId": key, "TransactionTimeoutMs": 60_000}
            found.append(self.ask("InitProducerId", 0, one, node))
            found.append(self.ask("OffsetFetch", 3, {"GroupId": key, "Topics": []}, node))
        time.sleep(PAUSE_S)
        return {row["ErrorCode"] for row in found} & COORDINATOR_ERRORS
