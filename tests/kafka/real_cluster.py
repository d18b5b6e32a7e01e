"""What the recorder asks and does of a real cluster besides a script's requests."""

from __future__ import annotations

import struct
import threading
import time
from typing import Any

from tests.kafka.batches import batch_bytes, record_bytes
from tests.kafka.connection import Connection
from tests.kafka.kafka_names import internal_partition
from tests.kafka.running_kafka import RunningKafka
from tests.kafka.schema import Protocol

COORDINATOR_ERRORS = {14, 15, 16}
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""
IDS = sorted({internal_partition(f"wake-{i}"): f"wake-{i}" for i in range(400)}.values())
"""One id, or group, for each partition of the internal topics."""
PAUSE_S = 0.5
RESOURCES = {"Topic": 2, "Group": 3, "Cluster": 4, "TransactionalId": 5}
OPERATIONS = {
    "ALL": 2, "READ": 3, "WRITE": 4, "CREATE": 5, "DELETE": 6, "ALTER": 7, "DESCRIBE": 8, "CLUSTER_ACTION": 9,
    "DESCRIBE_CONFIGS": 10, "ALTER_CONFIGS": 11, "IDEMPOTENT_WRITE": 12, "TWO_PHASE_COMMIT": 15,
}  # fmt: skip
DENY, ALLOW = 2, 3
"""Kafka's numbers of what an ACL is about (`ResourceType`, `AclOperation`, `AclPermissionType`)."""
ACLS_APPLY_S = 2.0


