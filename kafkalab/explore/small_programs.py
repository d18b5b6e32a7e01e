"""The generic programs in small: each phase once, so that every set of two faults can be run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kafkalab.sim.scenario import Program, Scenario

Steps: TypeAlias = list[list[object]]
FORGOTTEN_MS = 300_000
"""After how long without a batch a producer is forgotten: longer than any fault lasts."""
READ = ["poll", 100]
LATER = [["sleep", 100_000], READ]
"""A reader's last look, when what a fault left open has timed out."""
LEFT: list[object] = ["send", "out", "left", None, 0]
RIGHT: list[object] = ["send", "out", "right", None, 1]
BOTH: Steps = [["init_transactions"], ["begin_transaction"], LEFT, RIGHT, ["commit_transaction"]]


def idempotent_produce_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """Two brokers. A producer writes, two batches in flight; it is idle until it is forgotten, and writes again."""
    pair = [["send", "out", "b", None, 0], ["sleep", 8], ["send", "out", "c", None, 0], ["flush"]]
    again = [["send", "out", "d", None, 0], ["sleep", 8], ["send", "out", "e", None, 0], ["flush"]]
    steps = [["send", "out", "a", None, 0], ["flush"], *pair, ["sleep", FORGOTTEN_MS + 20_000], *again]
    read = [["sleep", 40], READ, ["sleep", FORGOTTEN_MS + 200_000], READ]
    interval_ms = FORGOTTEN_MS // 20
    return Scenario(
        title="In small: an idempotent producer writes, is idle, and writes again",
        brokers=2,
        profile=profile,
        seed=seed,
        topics={"out": 1},
        config={
            "producer_id_expiration_ms": FORGOTTEN_MS, "producer_id_expiration_check_interval_ms": interval_ms,
        },
        programs=(
            Program("p", "operations", {"steps": steps}),
            Program("r", "consumer_operations", {
                "steps": [["assign", ["out-0"]], *read], "isolation_level": "read_uncommitted",
            }),
        ),
    )  # fmt: skip


def transaction_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """One broker. A transaction over two partitions, a reader of one of them, and a successor with the same id."""
    producer, reader = _writes(BOTH), Program("r", "consumer_operations", {"steps": [["assign", ["out-0"]], *LATER]})
    successor = Program("q", "operations", {
        "transactional_id": "pay", "steps": [["sleep", 500], ["init_transactions"]],
    })  # fmt: skip
    return _transactional("one transaction, and a successor", profile, seed, 1, 2, (producer, successor, reader))


def next_transaction_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """One broker. A producer commits and then aborts in one partition, while one reads."""
    first: Steps = [["init_transactions"], ["begin_transaction"], LEFT, ["commit_transaction"]]
    second: Steps = [["begin_transaction"], ["send", "out", "aborted", None, 0], ["flush"], ["abort_transaction"]]
    reads = [["assign", ["out-0"]], ["sleep", 20], READ, *LATER]
    programs = (_writes([*first, *second]), Program("r", "consumer_operations", {"steps": reads}))
    return _transactional("two transactions after each other", profile, seed, 1, 1, programs)


def two_brokers_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """Two brokers, so that each role can move to the other. A transaction over two partitions, and a reader of one."""
    reader = Program("r", "consumer_operations", {"steps": [["assign", ["out-0"]], *LATER]})
    return _transactional("one transaction, two brokers", profile, seed, 2, 2, (_writes(BOTH), reader))


def _writes(steps: Steps) -> Program:
    return Program("p", "operations", {"transactional_id": "pay", "steps": steps})


def _transactional(
    title: str, profile: str, seed: int, brokers: int, partitions: int, programs: tuple[Program, ...]
) -> Scenario:
    return Scenario(
        title=f"In small: {title}", brokers=brokers, profile=profile, seed=seed, topics={"out": partitions},
        config={"transaction_state_log_min_isr": 1}, programs=programs,
    )  # fmt: skip


def processor_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """One broker. A processor transforms a record, offsets and output in one transaction."""
    return _processing("a processor consumes, transforms and produces", profile, seed, ())


def processors_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """One broker. A processor transforms a record, offsets and output in one transaction; another one takes over."""
    return _processing("a processor, and its successor", profile, seed, (300,))


def two_batches_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """One broker. A processor transforms two records, each with its offset in a transaction of its own."""
    return _processing("a processor, and two transactions with offsets", profile, seed, (), ("a", "b"))


def _processing(
    title: str, profile: str, seed: int, successors_ms: tuple[int, ...], records: tuple[str, ...] = ("a",)
) -> Scenario:
    given: dict[str, object] = {"transactional_id": "w", "inputs": ["in-0"], "output": "out", "group": "g"}
    if len(records) > 1:
        given["batch"] = 1
    times = enumerate((0, *successors_ms), 1)
    return Scenario(
        title=f"In small: {title}",
        brokers=1,
        profile=profile,
        seed=seed,
        topics={"in": 1, "out": 1},
        records={"in-0": records},
        config={"transaction_state_log_min_isr": 1},
        programs=tuple(
            Program(f"m{number}", "exactly_once_processor", {**given, "start_after_ms": ms}) for number, ms in times
        ),
    )


IN_SMALL: tuple[Callable[..., Scenario], ...] = (
    idempotent_produce_in_small, transaction_in_small, next_transaction_in_small, processor_in_small,
    two_brokers_in_small, processors_in_small, two_batches_in_small,
)  # fmt: skip
"""The smallest sets of pairs first: idempotent produce; transactions; consume-transform-produce; with more in them."""
