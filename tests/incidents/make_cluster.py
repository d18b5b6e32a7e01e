"""A real Apache Kafka of any version from 2.4 on, its tools, and clients: what the `make_*.py` of this folder use.

Jars are looked for in the folder that INCIDENT_JARS names, one folder a version; README.md says how Maven fills it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.kafka.batches import TRANSACTIONAL, batch_bytes, record_bytes
from tests.kafka.connection import Connection
from tests.kafka.schema import Protocol

HERE = Path(__file__).parent
JARS = Path(os.environ.get("INCIDENT_JARS", "build/incidents/jars"))
HOME = Path(os.environ.get("INCIDENT_HOME", "/dev/shm/incidents"))
CLUSTER_ID = "D4TC8vuNSwuQCo5Ogm6fUw"
CONTROLLER = 100
COMMON = """
num.network.threads=2
num.io.threads=4
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=5
group.initial.rebalance.delay.ms=0
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
unclean.leader.election.enable=true
offset.metadata.max.bytes=4096
"""
PATTERNS = {"broker": "[%d] %p %m (%c)%n", "client": "%d{yyyy-MM-dd HH:mm:ss.SSS} %-5p [%t] %c{1} - %m%n"}
TOOLS = {
    "transactions": ("org.apache.kafka.tools.TransactionsCommand",) * 2,
    "dump": ("kafka.tools.DumpLogSegments", "org.apache.kafka.tools.DumpLogSegments"),
    "topics": ("kafka.admin.TopicCommand", "org.apache.kafka.tools.TopicCommand"),
    "groups": ("kafka.admin.ConsumerGroupCommand", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"),
}
"""Main classes: the old one, in kafka_2.13, and that of kafka-tools."""


def _config_of_log(version: str, role: str, level: str = "INFO") -> tuple[str, str]:
    """Return a file's name and text that make log4j write to standard error."""
    pattern = PATTERNS[role]
    if version >= "4":
        rows = (
            "status=error\nname=k\nappender.c.type=Console\nappender.c.name=c\nappender.c.target=SYSTEM_ERR\n"
            f"appender.c.layout.type=PatternLayout\nappender.c.layout.pattern={pattern.replace('%n', '%n%ex')}\n"
            f"rootLogger.level={level}\nrootLogger.appenderRef.c.ref=c\n"
        )
        return "log4j2.properties", rows
    rows = (
        f"log4j.rootLogger={level},c\nlog4j.appender.c=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.c.target=System.err\nlog4j.appender.c.layout=org.apache.log4j.PatternLayout\n"
        f"log4j.appender.c.layout.ConversionPattern={pattern}\n"
    )
    return "log4j.properties", rows


