"""A real Kafka on 127.0.0.1 for as long as it is recorded: KRaft, its data in a folder of its own.

One node is broker and controller at once; node 2, a broker, lives only while replicas are placed on it. With three
brokers the controller is a process of its own, so that any broker can be killed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.kafka.script import HERE

FIRST_PORT = 19092
CONTROLLER = 100
CLUSTER_ID = "D4TC8vuNSwuQCo5Ogm6fUw"
STARTED = "Kafka Server started"
COMMON = """
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
controller.listener.names=CONTROLLER
num.network.threads=2
num.io.threads=4
auto.create.topics.enable=false
offsets.topic.replication.factor={replicas}
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={min_isr}
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.consumer.assignment.interval.ms=0
group.consumer.migration.policy=disabled
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
log.retention.ms=-1
"""
THREE = """
auto.leader.rebalance.enable=false
replica.lag.time.max.ms=3000
"""
AUTHORIZER = """
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
group.max.size=2
message.max.bytes=2000
"""
"""For the recording of refusals: permissions, and small limits."""


FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
"""Debian's package libfaketime; of its two libraries the one for processes with threads."""


def set_clocks_ahead(days: int) -> None:
    """Let every node that is started from now on believe that it is `days` later; RuntimeError without libfaketime.

    The monotonic clock stays as it is: timers are to take as long as ever.
    """
    if not FAKETIME.exists():
        raise RuntimeError(f"{FAKETIME} is not there: apt-get install libfaketime")
    unchanged = {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0"}
    os.environ.update(LD_PRELOAD=str(FAKETIME), FAKETIME=f"+{days}d", **unchanged)


def now_ms() -> int:
    """Return the time as the nodes know it."""
    days = int(os.environ.get("FAKETIME", "+0d")[1:-1])
    return int(time.time() * 1000) + days * 86_400_000


class RunningKafka:
    """Start and stop the nodes of one cluster; `libs` holds the jars, `home` gets the data and the output."""

    log4j = f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}"
    mains: Mapping[int, str] = {}
    """The main class of a node, if not kafka.Kafka."""
    started: Mapping[int, str] = {}
    """The line that a node prints when it has started, if not `STARTED`."""

    def __init__(self, libs: Path, home: Path, brokers: int = 1, first_port: int = FIRST_PORT, more: str = "") -> None:
        self.libs, self.home, self.brokers, self.more = libs, home, brokers, more
        self.ports = {node: first_port + node - 1 for node in (1, 2, 3)}
        self.controller_port = first_port + 3
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.controller = 1 if brokers == 1 else CONTROLLER

    def format(self, level: int) -> None:
        """Delete all data and begin a cluster at this level of transaction.version."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        for node in self._nodes():
            (self.home / f"{node}.properties").write_text(self._properties(node))
            feature = ("--feature", f"transaction.version={level}")
            self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", f"{node}.properties", *feature)

    def _nodes(self) -> list[int]:
        return [1, 2] if self.brokers == 1 else [CONTROLLER, *range(1, self.brokers + 1)]

    def _properties(self, node: int) -> str:
        roles = [role for role, has in (("broker", node in self.ports), ("controller", node == self.controller)) if has]
        at = {
            "broker": f"PLAINTEXT://127.0.0.1:{self.ports.get(node)}",
            "controller": f"CONTROLLER://127.0.0.1:{self.controller_port}",
        }
        rows = [
            f"process.roles={','.join(roles)}",
            f"node.id={node}",
            f"controller.quorum.voters={self.controller}@127.0.0.1:{self.controller_port}",
            f"listeners={','.join(at[role] for role in roles)}",
            f"log.dirs=data{node}",
        ]
        if node in self.ports:
            rows += [f"advertised.listeners={at['broker']}", "inter.broker.listener.name=PLAINTEXT"]
        three = self.brokers == 3
        common = COMMON.format(replicas=self.brokers, min_isr=2 if three else 1)
        return "\n".join(rows) + common + (THREE if three else "") + self.more

    def _command(self, *more: str) -> list[str]:
        return [
            "java",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            self.log4j,
            "-cp",
            f"{self.libs}/*",
            *more,
        ]

    def _java(self, *more: str) -> None:
        done = subprocess.run(self._command(*more), cwd=self.home, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{more[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def start(self, node: int = 1) -> None:
        """Start one node and wait until it says so; RuntimeError if it ends instead."""
        out = self.home / f"{node}.out"
        if out.exists():
            with (self.home / f"{node}.all").open("ab") as kept:
                kept.write(out.read_bytes())
        with out.open("wb") as log:
            self.processes[node] = subprocess.Popen(
                self._command(self.mains.get(node, "kafka.Kafka"), f"{node}.properties"),
                cwd=self.home,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        for _ in range(1200):
            if self.started.get(node, STARTED) in out.read_text(errors="replace"):
                return
            if self.processes[node].poll() is not None:
                break
            time.sleep(0.5)
        raise RuntimeError(f"node {node} did not start: {out.read_text(errors='replace')[-2000:]}")

    def read_printed(self) -> list[str]:
        """Return all lines that node 1 has printed, in the order of its starts."""
        files = [self.home / name for name in ("1.all", "1.out")]
        return [line for f in files if f.exists() for line in f.read_text(errors="replace").splitlines()]

    def start_all(self) -> None:
        """Start the controller and every broker but the one that only holds replicas."""
        for node in [self.controller, *range(1, self.brokers + 1)]:
            if node not in self.processes:
                self.start(node)

    def stop(self, node: int = 1, kill: bool = False) -> None:
        """End one node, cleanly or at once."""
        process = self.processes.pop(node, None)
        if process is not None:
            (process.kill if kill else process.terminate)()
            process.wait()

    def stop_all(self) -> None:
        """Kill whatever still runs."""
        for node in list(self.processes):
            self.stop(node, kill=True)
