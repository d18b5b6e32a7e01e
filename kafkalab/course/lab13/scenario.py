"""The scenarios of lab 13."""

from __future__ import annotations

from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario


@register_scenario
def lab13(
    records: int = 6, size: int = 3, partitions: int = 1, work_ms: int = 5, seed: int = 1, profile: str = "4.x/TV2"
) -> Scenario:
    """One worker: so many records in transactions of `size`, each record made in `work_ms`, in turn to partitions."""
    arguments = {"transactional_id": "bills-0", "topic": "bills", "records": records, "size": size}
    return Scenario(
        title="What a transaction costs",
        profile=profile,
        seed=seed,
        topics={"bills": partitions},
        programs=(Program("app", "worker", {**arguments, "partitions": partitions, "work_ms": work_ms}),),
    )


@register_scenario
def commit_interval(
    commit_interval_ms: int = 100,
    every_ms: int = 10,
    until_ms: int = 2_000,
    isolation_level: str = "read_committed",
    seed: int = 1,
    profile: str = "4.x/TV2",
) -> Scenario:
    """A stream of records that is committed each `commit_interval_ms`, and a reader that times each of them."""
    arguments = {"transactional_id": "stream-0", "topic": "out", "until_ms": until_ms, "every_ms": every_ms}
    reader = {"partitions": ["out-0"], "records": until_ms // every_ms, "isolation_level": isolation_level}
    return Scenario(
        title="The commit interval",
        profile=profile,
        seed=seed,
        topics={"out": 1},
        programs=(
            Program("app", "pipeline", {**arguments, "commit_interval_ms": commit_interval_ms}),
            Program("reader", "stopwatch", reader),
        ),
    )
