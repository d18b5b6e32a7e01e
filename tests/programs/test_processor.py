"""The exactly-once processor: whatever is lost, late or dead, every record has its effect exactly once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.protocol.acls import Deny
from kafkalab.protocol.profiles import PROFILES
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

INPUT = {"in-0": ("a", "b", "c"), "in-1": ("x", "y")}
WANTED = {"out-0": ("a!", "b!", "c!"), "out-1": ("x!", "y!")}
TODAY = ("4.x/TV1", "4.x/TV2")


def processor(node: str = "app", **args: Any) -> Program:
    return Program(node, "exactly_once_processor", {"inputs": list(INPUT), "output": "out", **args})


def run(
    *faults: Fault, profile: str = "4.x/TV2", seed: int = 1, programs: tuple[Program, ...] | None = None
) -> Cluster:
    cluster = Cluster(
        Scenario(
            profile=profile,
            seed=seed,
            topics={"in": 2, "out": 2},
            records=INPUT,
            programs=programs or (processor(alone=True),),
            faults=faults,
        )
    )
    cluster.run()
    return cluster


def find_broken(cluster: Cluster) -> list[Any]:
    """Return what is lost, doubled or out of order; empty if all is right."""
    outcome = cluster.outcome()
    found: list[Any] = [(p, outcome.committed[p]) for p, values in WANTED.items() if outcome.committed[p] != values]
    return found + ([outcome.offsets] if outcome.offsets != {"in-0": 3, "in-1": 2} else [])


def describe_end(cluster: Cluster, node: str = "app") -> tuple[str, bool, bool]:
    """Return how it ended, whether it aborted anything, whether it made new producers."""
    result = cluster.results[node]
    return result["end"], result["aborted"] > 0, result["rebuilt"] > 0


@pytest.mark.parametrize("profile", PROFILES)
def test_without_faults_every_record_is_processed_once(profile: str) -> None:
    cluster = run(profile=profile)
    assert find_broken(cluster) == []
    assert describe_end(cluster) == ("done", False, False)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("profile", TODAY)
def test_no_lost_late_or_doubled_frame_loses_or_doubles_an_effect(profile: str, seed: int) -> None:
    frames = [f.id for f in run(profile=profile, seed=seed).trace.frames.values() if f.category != "replication"]
    for frame in frames[seed - 1 :: 8]:  # four seeds, each with other frames
        for fault in (Drop(frame), Duplicate(frame), Delay(frame, 700), Delay(frame, 31_000)):
            cluster = run(fault, profile=profile, seed=seed)
            assert (find_broken(cluster), describe_end(cluster)[0]) == ([], "done"), fault


@pytest.mark.campaign
@pytest.mark.parametrize("node", ["b1", "b2", "b3"])
@pytest.mark.parametrize("profile", TODAY)
def test_no_crash_or_pause_of_a_broker_loses_or_doubles_an_effect(profile: str, node: str) -> None:
    for at_ms in range(5, 480, 45):
        for faults in (
            (Crash(node, at_ms=at_ms),),
            (Crash(node, at_ms=at_ms), Restart(node, at_ms=at_ms + 3_000)),
            (Pause(node, at_ms=at_ms), Resume(node, at_ms=at_ms + 20_000)),
        ):
            cluster = run(*faults, profile=profile, seed=at_ms)
            assert (find_broken(cluster), describe_end(cluster)[0]) == ([], "done"), faults


@pytest.mark.parametrize("profile", TODAY)
def test_a_processor_that_sleeps_past_its_transactions_time_out_processes_again(profile: str) -> None:
    for at_ms in range(5, 480, 25):
        faults = (Pause("app", at_ms=at_ms), Resume("app", at_ms=at_ms + 90_000))
        cluster = run(*faults, profile=profile)
        assert (find_broken(cluster), describe_end(cluster)[0]) == ([], "done"), faults


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("at_ms", range(5, 480, 45))
def test_a_successor_goes_on_where_a_crashed_one_stopped(profile: str, at_ms: int) -> None:
    programs = (processor(), processor("app2", start_after_ms=3_000))
    cluster = run(Crash("app", at_ms=at_ms), profile=profile, programs=programs)
    assert find_broken(cluster) == []
    assert describe_end(cluster, "app2")[0] == "done"


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("at_ms", range(55, 480, 45))
def test_a_zombie_is_fenced_and_gives_up(profile: str, at_ms: int) -> None:
    programs = (processor(), processor("app2", start_after_ms=3_000))
    cluster = run(Pause("app", at_ms=at_ms), Resume("app", at_ms=20_000), profile=profile, programs=programs)
    assert find_broken(cluster) == []
    assert describe_end(cluster, "app2")[0] == "done"
    assert describe_end(cluster)[0] in ("fenced", "done")  # done: it had read no more than was processed already


SHORT = {"transaction_timeout_ms": 5_000}


@pytest.mark.parametrize(
    ("profile", "alone", "end"),
    [
        ("4.x/TV2", False, ("done", True, False)),  # abortable: abort, rewind, again
        ("4.x/TV1", False, ("fenced", False, False)),  # fatal: it cannot know who fenced it
        ("4.x/TV1", True, ("done", False, True)),
    ],
)
def test_a_transaction_that_timed_out(profile: str, alone: bool, end: tuple[str, bool, bool]) -> None:
    programs = (processor(settings=SHORT, alone=alone),)
    cluster = run(Delay("Produce#1", 20_000), profile=profile, programs=programs)
    assert describe_end(cluster) == end
    assert (find_broken(cluster) == []) is (end[0] == "done")


def test_a_commit_that_times_out_is_called_again() -> None:
    programs = (processor(settings={"max_block_ms": 1_000}),)
    cluster = run(Drop("EndTxnResponse#1"), programs=programs)
    assert find_broken(cluster) == []
    calls = [e.data for e in cluster.trace.events if (e.kind, e.name) == ("complete", "commit_transaction")]
    assert [c["outcome"] for c in calls][:2] == ["info", "info"]
    assert describe_end(cluster)[0] == "done"


async def commit_wrongly(app: App, offsets: dict[str, int]) -> None:
    consumer = app.consumer(group_id="processors")
    consumer.assign(list(offsets))
    await consumer.commit_sync(offsets)


def test_an_offset_out_of_range_goes_on_at_the_nearest_one_there_is() -> None:
    wrong = Program("setup", commit_wrongly, {"offsets": {"in-0": 999}})
    cluster = run(programs=(wrong, processor(start_after_ms=2_000)))
    assert cluster.results["app"]["out_of_range"] == ["in-0"]
    assert cluster.outcome().committed["out-0"] == ()  # what lies before 999 counts as processed
    assert cluster.outcome().committed["out-1"] == WANTED["out-1"]


def test_what_only_an_administrator_can_change_is_given_up() -> None:
    denied = Deny("app", "WRITE", "TransactionalId:processor-0")
    cluster = ran(replace(run(programs=(processor(),)).scenario, acls=(denied,)))
    assert cluster.results["app"]["end"] == "TransactionalIdAuthorizationError"


def test_batches_that_always_expire_end_it_after_some_tries() -> None:
    cluster = run(programs=(processor(settings={"delivery_timeout_ms": 1, "linger_ms": 0, "request_timeout_ms": 1}),))
    assert cluster.results["app"]["end"] == "given up"
    assert cluster.outcome().committed["out-0"] == ()
