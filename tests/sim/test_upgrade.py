"""The cluster's transaction.version rises in a run: a producer ends its transaction in the old version, then bumps."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.faults.cluster import Upgrade
from kafkalab.faults.registry import check_fault, fault_from_json, fault_to_json, possible_faults
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.conformance.scripted_port import ScriptedPort, begin


async def three(app: App, end: str = "commit") -> list[tuple[str, int]]:
    """Three transactions, half a second apart; the identity after each."""
    producer, seen = app.producer(transactional_id="a", linger_ms=0), []
    await producer.init_transactions()
    for number in range(3):
        producer.begin_transaction()
        await producer.send("t", f"{number}", partition=0)
        await app.sleep(500)
        await producer.send("t", f"{number}b", partition=1)
        await (producer.commit_transaction() if end == "commit" else producer.abort_transaction())
        seen.append((producer.state.name, producer.transaction_manager.producer_epoch))
    return seen


def run(*faults: Upgrade, level: int = 1, **args: Any) -> Cluster:
    cluster = Cluster(
        Scenario(
            topics={"t": 2}, profile="4.x/TV2", config={"transaction_version": level},
            programs=(Program("app", three, args),), faults=faults,
        )
    )  # fmt: skip
    cluster.run()
    return cluster


def list_requests(cluster: Cluster, *names: str) -> list[tuple[str, int]]:
    """The requests of these APIs that the client has sent, each with its version."""
    frames = cluster.trace.frames.values()
    return [(f.name, f.version) for f in frames if f.sender == "app" and f.kind == "request" and f.name in names]


@pytest.mark.parametrize("level", [0, 1])
def test_a_client_speaks_version_2_only_to_a_cluster_that_does(level: int) -> None:
    cluster = run(level=level)
    assert {v for _, v in list_requests(cluster, "Produce")} == {11}
    assert list_requests(cluster, "EndTxn") == [("EndTxn", 4)] * 3
    assert cluster.outcome().verdict == "committed"
    assert cluster.results["app"] == [("READY", 0)] * 3


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_the_open_transaction_ends_as_it_began_and_the_next_one_has_a_new_epoch(end: str, level: int) -> None:
    cluster = run(Upgrade(at_ms=300), level=level, end=end)
    assert cluster.unused_faults == ()
    assert list_requests(cluster, "InitProducerId", "AddPartitionsToTxn", "EndTxn") == [
        ("InitProducerId", 5),
        ("AddPartitionsToTxn", 3),
        *([("AddPartitionsToTxn", 3)] if end == "commit" else []),  # an abort forgets the second partition
        ("EndTxn", 4),
        ("InitProducerId", 5),
        ("InitProducerId", 5),  # once more: the markers were still being written
        ("EndTxn", 5),
        ("EndTxn", 5),
    ]
    assert cluster.results["app"] == [("READY", 1), ("READY", 2), ("READY", 3)]
    kept = ("0", "1", "2") if end == "commit" else ()
    assert cluster.outcome().committed["t-0"] == kept


def test_a_prepared_transaction_of_level_0_is_read_back_without_the_new_fields() -> None:
    cluster = run(Upgrade(at_ms=300), level=0)
    log = cluster.log_of(transaction_partition("a"))
    versions = [r.value.client_transaction_version for b in log.batches for r in b.records]
    assert versions[0] == 0
    assert versions[-1] == 2


def test_nothing_rises_twice_and_nothing_falls() -> None:
    assert run(Upgrade(at_ms=300), level=2).unused_faults == (Upgrade(at_ms=300),)
    assert possible_faults(run(level=2))[Upgrade()] == "transaction.version is 2 already"
    assert possible_faults(run(level=1))[Upgrade()] == ""


def test_the_fault_as_text_and_as_data() -> None:
    assert repr(Upgrade(at_step=5)) == "Upgrade(at_step=5)"
    assert repr(Upgrade(1, at_ms=5)) == "Upgrade(level=1, at_ms=5)"
    assert fault_from_json(fault_to_json(Upgrade(1, at_ms=5))) == Upgrade(1, at_ms=5)
    with pytest.raises(ValueError, match="level is 1 or 2, not 3"):
        check_fault(Upgrade(3, at_ms=5), ("b1",))


@pytest.mark.parametrize("commits", [True, False])
def test_the_call_that_ends_the_transaction_waits_for_the_new_epoch(commits: bool) -> None:
    port = ScriptedPort(1)

    async def program() -> list[Any]:
        producer = await begin(port)
        await (await producer.send("t", "v", partition=0))
        port.transaction_version = 2
        await producer.send("t", "w", partition=0)
        await (producer.commit_transaction() if commits else producer.abort_transaction())
        state, epoch = producer.state.name, producer.transaction_manager.producer_epoch
        producer.begin_transaction()
        await producer.send("t", "x", partition=0)
        await producer.commit_transaction()
        return [state, epoch]

    assert port.run(program()) == ["READY", 6]
    sent = [(type(b).__name__, v) for (_, b), v in zip(port.requests, port.versions, strict=True)]
    ends = [(name, version) for name, version in sent if name in ("AddPartitionsToTxn", "EndTxn", "InitProducerId")]
    assert ends == [
        ("InitProducerId", 1), ("AddPartitionsToTxn", 1), ("EndTxn", 1), ("InitProducerId", 2), ("EndTxn", 2)
    ]  # fmt: skip