class RealCluster:
    """One cluster that runs, and connections for asking about it."""

    def __init__(self, kafka: RunningKafka, protocol: Protocol) -> None:
        self.kafka, self.protocol = kafka, protocol
        self._kept = threading.local()
        self._aged = 0

    @property
    def _asking(self) -> dict[int, Connection]:
        """This thread's connections."""
        found: dict[int, Connection] = self._kept.__dict__.setdefault("asking", {})
        return found

    def port(self, node: int) -> int:
        """Return the port of a broker."""
        return self.kafka.ports[node]

    def ask(self, api: str, version: int, values: dict[str, Any], node: int = 0) -> dict[str, Any]:
        """Ask a broker, or the first that runs; a broken connection is made again once."""
        node = node or next(n for n in sorted(self.kafka.ports) if n in self.kafka.processes)
        for last in (False, True):
            try:
                if node not in self._asking:
                    self._asking[node] = Connection(self.protocol, self.port(node), "__admin_client")
                return self._asking[node].ask(api, version, values)
            except (ConnectionError, OSError):
                self._asking.pop(node, None)
                if last:
                    raise
        raise AssertionError("not reached")

    def features(self) -> dict[str, int]:
        """Return the finalized features."""
        given = {"ClientSoftwareName": "oracle", "ClientSoftwareVersion": "1"}
        rows = self.ask("ApiVersions", 3, given)["FinalizedFeatures"]
        return {f["Name"]: f["MaxVersionLevel"] for f in rows}

    # topics

    def create(self, wanted: dict[str, tuple[int, int]]) -> None:
        """Create topics: name to number of partitions and number of replicas; with one broker the second is node 2's.

        With three brokers the replicas are those of the coordinator of id x of the same script, from behind: its next
        coordinator is then the first follower, and never the leader.
        """
        rows, placed = [], self._metadata(["__transaction_state"])[0]["Partitions"]
        for name, (partitions, copies) in sorted(wanted.items()):
            nodes = [1, 2][:copies]
            if self.kafka.brokers == 3:
                mine = internal_partition(name.rpartition(".")[0] + ".x")
                nodes = [n for row in placed if row["PartitionIndex"] == mine for n in row["ReplicaNodes"]][::-1]
            assigned = [{"PartitionIndex": i, "BrokerIds": _turn(nodes, i)[:copies]} for i in range(partitions)]
            rows.append({"Name": name, "NumPartitions": -1, "ReplicationFactor": -1, "Assignments": assigned})
        done = self.ask("CreateTopics", 5, {"Topics": rows, "timeoutMs": 30_000})
        assert all(t["ErrorCode"] == 0 for t in done["Topics"]), done

    def _metadata(self, topics: list[str]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.ask("Metadata", 12, {"Topics": [{"Name": t} for t in topics]})["Topics"]
        return rows

    def topic_ids(self, topics: list[str]) -> dict[str, bytes]:
        """Return each topic's id once all are known."""
        for _ in range(200):
            rows = self._metadata(topics)
            if all(t["ErrorCode"] == 0 for t in rows):
                break
            time.sleep(0.05)
        return {t["Name"]: t["TopicId"] for t in rows}

    def leader(self, topic: str, index: int) -> int:
        """Return the node that leads a partition; node 1 for a topic that does not exist."""
        if self.kafka.brokers == 1:
            return 1
        rows = [p for t in self._metadata([topic]) for p in t["Partitions"] if p["PartitionIndex"] == index]
        return int(rows[0]["LeaderId"]) if rows and rows[0]["LeaderId"] > 0 else 1

    def followers(self, topic: str, index: int) -> list[int]:
        """Return the replicas of a partition but its leader, in Kafka's order."""
        rows = [p for t in self._metadata([topic]) for p in t["Partitions"] if p["PartitionIndex"] == index]
        return [int(n) for n in rows[0]["ReplicaNodes"] if n != rows[0]["LeaderId"]]

    def until_in_sync(self) -> None:
        """Wait until every replica of every topic is in sync."""
        for _ in range(600):
            found = self.ask("Metadata", 12, {"Topics": None})["Topics"]
            if all(len(p["IsrNodes"]) == len(p["ReplicaNodes"]) for t in found for p in t["Partitions"]):
                return
            time.sleep(0.2)

    def coordinator(self, key: str, key_type: int) -> int:
        """Return the node that leads the internal partition of an id or a group."""
        topic = ("__consumer_offsets", "__transaction_state")[key_type]
        return self.leader(topic, internal_partition(key))

    def set_min_isr(self, topic: str, count: int) -> None:
        """Set min.insync.replicas of a topic."""
        config = {"Name": "min.insync.replicas", "ConfigOperation": 0, "Value": str(count)}
        done = self.ask(
            "IncrementalAlterConfigs", 1,
            {"Resources": [{"ResourceType": 2, "ResourceName": topic, "Configs": [config]}]},
        )  # fmt: skip
        assert done["Responses"][0]["ErrorCode"] == 0, done

    def coordinator_epoch(self, key: str) -> int:
        """Return the epoch of an id's coordinator; with one broker all coordinators have the same."""
        rows = self._metadata(["__transaction_state"])[0]["Partitions"]
        mine = internal_partition(key)
        epochs = {p["LeaderEpoch"] for p in rows if self.kafka.brokers == 1 or p["PartitionIndex"] == mine}
        assert len(epochs) == 1, f"the partitions of __transaction_state have the leader epochs {epochs}"
        return int(epochs.pop())

    # permissions

    def forbid(self, rows: list[tuple[str, str, str]]) -> None:
        """Deny operations to addresses: rows of address, operation and resource ("Topic:NAME", "Cluster").

        A resource without any ACL is open to all, one with an ACL is not, so everything is allowed to all first.
        """
        if not rows:
            return
        allowed = [_acl("*", "ALL", kind if kind == "Cluster" else f"{kind}:*", ALLOW) for kind in RESOURCES]
        for first in allowed, [_acl(*row, DENY) for row in rows]:
            done = self.ask("CreateAcls", 3, {"Creations": first})
            assert all(row["ErrorCode"] == 0 for row in done["Results"]), done
        time.sleep(ACLS_APPLY_S)

    # coordinators

    def wake(self) -> None:
        """Have the internal topics made, and wait until every coordinator has loaded."""
        for key_type in (0, 1):
            for i in range(400):
                if self.ask("FindCoordinator", 1, {"Key": f"wake-{i % 50}", "KeyType": key_type})["ErrorCode"]:
                    time.sleep(0.1)
                elif i > 50:
                    break
        self.until_loaded()

    def until_loaded(self) -> None:
        """Wait until every partition of the internal topics has its coordinator, and brokers have producer ids."""
        for _ in range(600):
            errors = set()
            for node in [n for n in self.kafka.ports if n in self.kafka.processes]:
                errors |= self._coordinator_errors(node)
            if not errors:
                return
            time.sleep(PAUSE_S)

    def _coordinator_errors(self, node: int) -> set[int]:
        several = self.kafka.brokers > 1  # then each coordinates a part of the ids
        txns = self.ask("DescribeTransactions", 0, {"TransactionalIds": IDS}, node)["TransactionStates"]
        asked = {"Groups": [{"GroupId": i, "Topics": None} for i in IDS], "RequireStable": False}
        groups = self.ask("OffsetFetch", 8, asked, node)["Groups"]
        one = {"TransactionalId": None, "TransactionTimeoutMs": 1000, "ProducerId": -1, "ProducerEpoch": -1}
        given = self.ask("InitProducerId", 4, one, node)
        waits = COORDINATOR_ERRORS - {16} if several else COORDINATOR_ERRORS
        return {r["ErrorCode"] for r in (*txns, *groups, given)} & waits

    def restart(self, kill: bool) -> None:
        """Stop the only broker and start it again."""
        self.kafka.stop(1, kill)
        self._asking.clear()
        self.kafka.start(1)
        self.until_loaded()

    def preload(self, rows: list[tuple[str, int]], base_ms: int) -> None:
        """Write the records of ids that have reached an epoch into __transaction_state, and have it loaded again."""
        for tid, epoch in rows:
            self._aged += 1  # the group's partition still knows the producer ids of earlier scripts
            key = struct.pack(">hh", 0, len(tid)) + tid.encode()
            value = struct.pack(">hqhibiqq", 0, 500_000_000 + self._aged, epoch, 60_000, 0, -1, base_ms, -1)
            data = {"Index": internal_partition(tid), "Records": batch_bytes(record_bytes(value, 0, key), 1, base_ms)}
            topic = {"Name": "__transaction_state", "PartitionData": [data]}
            values = {"TransactionalId": None, "Acks": -1, "TimeoutMs": 30_000, "TopicData": [topic]}
            done = self.ask("Produce", 9, values)["Responses"][0]["PartitionResponses"][0]
            assert done["ErrorCode"] == 0, f"writing {tid} into __transaction_state: {done}"
        if rows:
            self.restart(kill=False)


def _acl(host: str, operation: str, resource: str, permission: int) -> dict[str, Any]:
    """Return a row of CreateAcls; a name that ends in "*" is a prefix, and "*" alone is every name."""
    kind, _, name = resource.partition(":")
    prefixed = name.endswith("*") and name != "*"
    return {
        "ResourceType": RESOURCES[kind],
        "ResourceName": name.removesuffix("*") if prefixed else name or "kafka-cluster",
        "ResourcePatternType": 4 if prefixed else 3,
        "Principal": "User:*",
        "Host": host,
        "Operation": OPERATIONS[operation],
        "PermissionType": permission,
    }


def _turn(nodes: list[int], count: int) -> list[int]:
    count %= len(nodes)
    return nodes[count:] + nodes[:count] if len(nodes) == 3 else nodes