class JavaClient:
    """The program Client.java with the client of one version; each step waits for its answer."""

    def __init__(
        self, cluster: Cluster, name: str, app: str, level: str = "INFO", version: str = "", program: str = "Client"
    ) -> None:
        version = version or cluster.version
        self.log = cluster.home / f"{name}.log"
        option = cluster.log_option(version, "client", level)
        command = [
            "java", "-Xmx256m", option, f"-Dapp={app}", f"-Dbootstrap={cluster.bootstrap}",
            "-cp", f"{JARS.resolve() / version}/*", str(HERE / f"{program}.java"),
        ]  # fmt: skip
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=cluster.home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def send(self, *step: object) -> None:
        """Send a step without waiting for its end."""
        assert self.process.stdin
        print(*step, sep="\t", file=self.process.stdin, flush=True)

    def receive(self) -> str:
        """Wait for the end of the oldest step that was sent."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def ask(self, *step: object) -> str:
        """Do one step and return "ok" or "failed" and why."""
        self.send(*step)
        return self.receive()

    def end(self, kill: bool = False) -> str:
        """End the program, at once or after its last step, and return its log."""
        assert self.process.stdin
        self.process.kill() if kill else self.process.stdin.close()
        self.process.wait()
        return self.log.read_text()


class Cluster:
    """Brokers 1 to `brokers` at ports from `port` on; a controller or a ZooKeeper is a process of its own."""

    def __init__(self, version: str, brokers: int = 1, port: int = 29092, more: str = "", level: str = "") -> None:
        self.version, self.brokers, self.port = version, brokers, port
        self.home = HOME / version
        self.zookeeper = version < "3"
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.protocol = Protocol(str(next((JARS / "4.3.1").glob("kafka-clients-*.jar"))))
        self.connections: dict[int, Connection] = {}
        for node in [CONTROLLER, *range(1, brokers + 1)]:
            (self.home / f"{node}.properties").write_text(self._properties(node) + more)
            if not self.zookeeper:
                feature = ["--feature", f"transaction.version={level}"] if level else []
                options = ("-t", CLUSTER_ID, "-c", f"{node}.properties", *feature)
                self.run_java("kafka.tools.StorageTool", "format", *options)

    @property
    def bootstrap(self) -> str:
        """Return the address of every broker."""
        return ",".join(f"127.0.0.1:{self.port + node}" for node in range(1, self.brokers + 1))

    def _properties(self, node: int) -> str:
        at = f"127.0.0.1:{self.port}"
        if self.zookeeper and node == CONTROLLER:
            return f"clientPort={self.port}\nclientPortAddress=127.0.0.1\ndataDir=zookeeper\ntickTime=2000\n"
        mine = f"PLAINTEXT://127.0.0.1:{self.port + node}"
        rows = f"log.dirs={self.home}/data{node}\n" + COMMON
        if self.zookeeper:
            return rows + f"broker.id={node}\nzookeeper.connect={at}\nlisteners={mine}\n"
        rows += (
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
            f"controller.listener.names=CONTROLLER\nnode.id={node}\ncontroller.quorum.voters={CONTROLLER}@{at}\n"
        )
        if node == CONTROLLER:
            return rows + f"process.roles=controller\nlisteners=CONTROLLER://{at}\n"
        return rows + f"process.roles=broker\nlisteners={mine}\nadvertised.listeners={mine}\n"

    def log_option(self, version: str, role: str, level: str = "INFO") -> str:
        """Write a configuration of log4j for a program and return the option that names it."""
        name, text = _config_of_log(version, role, level)
        path = self.home / f"{role}-{level}-{version}-{name}"
        path.write_text(text)
        return f"-D{'log4j2.configurationFile' if version >= '4' else 'log4j.configuration'}=file:{path}"

    def _command(self, *more: str, level: str = "INFO") -> list[str]:
        option = self.log_option(self.version, "broker", level)
        return ["java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", option, "-cp",
                f"{JARS.resolve() / self.version}/*", *more]  # fmt: skip

    def run_java(self, *more: str) -> str:
        """Run a program of the jars and return what it prints."""
        done = subprocess.run(self._command(*more, level="ERROR"), cwd=self.home, capture_output=True, text=True)
        return done.stdout + done.stderr

    def start(self, *nodes: int) -> None:
        """Start nodes, all of them if none is named, and wait until each says that it has started."""
        for node in nodes or (CONTROLLER, *range(1, self.brokers + 1)):
            zoo = self.zookeeper and node == CONTROLLER
            main = "org.apache.zookeeper.server.quorum.QuorumPeerMain" if zoo else "kafka.Kafka"
            out = self.home / f"{node}.out"
            sign = re.compile(r"binding to port" if zoo else r"Kafka Server started|\[KafkaServer id=\d+\] started")
            seen = len(sign.findall(out.read_text())) if out.exists() else 0
            with out.open("ab") as log:
                self.processes[node] = subprocess.Popen(
                    self._command(main, f"{node}.properties"), cwd=self.home, stdout=log, stderr=log
                )
            wait_for(partial(_has_started, out, sign, seen), 600)

    def stop(self, node: int, kill: bool = False) -> None:
        """End one node, cleanly or at once."""
        process = self.processes.pop(node)
        (process.kill if kill else process.terminate)()
        process.wait()
        if (held := self.connections.pop(node, None)) is not None:
            held.close()

    def stop_all(self) -> None:
        """Kill every node that runs."""
        for node in list(self.processes):
            self.stop(node, kill=True)

    def ask(self, api: str, version: int, node: int = 1, **values: Any) -> dict[str, Any]:
        """Send a raw request to a broker and return the answer."""
        if node not in self.connections:
            self.connections[node] = Connection(self.protocol, self.port + node, "__admin_client")
        return self.connections[node].ask(api, version, values)

    def create(self, topic: str, partitions: int = 1, replicas: tuple[int, ...] = (1,), **config: str) -> None:
        """Create a topic with the same replicas for each partition."""
        assigned = [{"PartitionIndex": i, "BrokerIds": list(replicas)} for i in range(partitions)]
        named = [{"Name": name.replace("_", "."), "Value": value} for name, value in config.items()]
        row = {"Name": topic, "NumPartitions": -1, "ReplicationFactor": -1, "Assignments": assigned, "Configs": named}
        node = self._controller() if self.zookeeper else 1
        done = self.ask("CreateTopics", 5, node, Topics=[row], timeoutMs=30_000)
        assert done["Topics"][0]["ErrorCode"] == 0, done
        time.sleep(1)

    def _controller(self) -> int:
        """Return the controller's id, after waiting for its election."""
        for _ in range(100):
            if (node := int(self.ask("Metadata", 8, 1, Topics=[])["ControllerId"])) > 0:
                return node
            time.sleep(0.3)
        raise TimeoutError

    def tool(self, name: str, *args: str) -> str:
        """Run a tool as its shell script does, with the address of the brokers unless it reads files."""
        old, new = TOOLS[name]
        core = {"dump": "4.3", "groups": "3.7", "topics": "3.7", "transactions": "0"}[name]
        address = () if name == "dump" else ("--bootstrap-server", self.bootstrap)
        return self.run_java(old if self.version < core else new, *address, *args)

    def dump(self, partition: str, *args: str, node: int = 1, segment: int = 0) -> str:
        """Run kafka-dump-log.sh on a segment of a partition."""
        file = f"{self.home}/data{node}/{partition}/{segment:020}.log"
        return self.tool("dump", *args, "--files", file)

    def read_log(self, node: int = 1) -> str:
        """Return what a node has printed since it was first started."""
        return (self.home / f"{node}.out").read_text()


