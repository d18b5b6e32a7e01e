"""The frames of lab 03's transaction, one by one, with their lanes, in both protocol versions."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.sim.cluster import Cluster
from kafkalab.trace import Frame

SEEDS = range(1, 21)
Lane = tuple[str, str, str]

BEGIN: list[Lane] = [
    ("FindCoordinator", "app", "b1"),
    ("InitProducerId", "app", "b3"),
    ("FindCoordinator", "app", "b1"),
    ("OffsetFetch", "app", "b2"),
    ("ListOffsets", "app", "b1"),
    ("Fetch", "app", "b1"),
]
TV1: list[Lane] = [
    *BEGIN,
    ("AddPartitionsToTxn", "app", "b3"),
    ("Produce", "app", "b1"),
    ("AddPartitionsToTxn", "b1", "b3"),
    ("AddPartitionsToTxn", "app", "b3"),
    ("Produce", "app", "b2"),
    ("AddPartitionsToTxn", "b2", "b3"),
    ("AddOffsetsToTxn", "app", "b3"),
    ("FindCoordinator", "app", "b1"),
    ("TxnOffsetCommit", "app", "b2"),
    ("AddPartitionsToTxn", "b2", "b3"),
    ("EndTxn", "app", "b3"),
    ("WriteTxnMarkers", "b3", "b2"),
    ("WriteTxnMarkers", "b3", "b1"),
]
TV2: list[Lane] = [
    *BEGIN,
    ("Produce", "app", "b1"),
    ("AddPartitionsToTxn", "b1", "b3"),
    ("Produce", "app", "b2"),
    ("AddPartitionsToTxn", "b2", "b3"),
    ("FindCoordinator", "app", "b1"),
    ("TxnOffsetCommit", "app", "b2"),
    ("AddPartitionsToTxn", "b2", "b3"),
    ("EndTxn", "app", "b3"),
    ("WriteTxnMarkers", "b3", "b2"),
    ("WriteTxnMarkers", "b3", "b1"),
]


def whole(profile: str, seed: int = 1) -> Cluster:
    cluster = Cluster(lab03(profile, seed))
    cluster.run()
    return cluster


def requests(cluster: Cluster) -> list[Frame]:
    shown = ("transaction", "verification")
    return [f for f in cluster.trace.frames.values() if f.category in shown and f.kind == "request"]


def body(cluster: Cluster, frame: str) -> Any:
    return cluster.trace.frames[frame].body


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("profile", "flow"), [("4.x/TV1", TV1), ("4.x/TV2", TV2)])
def test_the_requests_are_those_of_the_protocol_in_its_order(profile: str, flow: list[Lane], seed: int) -> None:
    assert [(f.name, f.sender, f.receiver) for f in requests(whole(profile, seed))] == flow


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_every_request_has_one_answer_without_an_error_back_on_its_lane(profile: str) -> None:
    cluster = whole(profile)
    answers = {f.of: f for f in cluster.trace.frames.values() if f.kind == "response"}
    for request in requests(cluster):
        answer = answers[request.id]
        assert (answer.sender, answer.receiver, answer.error) == (request.receiver, request.sender, "NONE")
        assert (request.fate, answer.fate) == ("delivered", "delivered")


def test_only_a_client_of_version_1_adds_partitions_and_offsets_itself() -> None:
    mine = {p: [f.name for f in requests(whole(p)) if f.sender == "app"] for p in ("4.x/TV1", "4.x/TV2")}
    assert mine["4.x/TV1"].count("AddPartitionsToTxn") == 2
    assert "AddOffsetsToTxn" in mine["4.x/TV1"]
    assert not {"AddPartitionsToTxn", "AddOffsetsToTxn"} & set(mine["4.x/TV2"])


def test_leaders_verify_under_version_1_and_add_under_version_2() -> None:
    for profile, only in (("4.x/TV1", True), ("4.x/TV2", False)):
        asked = [f.body.verify_only for f in requests(whole(profile)) if f.category == "verification"]
        assert asked == [only] * 3


def test_the_answer_to_end_txn_carries_the_next_epoch_under_version_2_only() -> None:
    old, new = whole("4.x/TV1"), whole("4.x/TV2")
    assert (body(old, "EndTxnResponse#1").producer_id, body(old, "EndTxnResponse#1").producer_epoch) == (-1, -1)
    assert body(new, "EndTxn#1").producer_epoch == 0
    assert body(new, "EndTxnResponse#1").producer_id == body(new, "EndTxn#1").producer_id
    assert body(new, "EndTxnResponse#1").producer_epoch == 1


@pytest.mark.parametrize(("profile", "epoch"), [("4.x/TV1", 0), ("4.x/TV2", 1)])
def test_markers_carry_the_bumped_epoch_and_the_data_the_old_one(profile: str, epoch: int) -> None:
    cluster = whole(profile)
    assert [m.producer_epoch for m in body(cluster, "WriteTxnMarkers#1").markers] == [epoch]
    for partition in ("accounts-0", "accounts-1", "__consumer_offsets-13"):
        data, end = cluster.log_of(partition).batches
        assert (data.producer_epoch, data.transactional, data.control) == (0, True, None)
        assert end.control is not None
        assert (end.control.name, end.producer_epoch, end.coordinator_epoch) == ("COMMIT", epoch, 0)


@pytest.mark.parametrize(("profile", "epochs"), [("4.x/TV1", [0, 0, 0, 0, 0, 0]), ("4.x/TV2", [0, 0, 0, 0, 1, 1])])
def test_the_transaction_log_holds_every_state_in_order(profile: str, epochs: list[int]) -> None:
    entries = [r.value for b in whole(profile).log_of("__transaction_state-22").batches for r in b.records]
    states = ["Empty", "Ongoing", "Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert [e.state.label for e in entries] == states
    assert [e.producer_epoch for e in entries] == epochs
    assert entries[4].partitions == ("__consumer_offsets-13", "accounts-0", "accounts-1")
    assert entries[5].partitions == ()


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_end_txn_is_answered_after_prepare_is_replicated_and_before_any_marker_is_written(profile: str) -> None:
    trace = whole(profile).trace
    prepared = next(e for e in trace.of("state", "transaction") if e.data["state"] == "PrepareCommit")
    answered = trace.frames["EndTxnResponse#1"].sent_step
    marked = min(e.step for e in trace.of("append") if e.data.control is not None)
    replicas = [e.step for e in trace.of("append", "__transaction_state-22") if e.data.base_offset == 4]
    assert len(replicas) == 3
    assert max(replicas) < prepared.step < answered < marked


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_the_last_stable_offset_waits_for_the_marker_and_the_high_watermark_does_not(profile: str) -> None:
    marks = [
        (e.data["high_watermark"], e.data["last_stable_offset"])
        for e in whole(profile).trace.of("state", "watermark")
        if e.node == "b1" and e.data["partition"] == "accounts-0"
    ]
    assert marks == [(2, 0), (3, 3)]


def test_internal_topics_are_created_on_demand_in_a_fresh_cluster() -> None:
    from dataclasses import replace

    cluster = Cluster(replace(lab03(), fresh=True))
    cluster.run()
    assert cluster.results == {"app": "committed"}
    assert cluster.trace.frames["FindCoordinatorResponse#1"].error == "COORDINATOR_NOT_AVAILABLE"
    assert len(cluster.controller.metadata.partitions_of("__transaction_state")) == 50
