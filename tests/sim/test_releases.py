"""Under the profiles of 4.4 clients and brokers speak its versions; under all others nothing changes."""

from __future__ import annotations

import pytest

from kafkalab.client.exceptions import KafkaTimeoutError
from kafkalab.client.results import GroupMetadata
from kafkalab.faults.frame import Drop
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

OF_OFFSETS = ("Metadata", "AddOffsetsToTxn", "TxnOffsetCommit")


def list_sent(cluster: Cluster, *names: str) -> list[tuple[str, int]]:
    """Return the names and versions of the requests of these names, in order, without retries."""
    frames = cluster.trace.frames.values()
    return [(f.name, f.version) for f in frames if f.kind == "request" and f.name in names and f.attempt < 2]


async def two_transactions(app: App) -> str:
    producer = app.producer(transactional_id="pay", max_block_ms=5_000)
    await producer.init_transactions()
    for number in (1, 2):
        producer.begin_transaction()
        await producer.send("out", f"v{number}")
        began_ms = app.now
        try:
            await producer.send_offsets_to_transaction({"in-0": number}, GroupMetadata("g"))
        except KafkaTimeoutError as error:
            return f"{error} {app.now - began_ms} ms passed"
        await producer.commit_transaction()
    return ""


def run(profile: str, *faults: Drop) -> Cluster:
    programs = (Program("app", two_transactions),)
    return ran(Scenario(topics={"in": 1, "out": 1}, profile=profile, programs=programs, faults=faults))


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("4.x/TV2", [("TxnOffsetCommit", 5)] * 2),
        ("4.4/TV2", [("Metadata", 13), *[("TxnOffsetCommit", 6)] * 2]),
        ("4.x/TV1", [("AddOffsetsToTxn", 4), ("TxnOffsetCommit", 4)] * 2),
        ("4.4/TV1", [("Metadata", 13), *[("AddOffsetsToTxn", 4), ("TxnOffsetCommit", 4)] * 2]),
    ],
)
def test_offsets_go_by_topic_id_after_one_metadata_request(profile: str, expected: list[tuple[str, int]]) -> None:
    """KIP-1319: the producer asks once for the topics of the offsets, whatever the version of TxnOffsetCommit."""
    assert list_sent(run(profile), *OF_OFFSETS)[1:] == expected, "the first one is the Metadata request of the start"


def test_a_producer_waits_for_topic_ids_no_longer_than_max_block_ms() -> None:
    cluster = run("4.4/TV2", Drop("Metadata#2"))
    assert cluster.results["app"] == "Failed to update metadata after 5000 ms. 5000 ms passed"
    assert list_sent(cluster, "TxnOffsetCommit") == []


def test_a_topic_that_the_producer_has_sent_to_is_known() -> None:
    async def same(app: App) -> None:
        producer = app.producer(transactional_id="pay")
        await producer.init_transactions()
        producer.begin_transaction()
        await producer.send("out", "v")
        await producer.send_offsets_to_transaction({"out-0": 1}, GroupMetadata("g"))

    cluster = ran(Scenario(topics={"out": 1}, profile="4.4/TV2", programs=(Program("app", same),)))
    assert list_sent(cluster, *OF_OFFSETS)[1:] == [("TxnOffsetCommit", 6)]