def _has_started(out: Path, sign: re.Pattern[str], seen: int) -> bool:
    return len(sign.findall(out.read_text())) > seen


def wait_for(condition: Any, seconds: float = 60) -> None:
    """Wait until `condition` holds; TimeoutError if it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.2)


class RawProducer:
    """A transactional producer of raw requests, of the old protocol: one epoch for all transactions."""

    def __init__(self, cluster: Cluster, name: str, timeout_ms: int = 60_000, node: int = 1) -> None:
        self.cluster, self.name, self.node = cluster, name, node
        self.sequences: dict[tuple[str, int], int] = {}
        for _ in range(200):
            done = cluster.ask("InitProducerId", 1, node, TransactionalId=name, TransactionTimeoutMs=timeout_ms)
            if done["ErrorCode"] == 0:
                break
            cluster.ask("FindCoordinator", 1, node, Key=name, KeyType=1)
            time.sleep(0.3)
        assert done["ErrorCode"] == 0, done
        self.identity = {"ProducerId": done["ProducerId"], "ProducerEpoch": done["ProducerEpoch"]}

    def add(self, topic: str, *partitions: int) -> int:
        """Add partitions to the transaction; return the error code, after waiting for the previous markers."""
        values = {
            "V3AndBelowTransactionalId": self.name,
            "V3AndBelowProducerId": self.identity["ProducerId"],
            "V3AndBelowProducerEpoch": self.identity["ProducerEpoch"],
            "V3AndBelowTopics": [{"Name": topic, "Partitions": list(partitions)}],
        }
        for _ in range(50):
            done = self.cluster.ask("AddPartitionsToTxn", 1, self.node, **values)
            results = done["ResultsByTopicV3AndBelow"][0]["ResultsByPartition"]
            code = int(results[0]["PartitionErrorCode"])
            if code != 51:
                return code
            time.sleep(0.1)
        return code

    def produce(self, topic: str, partition: int, *rows: tuple[str, str], ago_ms: int = 0, node: int = 0) -> int:
        """Write records, stamped `ago_ms` before now, in one batch and return the error code."""
        first = self.sequences.get((topic, partition), 0)
        records = b"".join(record_bytes(v.encode(), i, k.encode()) for i, (k, v) in enumerate(rows))
        identity = (self.identity["ProducerId"], self.identity["ProducerEpoch"], first)
        now = int(time.time() * 1000) - ago_ms
        batch = batch_bytes(records, len(rows), now, TRANSACTIONAL, producer=identity)
        data = [{"Name": topic, "PartitionData": [{"Index": partition, "Records": batch}]}]
        done = self.cluster.ask(
            "Produce", 7, node or self.node, TransactionalId=self.name, Acks=-1, TimeoutMs=30_000, TopicData=data
        )
        code = int(done["Responses"][0]["PartitionResponses"][0]["ErrorCode"])
        if code == 0:
            self.sequences[topic, partition] = first + len(rows)
        return code

    def end(self, commit: bool) -> int:
        """Commit or abort and return the error code."""
        values = {"TransactionalId": self.name, **self.identity, "Committed": commit}
        for _ in range(50):
            code = int(self.cluster.ask("EndTxn", 1, self.node, **values)["ErrorCode"])
            if code != 51:
                return code
            time.sleep(0.1)
        return code

    def add_offsets(self, group: str) -> int:
        """Add the group's partition to the transaction and return the error code."""
        values = {"TransactionalId": self.name, **self.identity, "GroupId": group}
        return int(self.cluster.ask("AddOffsetsToTxn", 1, self.node, **values)["ErrorCode"])

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> int:
        """Commit an offset in the transaction and return the error code."""
        rows = [{"Name": topic, "Partitions": [{"PartitionIndex": partition, "CommittedOffset": offset}]}]
        values = {"TransactionalId": self.name, "GroupId": group, **self.identity, "Topics": rows}
        done = self.cluster.ask("TxnOffsetCommit", 2, self.node, **values)
        return int(done["Topics"][0]["Partitions"][0]["ErrorCode"])


