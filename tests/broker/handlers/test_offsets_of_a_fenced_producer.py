"""TxnOffsetCommit of a fenced producer, in each version of Kafka (docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

import pytest

from kafkalab.programs.steps import Step, commit, init
from kafkalab.protocol.profiles import PROFILES
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

REFUSED = "INVALID_PRODUCER_EPOCH"


def offsets(producer: str, offset: int) -> Step:
    """TxnOffsetCommit of the producer id and epoch that the answer `producer` named."""
    identity = {"producer_id": f"${producer}.producer_id", "producer_epoch": f"${producer}.producer_epoch"}
    fields = {"transactional_id": "a", "group_id": "g", **identity, "offsets": {"in-0": offset}}
    return {"ask": "TxnOffsetCommit", "to": "group coordinator of g", "version": 0, "with": fields}


def answers(profile: str) -> list[list[str]]:
    steps = [
        {**init("a"), "as": "old"},
        init("a"),
        {
            "ask": "AddOffsetsToTxn",
            "to": "coordinator of a",
            "version": 0,
            "with": {
                "transactional_id": "a",
                "group_id": "g",
                "producer_id": "$a.producer_id",
                "producer_epoch": "$a.producer_epoch",
            },
        },
        {**offsets("a", 1), "until": "NONE"},
        offsets("old", 2),
        commit("a"),
        {"sleep": 1000},
        {
            "ask": "OffsetFetch",
            "to": "group coordinator of g",
            "with": {"group_id": "g", "partitions": ["in-0"]},
            "show": ["offsets"],
        },
    ]
    programs = (Program("p", "raw_requests", {"steps": steps}),)
    cluster = Cluster(Scenario(profile=profile, topics={"in": 1}, programs=programs))
    cluster.run()
    found: list[list[str]] = cluster.results["p"]
    return found


@pytest.mark.parametrize("profile", PROFILES)
def test_only_kafka_1_0_accepts_them_and_its_successors_commit_makes_them_visible(profile: str) -> None:
    *_, late, end, fetched = answers(profile)
    assert late == ["TxnOffsetCommit", "NONE" if profile == "1.0" else REFUSED]
    assert end == ["EndTxn", "NONE"]
    assert fetched[-1] == f"offsets={{'in-0': {2 if profile == '1.0' else 1}}}"
