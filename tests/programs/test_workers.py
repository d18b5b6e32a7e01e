"""The programs that random scenarios run: where records go, their keys, and what ends a worker."""

from __future__ import annotations

import itertools

from kafkalab.client.exceptions import TopicAuthorizationError
from kafkalab.protocol.acls import TOPIC, WRITE, Deny
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario

INPUT: dict[str, tuple[str, ...]] = {"in-0": ("a",), "in-1": ("b",), "in-2": ("c",)}


def worker(**args: object) -> Scenario:
    program = Program("m", "exactly_once_worker", {"transactional_id": "m", **args})
    return Scenario(topics={"in": 3, "out": 3}, records=INPUT, programs=(program,))


def test_a_worker_writes_to_as_many_partitions_as_it_is_told() -> None:
    assert ran(worker()).outcome().committed["out-0"] == ("a", "b", "c")
    committed = ran(worker(outputs=2)).outcome().committed
    assert (committed["out-0"], committed["out-1"], committed["out-2"]) == (("a", "c"), ("b",), ())


def test_a_worker_that_may_not_write_ends_instead_of_trying_for_ever() -> None:
    scenario = worker()
    denied = Scenario(
        topics=scenario.topics,
        records=scenario.records,
        programs=scenario.programs,
        acls=(Deny("m", WRITE, f"{TOPIC}:out"),),
    )
    result = ran(denied).results["m"]
    assert isinstance(result.__cause__ or result, TopicAuthorizationError)


def test_a_writer_keys_its_records_in_turn_and_works_between_them() -> None:
    plan = [["commit", 0, 0, 0]]
    args = {"transactional_id": "t", "topic": "out", "plan": plan, "keys": 2, "work_ms": 100, "linger_ms": 5}
    cluster = ran(Scenario(topics={"out": 1}, programs=(Program("w", "writer", args),)))
    batches = [batch for batch in cluster.log_of("out-0").batches if batch.control is None]
    assert [record.key for batch in batches for record in batch.records] == ["key-0", "key-1", "key-0"]
    times = [batch.timestamp_ms for batch in batches]
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == [100, 100]
