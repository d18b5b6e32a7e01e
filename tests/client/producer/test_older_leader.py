"""A client keeps the newest leader of a partition that it knows: a broker that is cut off names itself (KIP-320)."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from kafkalab.checks.all import check_all
from kafkalab.client.connection import ClientPort, Connection
from kafkalab.explore.small_programs import idempotent_produce_in_small
from kafkalab.faults.frame import Drop
from kafkalab.faults.link import Cut, Heal
from kafkalab.history.export import history_of
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario

REST = ("b2", "controller")
CUT_OFF = (Cut("b1", REST, at_step=16), Heal("b1", REST, at_ms=75_012), Drop("ProduceResponse#4"))
"""The leader is cut off; later the answer of its successor is lost, and the client asks the old leader for metadata."""


def asked_the_old_leader(cluster: Cluster) -> bool:
    """Return True if the client sent a batch to b1 after it had sent one to b2."""
    sent = [f.receiver for f in cluster.trace.frames.values() if f.name == "Produce"]
    return "b1" in sent[sent.index("b2") :]


def scenario() -> Scenario:
    return replace(idempotent_produce_in_small(), config={}).with_faults(*CUT_OFF)


def test_a_leader_that_is_cut_off_is_not_believed() -> None:
    cluster = ran(scenario())
    told = [f for f in cluster.trace.frames.values() if f.name == "MetadataResponse" and f.receiver == "p"]
    epochs = [f.body.metadata.partitions["out-0"].leader_epoch for f in told]
    assert epochs != sorted(epochs)
    assert not asked_the_old_leader(cluster)
    assert check_all(history_of(cluster)).violated == ()


def test_believed_it_makes_a_duplicate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "_newer", lambda connection, told: told)
    cluster = ran(scenario())
    assert asked_the_old_leader(cluster)
    assert check_all(history_of(cluster)).violated == ("duplicate",)


@pytest.mark.parametrize(("version", "kept"), [(0, 3), (1, 5), (2, 5)])
def test_clients_of_version_0_are_not_told_leader_epochs(version: int, kept: int) -> None:
    def image(number: int, epoch: int) -> ClusterMetadata:
        info = PartitionInfo(leader="b1", leader_epoch=epoch, replicas=("b1",), isr=("b1",))
        return ClusterMetadata(number, ("b1",), {"out-0": info})

    connection = Connection(cast("ClientPort", SimpleNamespace(transaction_version=version)))
    assert connection._newer(image(1, 3)).partitions["out-0"].leader_epoch == 3
    connection.metadata = image(2, 5)
    assert connection._newer(image(1, 3)).partitions["out-0"].leader_epoch == kept
    assert connection._newer(image(3, 6)).partitions["out-0"].leader_epoch == 6