@contextmanager
def tap(cluster: Cluster, *faults: str, port: int = 39092) -> Iterator[str]:
    """Put a proxy with faults before a cluster of one broker and return the proxy's address."""
    command = [sys.executable, "-m", "kafkalab", "tap", f"127.0.0.1:{cluster.port + 1}", "--port", str(port), "--quiet"]
    options = [word for fault in faults for word in ("--faults", fault)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("ready")
        yield f"127.0.0.1:{port}"
        process.terminate()


@contextmanager
def stderr_in(path: Path) -> Iterator[None]:
    """Write what C libraries print to standard error into a file."""
    held = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(held, 2)
            os.close(held)


def hide(text: str) -> str:
    """Replace this machine's names by those of a made-up cluster, and cut the frames of Client.java's launcher."""
    text = re.sub(r"^SLF4J: .*\n?", "", text, flags=re.M)
    text = text.replace(str(HOME), "/var/lib/kafka")
    text = re.sub(r"/var/lib/kafka/\d\.\d\.\d/data\d", "/var/lib/kafka/data", text)
    text = re.sub(r"(localhost/)?127\.0\.0\.1:29\d9(\d)", lambda m: f"kafka-{int(m[2]) - 2}.prod.internal:9092", text)
    text = re.sub(r"(localhost/)?127\.0\.0\.1:3909\d", "kafka-1.prod.internal:9092", text)
    launcher = r"^(?:\[pod/\S+ )?\tat (Client\.|jdk\.compiler|java\.base/(jdk\.internal|java\.lang\.reflect)).*\n"
    text = re.sub(launcher, "", text, flags=re.M)
    return text.replace("/127.0.0.1", "/10.20.7.31").replace("127.0.0.1", "10.20.7.31")


def save(incident: str, name: str, text: str) -> None:
    """Write a file of an incident."""
    folder = HERE / incident
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(hide(text).rstrip() + "\n")


def pick(text: str, *patterns: str) -> str:
    """Return the lines that hold one of the patterns, as an engineer does with grep."""
    return "\n".join(line for line in text.splitlines() if any(re.search(p, line) for p in patterns))


def thin(text: str, pattern: str, keep: int = 3) -> str:
    """Leave out all lines that hold the pattern but the first few."""
    rows, seen = [], 0
    for line in text.splitlines():
        seen += bool(re.search(pattern, line))
        if seen <= keep or not re.search(pattern, line):
            rows.append(line)
    return "\n".join(rows)


def cut_times(text: str) -> str:
    """Remove the time at the beginning of each line."""
    return re.sub(r"^(\[?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d{3}\]? )", "", text, flags=re.M)


def excerpt(text: str, pattern: str, before: int, after: int) -> str:
    """Return the lines around the first one that holds the pattern."""
    rows = text.splitlines()
    at = next(i for i, line in enumerate(rows) if re.search(pattern, line))
    return "\n".join(rows[max(0, at - before) : at + after])
