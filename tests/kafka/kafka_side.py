"""Run one script on a real cluster and keep what it answers."""

from __future__ import annotations

import time
from typing import Any

from tests.kafka.connection import Connection
from tests.kafka.kafka_answers import ANSWERS
from tests.kafka.kafka_names import Names
from tests.kafka.kafka_requests import REQUESTS
from tests.kafka.races import Asked
from tests.kafka.real_cluster import RealCluster
from tests.kafka.running_kafka import CONTROLLER
from tests.kafka.script import OTHER, Answer, Normaliser, Script, error_of, ids_of, is_settled, resolve

PAUSE_S, TRIES = 0.02, 1500
CONFIG_APPLIES_S = 0.3


class KafkaSide:
    """One script; `prefix` keeps its names apart from those of other scripts."""

    def __init__(self, cluster: RealCluster, prefix: str, script: Script, base_ms: int, number: int = 0) -> None:
        self.cluster, self.script = cluster, script
        self.address = f"127.1.{number // 250}.{number % 250 + 1}"
        """ACLs tell scripts apart by their addresses; nothing leaves this machine."""
        self.names = Names(prefix, base_ms)
        self.named: dict[str, Answer] = {}
        self.gone: dict[str, int] = {}
        self.under_way: dict[str, tuple[Connection, Script]] = {}
        self.answers: list[Answer] = []
        self.asked: list[Asked] = []
        """For each answer: when it was asked for."""
        self.done = 0
        self.producers: set[int] = set()
        self.connections: dict[int, Connection] = {}
        self._began_s = 0.0

    # before and after

    @property
    def topics(self) -> dict[str, tuple[int, int]]:
        """The script's topics by Kafka's name: how many partitions, and how many replicas of each."""
        script, held = self.script, {t for s in self.script["steps"] for t in s.get("min_isr", ())}
        copies = {t: 3 if self.cluster.kafka.brokers == 3 else 1 + (t in held) for t in script.get("topics", ())}
        copies.update(dict.fromkeys(script.get("one_replica", ()), 1))
        return {str(self.names.out(t)): (n, copies[t]) for t, n in script.get("topics", {}).items()}

    @property
    def denials(self) -> list[tuple[str, str, str]]:
        """The operations that the script's address is denied, by Kafka's names."""
        rows = [(operation, *resource.partition(":")) for operation, resource in self.script.get("acls", ())]
        return [
            (self.address, operation, kind + colon + (name if name == "*" else str(self.names.out(name))))
            for operation, kind, colon, name in rows
        ]

    def until_ready(self) -> None:
        """Wait until the leaders of the script's topics answer."""
        if self.topics:
            self.names.topic_ids = self.cluster.topic_ids(list(self.topics))
        self._all_led()
        self.close()

    def _until_led(self, partition: str) -> None:
        for _ in range(400):
            try:
                given = {"partitions": [partition], "timestamp": -1}
                if error_of(self._ask_once("ListOffsets", 2, f"leader of {partition}", given)) == "NONE":
                    return
            except (ConnectionError, OSError, KeyError):
                self.close()
            time.sleep(0.05)

    def close(self) -> None:
        """Close every connection."""
        for connection in self.connections.values():
            connection.close()
        self.connections = {}

    @property
    def known_answers(self) -> list[Answer]:
        """The answers without what differs from run to run."""
        found: list[Answer] = Normaliser(self.names.base_ms)(self.answers)
        return found

    @property
    def stops(self) -> str:
        """The next way to stop the broker: "clean", "kill" or, if no such step is left, ""."""
        found = [s["stop"] for s in self.script["steps"][self.done :] if "stop" in s]
        return str(found[0]) if found else ""

    def run(self) -> None:
        """Do the steps in order, up to one that stops the broker: then `go_on` is to be called after the restart.

        A step that cannot be done ends the script; the last answer says which.
        """
        if not self.done:
            self.names.coordinator_epoch = self.cluster.coordinator_epoch(f"{self.names.prefix}x")
        steps = self.script["steps"]
        while self.done < len(steps) and "stop" not in steps[self.done]:
            self.done += 1
            try:
                self._do(steps[self.done - 1])
            except Exception as error:  # the script is kept, with what went wrong, so that the others are recorded
                self.answers.append({"failed": f"step {self.done} {steps[self.done - 1]}: {error!r}"[:400]})
                self.done = len(steps)
        self.close()

    def go_on(self) -> None:
        """Do the steps after the stop."""
        self.done += 1
        self._all_led()
        self.run()

    # steps

    def _do(self, step: dict[str, Any]) -> None:
        if "sleep" in step:
            time.sleep(step["sleep"] / 1000)
        elif "settle" in step:
            self._settle()
        elif "min_isr" in step:
            for topic, count in step["min_isr"].items():
                self.cluster.set_min_isr(str(self.names.out(topic)), count)
            time.sleep(CONFIG_APPLIES_S)
        elif "kill" in step:
            node = self._node(step["kill"])
            self.gone[step["as"]] = node
            self.connections.pop(node, None)
            self.cluster.kafka.stop(node, kill=True)
        elif "start" in step:
            self.cluster.kafka.start(self.gone.pop(step["start"]))
        elif "await" in step:
            connection, asked = self.under_way.pop(step["await"])
            self._note_answer(asked, self._receive(connection, asked["ask"]))
            connection.close()
        else:
            self._ask(step)

    def _settle(self) -> None:
        for _ in range(TRIES):
            found = [
                self._ask_once("DescribeTransactions", 0, f"coordinator of {tid}", {"transactional_ids": [tid]})
                for tid in ids_of(self.script)
            ]
            if all(map(is_settled, found)):
                return
            time.sleep(PAUSE_S)
        raise RuntimeError(f"still {found}")

    def _all_led(self) -> None:
        for t, n in self.script.get("topics", {}).items():
            for i in range(n):
                self._until_led(f"{t}-{i}")

    def _node(self, to: str) -> int:
        if to.startswith(OTHER):
            others = (self._node(to.removeprefix(OTHER)), CONTROLLER)
            return next(n for n in sorted(self.cluster.kafka.processes) if n not in others)
        kind, _, key = to.rpartition(" of ")
        if not kind:
            return int(to.removeprefix("b"))
        if kind.endswith(("leader", "follower")):
            topic, _, index = key.rpartition("-")
            where = (topic if topic.startswith("__") else str(self.names.out(topic)), int(index))
            if kind == "leader":
                return self.cluster.leader(*where)
            return self.cluster.followers(*where)[kind == "second follower"]
        return self.cluster.coordinator(str(self.names.out(key)), 0 if kind == "group coordinator" else 1)

    def _ask(self, step: dict[str, Any]) -> None:
        api, version, self._began_s = step["ask"], step["version"], time.monotonic()
        given = resolve(step.get("with", {}), self.named)
        if not step.get("wait", True):
            connection = self._connect(self._node(step["to"]))
            connection.send(api, version, REQUESTS[api](given, self.names, version))
            self.under_way[step["as"]] = (connection, step)
            return
        for _ in range(TRIES):
            answer = self._ask_once(api, version, step["to"], given)
            if step.get("until") in (None, error_of(answer)):
                self._note_answer(step, answer)
                return
            time.sleep(PAUSE_S)
        raise RuntimeError(f"still {answer}")

    def _ask_once(self, api: str, version: int, to: str, given: dict[str, Any]) -> Answer:
        node = self._node(to)
        values = REQUESTS[api](given, self.names, version)
        try:
            if node not in self.connections:
                self.connections[node] = self._connect(node)
            connection = self.connections[node]
            connection.send(api, version, values)
        except OSError:
            self.connections.pop(node, None)
            return LOST
        answer = self._receive(connection, api)
        if answer is LOST:
            del self.connections[node]
        return answer

    def _connect(self, node: int) -> Connection:
        return Connection(self.cluster.protocol, self.cluster.port(node), source=self.address)

    def _receive(self, connection: Connection, api: str) -> Answer:
        try:
            return ANSWERS[api](connection.receive(), self.names)
        except OSError:
            connection.close()
            return LOST

    def _note_answer(self, step: dict[str, Any], answer: Answer) -> None:
        if step.get("as"):
            self.named[step["as"]] = answer
        self.producers.add(answer.get("producer_id", -1))
        for part in answer.get("parts", ()):  # a partition of an internal topic is shared with other scripts
            if "active" in part and part["partition"].startswith("offsets of "):
                part["active"] = [row for row in part["active"] if row["producer_id"] in self.producers]
        self.answers.append({"ask": step["ask"], **answer})
        self.asked.append(Asked(step["ask"], step["version"], self._began_s, time.monotonic(), error_of(answer)))


LOST = {"error": "NETWORK_EXCEPTION"}
"""The broker has closed the connection instead of answering."""
