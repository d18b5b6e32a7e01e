"""Runs of the simulator with all rules on: whatever fails, no check finds anything that Kafka forbids."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.checks.all import Report, check_all
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.history.export import history_of
from kafkalab.programs.transfers import GROUP
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

PROFILES = ("0.11", "1.0", "4.x/TV1", "4.x/TV2")
TODAY = PROFILES[2:]
AFTERWARDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("reader", "read_all", {"partitions": ["accounts-0", "accounts-1"]}),
    ("asker", "committed_offsets", {"group": GROUP, "partitions": ["transfers-0"]}),
)


def report(scenario: Scenario, then: tuple[tuple[str, str, dict[str, Any]], ...] = ()) -> Report:
    cluster = Cluster(scenario)
    cluster.run()
    for node, name, args in then:
        cluster.spawn(node, Program(node, name).function(), **args)
    cluster.run()
    return check_all(history_of(cluster))


FAULTS: tuple[tuple[Fault, ...], ...] = (
    (),
    (Drop("ProduceResponse#1"),),
    (Drop("Produce#2"), Duplicate("Produce#1")),
    (Drop("EndTxnResponse#1"),),
    (Duplicate("EndTxn#1"),),
    (Delay("Produce#2", 3000),),
    (Drop("WriteTxnMarkers#1"), Drop("WriteTxnMarkersResponse#2")),
    (Delay("TxnOffsetCommit#1", 2000),),
    (Crash("app", at_ms=75),),
    (Crash("app", at_ms=132),),
    (Crash("b3", at_ms=131), Restart("b3", at_ms=15_000)),
    (Crash("b2", at_ms=90), Restart("b2", at_ms=15_000)),
    (Crash("b1", at_ms=60),),
    (Pause("b3", at_ms=130), Resume("b3", at_ms=30_000)),
    (Pause("app", at_ms=100), Resume("app", at_ms=90_000)),
)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_lab_03_keeps_every_promise(profile: str, faults: tuple[Fault, ...]) -> None:
    for seed in (1, 2):
        found = report(lab03(profile, seed).with_faults(*faults), AFTERWARDS)
        assert found.violated == (), str(found)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_whole_run_with_a_reader_leaves_little_unknown(profile: str) -> None:
    found = report(lab03(profile), AFTERWARDS)
    unknown = [r.name for r in found.results if r.verdict == "unknown"]
    assert unknown == ["poll-skip", "nonmonotonic-poll", "nonmonotonic-send"]
    assert [f for f in found.findings if f.policy == "forbidden"] == []


def many(profile: str, seed: int) -> Scenario:
    """Three producers of transactions and an idempotent one interleave on one key; two readers poll all the while."""
    polls = [["poll", 200]] * 12
    in_parts = [["begin_transaction"], ["send", "out", "a"], ["flush"], ["send", "out", "b"], ["commit_transaction"]]
    plain = [["send", "out", f"plain {n}"] for n in range(4)]
    ending = [["begin_transaction"], ["send", "out", "never"], ["flush"], ["abort_transaction"]]
    again = [["begin_transaction"], ["send", "out", "late"], ["commit_transaction"]]
    return Scenario(
        topics={"out": 1},
        profile=profile,
        seed=seed,
        programs=(
            *(
                Program(
                    f"p{i}",
                    "operations",
                    {"transactional_id": f"t{i}", "steps": [["init_transactions"], *_of(i, in_parts)]},
                )
                for i in "12"
            ),
            Program("plain", "operations", {"steps": [*plain, ["flush"]]}),
            Program(
                "undecided", "operations", {"transactional_id": "u", "steps": [["init_transactions"], *ending, *again]}
            ),
            Program("one", "consumer_operations", {"steps": [["assign", ["out-0"]], *polls]}),
            Program(
                "all",
                "consumer_operations",
                {"steps": [["assign", ["out-0"]], *polls], "isolation_level": "read_uncommitted"},
            ),
        ),
    )


def _of(name: str, steps: list[list[str]], times: int = 4) -> list[list[str]]:
    """The steps so many times over, each value unique."""
    return [
        [*step[:2], f"{step[2]} {name}/{number}"] if step[0] == "send" else step
        for number in range(times)
        for step in steps
    ]


SHAKEN: tuple[tuple[Fault, ...], ...] = (
    (),
    (Drop("Produce#2"), Duplicate("Produce#3"), Drop("ProduceResponse#5"), Delay("EndTxn#2", 400)),
    (Crash("b3", at_ms=60), Restart("b3", at_ms=11_000)),
    (Crash("p1", at_ms=120), Drop("WriteTxnMarkers#3")),
)


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("faults", SHAKEN, ids=str)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_transactions_that_interleave_keep_every_promise(profile: str, faults: tuple[Fault, ...], seed: int) -> None:
    found = report(many(profile, seed).with_faults(*faults), (("r", "read_all", {"partitions": ["out-0"]}),))
    assert found.violated == (), str(found)
    assert found["unseen"].findings == ()


@pytest.mark.parametrize("profile", TODAY)
def test_what_kafka_allows_is_shown_and_not_held_against_it(profile: str) -> None:
    found = report(many(profile, 1))
    assert {f.policy for f in found["int-send-skip"].findings} == {"allowed"}
    assert (found["int-send-skip"].verdict, found.violated) == ("ok", ())


def test_a_run_of_many_records_is_checked_whole() -> None:
    programs = tuple(
        Program(f"p{i}", "transactions", {"transactional_id": f"t{i}", "count": 4, "records": 50}) for i in range(10)
    )
    cluster = Cluster(Scenario(topics={"out": 1}, programs=programs))
    cluster.run(limit=10**7)
    found = check_all(history_of(cluster))
    assert found.violated == ()
    assert found["sequence gap"].examined == 2_000


async def reads_twice(app: App, timeout_ms: int) -> list[int]:
    """Read, give the partition back, take it again; the first poll after that has time for the position only."""
    consumer = app.consumer(group_id="readers", auto_offset_reset="earliest", enable_auto_commit=False)
    counts = []
    for wait_ms in (1_000, timeout_ms):
        await consumer.unsubscribe()
        consumer.assign(["in-0"])
        counts += [len(await consumer.poll(wait_ms)), len(await consumer.poll(1_000))]
    return counts


@pytest.mark.parametrize("timeout_ms", range(1, 30, 2))
def test_a_position_found_too_late_for_its_poll_has_moved_before_the_next_one(timeout_ms: int) -> None:
    program = Program("app", reads_twice, {"timeout_ms": timeout_ms})
    cluster = Cluster(Scenario(topics={"in": 1}, records={"in-0": ("a",)}, programs=(program,)))
    cluster.run()
    assert sum(cluster.results["app"]) == 2
    assert check_all(history_of(cluster)).violated == ()
