"""Three generic programs, in which searches look for what each rule protects: nothing in them aims at a rule."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.sim.scenario import Program, Scenario

IDLE_MS = 320_000
READS = ["poll", 200]


def idempotent_produce(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """An idempotent producer writes, two batches in flight; it is idle until it is forgotten, and writes again."""
    pair = [["send", "out", "b", None, 0], ["sleep", 8], ["send", "out", "c", None, 0], ["sleep", 8], ["flush"]]
    again = [["send", "out", "d", None, 0], ["sleep", 8], ["send", "out", "e", None, 0], ["flush"]]
    steps = [["send", "out", "a", None, 0], ["flush"], *pair, ["sleep", IDLE_MS], *again]
    polls = [["sleep", 40], READS, READS, ["sleep", IDLE_MS + 200_000], READS, READS, READS]
    return Scenario(
        title="An idempotent producer writes, is idle, and writes again",
        profile=profile,
        seed=seed,
        topics={"out": 1},
        config={"producer_id_expiration_ms": 300_000, "producer_id_expiration_check_interval_ms": 1_000},
        programs=(
            Program("p", "operations", {"steps": steps}),
            Program("r", "consumer_operations", {
                "steps": [["assign", ["out-0"]], *polls], "isolation_level": "read_uncommitted",
            }),
        ),
    )  # fmt: skip


def two_partition_transactions(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """A producer commits and aborts, over two partitions each time; its successor commits, 40 seconds later."""
    return Scenario(
        title="Transactions over two partitions, and a successor with the same transactional id",
        profile=profile,
        seed=seed,
        topics={"out": 2},
        programs=(
            Program("p", "operations", {"transactional_id": "pay", "steps": _transactions("p", ("commit", "abort"))}),
            Program("q", "operations", {
                "transactional_id": "pay", "steps": [["sleep", 40_000], *_transactions("q", ("commit",))],
            }),
            Program("r", "consumer_operations", {
                "steps": [["assign", ["out-0", "out-1"]], ["sleep", 100], READS, ["sleep", 5_000], READS,
                          ["sleep", 195_000], READS, READS],
            }),
        ),
    )  # fmt: skip


def _transactions(who: str, endings: tuple[str, ...]) -> list[list[object]]:
    """Each transaction writes to out-0, works for a second, writes to out-1, and ends."""
    steps: list[list[object]] = [["init_transactions"]]
    for number, ending in enumerate(endings):
        steps += [["begin_transaction"], ["send", "out", f"{who}{number}-left", None, 0], ["flush"], ["sleep", 1_000]]
        steps += [["send", "out", f"{who}{number}-right", None, 1], ["flush"], [f"{ending}_transaction"]]
    return steps


def two_workers(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """Two members of a group consume, transform and produce, offsets and output in one transaction (KIP-447)."""
    worker = "exactly_once_worker"
    return Scenario(
        title="Two workers consume, transform and produce",
        profile=profile,
        seed=seed,
        topics={"in": 1, "out": 1},
        records={"in-0": ("a", "b")},
        programs=(
            Program("m1", worker, {"transactional_id": "worker-1", "work_ms": 2_000}),
            Program("m2", worker, {"transactional_id": "worker-2", "start_after_ms": 10_000}),
        ),
    )


GENERIC: tuple[Callable[..., Scenario], ...] = (idempotent_produce, two_partition_transactions, two_workers)
"""Idempotent produce; transactions over several partitions; consume-transform-produce."""
