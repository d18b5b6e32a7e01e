"""A replica's idle fetch stays with its leader, as if Kafka's empty answers every 500 ms were exchanged."""

from __future__ import annotations

import pytest

from kafkalab.course.lab00.scenario import lab00
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.protocol.errors import Error
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.conformance.group_driver import Groups


def writing(*at_ms: int) -> Scenario:
    """One record at each of these times."""
    waits = [b - a for a, b in zip((0, *at_ms), at_ms, strict=False)]
    steps = [step for ms in waits for step in (["sleep", ms], ["send", "out", str(ms)], ["flush"])]
    return Scenario(topics={"out": 1}, programs=(Program("p", "operations", {"steps": steps}),))


def ran(scenario: Scenario, *faults: Fault) -> Cluster:
    cluster = Cluster(scenario.with_faults(*faults))
    cluster.run()
    assert cluster.unused_faults == ()
    return cluster


def timeouts(cluster: Cluster) -> list[int]:
    """Return when a replica gave its fetch up."""
    return [e.at_ms for e in cluster.trace.of("timer", "request timeout") if e.data["request"] == "ReplicaFetch"]


def acknowledged_after(cluster: Cluster) -> list[int]:
    """Return how long each record took, in ms."""
    sent = [f.sent_ms for f in cluster.trace.frames.values() if f.name == "Produce"]
    answered = [f.received_ms for f in cluster.trace.frames.values() if f.name == "ProduceResponse"]
    return [b - a for a, b in zip(sent, answered, strict=True)]


def pair(cluster: Cluster) -> tuple[str, str]:
    """The leader of out-0, and a follower."""
    info = cluster.controller.metadata.partitions["out-0"]
    return info.leader, next(r for r in info.replicas if r != info.leader)


def test_a_record_after_a_long_silence_is_replicated_at_once() -> None:
    cluster = ran(writing(10, 30_200, 60_100, 200_000))
    assert timeouts(cluster) == []
    assert max(acknowledged_after(cluster)) < 30


def test_silence_leaves_no_event() -> None:
    few, many = ran(writing(10, 40_000)), ran(writing(10, 400_000))
    assert few.trace.steps == many.trace.steps


def test_an_answer_that_is_lost_is_missed_30_s_after_the_exchange_that_it_ended() -> None:
    first = ran(writing(10, 75_000))
    response = next(f for f in first.trace.frames.values() if f.name == "ReplicaFetchResponse" and f.sent_ms > 70_000)
    cluster = ran(writing(10, 75_000), Drop(response.id))
    (at_ms,) = timeouts(cluster)
    assert response.sent_ms + 29_500 <= at_ms <= response.sent_ms + 30_000


def test_a_fetch_that_never_arrived_times_out_after_30_s() -> None:
    first = ran(writing(10, 75_000))
    fetch = next(f for f in first.trace.frames.values() if f.name == "ReplicaFetch" and f.sent_ms > 70_000)
    scenario = writing(10, 75_000, 76_000)
    assert timeouts(ran(scenario, Drop(fetch.id))) == [fetch.sent_ms + 30_000]


def test_a_partitioned_replica_gives_up_30_s_after_the_last_exchange() -> None:
    leader, follower = pair(ran(writing(10)))
    cluster = ran(writing(10, 100_000), Cut(leader, follower, at_ms=41_234))
    assert len(timeouts(cluster)) >= 1
    assert 41_234 + 29_500 <= timeouts(cluster)[0] <= 41_234 + 30_000


def test_a_leader_that_stands_still_for_long_loses_its_followers_until_it_goes_on() -> None:
    leader, _ = pair(ran(writing(10)))
    cluster = ran(writing(10, 100_000), Pause(leader, at_ms=20_000), Resume(leader, at_ms=24_000))
    assert timeouts(cluster) == []
    assert max(acknowledged_after(cluster)) < 30


@pytest.mark.parametrize("fault", [Cut, Pause])
def test_a_replica_that_fell_silent_long_ago_leaves_the_set_at_the_next_look(fault: type) -> None:
    """It caught up when it was last heard, not when the record came (`Replica.isCaughtUp`)."""
    leader, follower = pair(ran(writing(10)))
    struck = Cut(leader, follower, at_ms=1_000) if fault is Cut else Pause(follower, at_ms=1_000)
    cluster = ran(writing(10, 50_000), struck)
    asked = [f.sent_ms for f in cluster.trace.frames.values() if f.name == "AlterPartition"]
    if fault is Cut:
        assert asked[0] <= 60_000
    assert max(acknowledged_after(cluster)) <= 10_100


def test_a_replica_that_was_heard_all_the_time_has_30_s() -> None:
    leader, follower = pair(ran(writing(10)))
    cluster = ran(writing(10, 59_000), Cut(leader, follower, at_ms=58_990), Heal(leader, follower, at_ms=80_000))
    asked = [f.sent_ms for f in cluster.trace.frames.values() if f.name == "AlterPartition"]
    assert min(asked, default=90_000) >= 88_990


def test_a_restarted_replica_is_served() -> None:
    _leader, follower = pair(ran(writing(10)))
    cluster = ran(writing(10, 100_000), Crash(follower, at_ms=40_000), Restart(follower, at_ms=45_000))
    assert cluster.brokers[follower].state.log("out-0").log_end_offset == 2
    assert timeouts(cluster) == []


def test_the_soup_of_lab_0_is_served_twice_as_soon_as_the_second_one_is_written() -> None:
    cluster = ran(lab00(), Drop("ProduceResponse#1"), Pause("kitchen", at_ms=50), Resume("kitchen", at_ms=30_200))
    assert cluster.results["kitchen"].count("soup") == 2


def test_a_cell_may_ask_after_half_an_hour_in_which_nothing_happened() -> None:
    groups = Groups()
    assert groups.error() is Error.NONE
    groups.sleep(1_800_000)
    assert groups.fetch("foo-0") == {"foo-0": 5}
