"""The generic programs in small: each phase once, so that every set of two faults can be run."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.sim.scenario import Program, Scenario

FORGOTTEN_MS = 300_000
"""After how long without a batch a producer is forgotten: longer than any fault lasts."""
READ = ["poll", 100]
LATER = [["sleep", 100_000], READ]
"""A reader's last look, when what a fault left open has timed out."""
LEFT, RIGHT = ["send", "out", "left", None, 0], ["send", "out", "right", None, 1]
BOTH = [["init_transactions"], ["begin_transaction"], LEFT, RIGHT, ["commit_transaction"]]


def idempotent_produce_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """Two brokers. A producer writes, two batches in flight; it is idle until it is forgotten, and writes again."""
    pair = [["send", "out", "b", None, 0], ["sleep", 8], ["send", "out", "c", None, 0], ["flush"]]
    steps = [["send", "out", "a", None, 0], ["flush"], *pair, ["sleep", FORGOTTEN_MS + 20_000], *pair]
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


def one_transaction_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """Two brokers, so that each role can move to the other. A transaction over two partitions, and a reader of one."""
    return Scenario(
        title="In small: one transaction over two partitions, two brokers",
        brokers=2,
        profile=profile,
        seed=seed,
        topics={"out": 2},
        config={"transaction_state_log_min_isr": 1},
        programs=(
            Program("p", "operations", {"transactional_id": "pay", "steps": BOTH}),
            Program("r", "consumer_operations", {"steps": [["assign", ["out-0"]], *LATER]}),
        ),
    )


def transactions_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """One broker. A producer commits over two partitions, then aborts in one; one reads, and a successor takes over."""
    aborted = [["begin_transaction"], ["send", "out", "aborted", None, 0], ["flush"], ["abort_transaction"]]
    read = [["assign", ["out-0", "out-1"]], ["sleep", 20], READ, *LATER]
    return Scenario(
        title="In small: two transactions, and a successor with the same transactional id",
        brokers=1,
        profile=profile,
        seed=seed,
        topics={"out": 2},
        config={"transaction_state_log_min_isr": 1},
        programs=(
            Program("p", "operations", {"transactional_id": "pay", "steps": [*BOTH, *aborted]}),
            Program("q", "operations", {
                "transactional_id": "pay", "steps": [["sleep", 500], ["init_transactions"]],
            }),
            Program("r", "consumer_operations", {"steps": read}),
        ),
    )  # fmt: skip


def processors_in_small(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """One broker. A processor transforms a record, offsets and output in one transaction; another one takes over."""
    given = {"transactional_id": "w", "inputs": ["in-0"], "output": "out", "group": "g"}
    return Scenario(
        title="In small: a processor consumes, transforms and produces, and its successor takes over",
        brokers=1,
        profile=profile,
        seed=seed,
        topics={"in": 1, "out": 1},
        records={"in-0": ("a",)},
        config={"transaction_state_log_min_isr": 1},
        programs=(
            Program("m1", "exactly_once_processor", given),
            Program("m2", "exactly_once_processor", {**given, "start_after_ms": 300}),
        ),
    )


IN_SMALL: tuple[Callable[..., Scenario], ...] = (
    idempotent_produce_in_small, one_transaction_in_small, processors_in_small, transactions_in_small,
)  # fmt: skip
"""Idempotent produce; transactions over several partitions, twice; consume-transform-produce."""
