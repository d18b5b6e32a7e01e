"""Runs with all rules on in which different attempts write equal records: no check may take one for another."""

from __future__ import annotations

from typing import Any

from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.programs.steps import Step, abort, add, add_offsets, commit, init, offsets, produce, sleep
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

TV1, TV2 = "4.x/TV1", "4.x/TV2"


async def twins(app: App, transactional_id: str | None = None) -> None:
    """Three equal records within one millisecond, each in a batch of its own."""
    producer = app.producer(linger_ms=0, batch_size=1, transactional_id=transactional_id)
    if transactional_id:
        await producer.init_transactions()
        producer.begin_transaction()
    for _ in range(3):
        await producer.send("out", "a", partition=0)
    await producer.flush()
    if transactional_id:
        await producer.commit_transaction()


def worker_that_was_paused(profile: str, pause_ms: int = 4_000) -> Cluster:
    """The refused TxnOffsetCommit of one transaction is equal to the accepted one of the next."""
    arguments = {"transactional_id": "worker-1", "work_ms": 2_000}
    return _ran(
        Scenario(
            profile=profile,
            topics={"in": 1, "out": 1},
            records={"in-0": ("a", "b")},
            programs=(Program("m1", "exactly_once_worker", arguments),),
            faults=(Pause("m1", at_ms=pause_ms), Resume("m1", at_ms=55_000)),
        )
    )


def by_hand(*steps: Step) -> Cluster:
    """Raw requests in TV1, where transactions share their epoch."""
    return _ran(
        Scenario(
            profile=TV1,
            topics={"in": 1, "out": 2},
            records={"in-0": ("a", "b")},
            programs=(Program("p", "raw_requests", {"steps": list(steps)}),),
        )
    )


def _ran(scenario: Scenario) -> Cluster:
    cluster = Cluster(scenario)
    cluster.run()
    return cluster


def _add(*partitions: str) -> Step:
    return add("t", *partitions, until="NONE")


def _by(member: str, step: Step) -> Step:
    given: dict[str, Any] = {**step["with"], "generation_id": 3, "member_id": member}
    return {**step, "with": given}


def offsets_refused() -> Cluster:
    """The group refuses the first transaction's offset; the second commits the same one."""
    first = [_add("out-0"), produce("t", "out-0", 0, "x"), add_offsets("t", "g")]
    first += [_by("a stranger", offsets("t", "g", "in-0", 1)), abort("t"), sleep(200)]
    second = [_add("out-0"), produce("t", "out-0", 1, "x"), add_offsets("t", "g"), offsets("t", "g", "in-0", 1)]
    return by_hand(init("t"), *first, *second, commit("t"))


def offsets_aborted() -> Cluster:
    """Both transactions write the same offset record; the first one aborts."""
    each = [_add("out-0"), add_offsets("t", "g"), offsets("t", "g", "in-0", 1)]
    first = [*each, produce("t", "out-0", 0, "x"), abort("t"), sleep(200)]
    return by_hand(init("t"), *first, *each, produce("t", "out-0", 1, "x"), commit("t"))


def send_refused() -> Cluster:
    """A record is refused in one transaction and, with the same sequence, accepted in the next."""
    first = [_add("out-1"), produce("t", "out-0", 0, "x"), produce("t", "out-1", 0, "y"), abort("t"), sleep(200)]
    second = [_add("out-0", "out-1"), produce("t", "out-0", 0, "x"), produce("t", "out-1", 1, "z"), commit("t")]
    return by_hand(init("t"), *first, *second)


def send_answered_from_memory() -> Cluster:
    """A batch is sent once more in the next transaction; the leader knows it and appends nothing."""
    first = [_add("out-0"), produce("t", "out-0", 0, "x"), commit("t"), sleep(200)]
    second = [_add("out-0", "out-1"), produce("t", "out-0", 0, "x"), produce("t", "out-1", 0, "y"), abort("t")]
    return by_hand(init("t"), *first, *second)


def equal_batches(profile: str, transactional_id: str | None = None) -> Cluster:
    """One producer's batches of equal records within one millisecond."""
    cluster = Cluster(Scenario(profile=profile, topics={"out": 1}))
    cluster.spawn("p", twins, transactional_id=transactional_id)
    cluster.run()
    return cluster


def member_that_came_back(profile: str) -> Cluster:
    """Let the second member work off what the first had read; then the first gets the partition back."""
    first = {"transactional_id": "worker-1", "work_ms": 2_000, "polls": 30}
    second = {"transactional_id": "worker-2", "start_after_ms": 10_000, "polls": 25}
    later = {"steps": [["sleep", 64_000], ["send", "in", "c", None, 0], ["flush"]]}
    return _ran(
        Scenario(
            profile=profile,
            topics={"in": 1, "out": 1},
            records={"in-0": ("a", "b")},
            programs=(
                Program("m1", "exactly_once_worker", first),
                Program("m2", "exactly_once_worker", second),
                Program("w", "operations", later),
            ),
            faults=(Pause("m1", at_ms=4_000), Resume("m1", at_ms=55_000)),
        )
    )


def name_taken_over() -> Cluster:
    """A processor gives up what it had read: another of its name has worked it off, and a new consumer begins anew."""
    processor = {"inputs": ["in-0"], "output": "out", "transactional_id": "p0", "batch": 1}
    return _ran(
        Scenario(
            profile=TV1,
            topics={"in": 1, "out": 1},
            records={"in-0": ("a", "b", "c")},
            programs=(
                Program("p0", "exactly_once_processor", processor),
                Program("rival", "exactly_once_processor", {**processor, "start_after_ms": 100}),
            ),
            faults=(Crash("b2", at_ms=51), Restart("b2", at_ms=638)),
            producer_epochs={"p0": 32765},
        )
    )


RUNS = {
    "name taken over": name_taken_over,
    **{f"came back, {p}": lambda p=p: member_that_came_back(p) for p in (TV1, TV2)},  # type: ignore[misc]
    **{f"paused worker, {p}": lambda p=p: worker_that_was_paused(p) for p in (TV1, TV2, "1.0")},  # type: ignore[misc]
    **{f"paused late, {ms}": lambda ms=ms: worker_that_was_paused(TV1, ms) for ms in (3_900, 4_200)},  # type: ignore[misc]
    **{f.__name__: f for f in (offsets_refused, offsets_aborted, send_refused, send_answered_from_memory)},
    **{f"twins, {p}": lambda p=p: equal_batches(p) for p in (TV1, TV2)},  # type: ignore[misc]
    **{f"twins in a transaction, {p}": lambda p=p: equal_batches(p, "t") for p in (TV1, TV2)},  # type: ignore[misc]
}


def histories() -> list[History]:
    """The histories of all these runs."""
    return [history_of(made()) for made in RUNS.values()]
