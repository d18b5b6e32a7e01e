"""TxnOffsetCommit of a fenced producer, in each version of Kafka (docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

import pytest

from kafkalab.programs.steps import add_offsets, commit, init, offsets, sleep
from kafkalab.protocol.profiles import PROFILES
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

REFUSED = "INVALID_PRODUCER_EPOCH"


def answers(profile: str) -> list[list[str]]:
    fetch = {"group_id": "g", "partitions": ["in-0"]}
    steps = [
        init("a"),
        init("a"),
        add_offsets("a", "g"),
        offsets("a", "g", "in-0", 1, until="NONE", version=0),
        offsets("a", "g", "in-0", 2, epoch="-1", version=0),
        commit("a"),
        sleep(1000),
        {"ask": "OffsetFetch", "to": "group coordinator of g", "with": fetch, "show": ["offsets"]},
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
