"""The scenarios of lab 5."""

from __future__ import annotations

from typing import Any

from kafkalab.programs.readers import BOOK
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario, variant


def _transaction(end: str, *values: str, partition: int = 0, pause_ms: int = 0) -> list[list[Any]]:
    """The steps of one transaction; with a pause before its last record."""
    steps: list[list[Any]] = [["begin_transaction"]]
    for number, value in enumerate(values):
        if pause_ms and number == len(values) - 1:
            steps.append(["sleep", pause_ms])
        steps += [["send", BOOK, value, None, partition], ["flush"]]
    return [*steps, [end]]


@register_scenario
def lab05(isolation_level: str = "read_committed", seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """One slow transaction, and beside it two quick ones, of which the second is aborted; a reader looks twice."""
    slow = [["init_transactions"], *_transaction("commit_transaction", "slow-1", "slow-2", pause_ms=2_000)]
    quick = [["init_transactions"], ["sleep", 100], *_transaction("commit_transaction", "quick-1", "quick-2")]
    quick += [["sleep", 100], *_transaction("abort_transaction", "sorry")]
    look = {"partitions": [f"{BOOK}-0"], "at_ms": [1_000, 3_000]}
    return Scenario(
        title="Reading committed data",
        profile=profile,
        seed=seed,
        topics={BOOK: 1},
        programs=(
            Program("slow", "operations", {"transactional_id": "slow-0", "steps": slow}),
            Program("quick", "operations", {"transactional_id": "quick-0", "steps": quick}),
            Program("reader", "looks", {**look, "isolation_level": isolation_level}),
        ),
    )


variant("lab05-", lab05, isolation_level="read_uncommitted")


@register_scenario
def two_accounts(seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """One transaction takes from one account and gives to the other, on two leaders; a reader looks twice."""
    steps: list[list[Any]] = [["init_transactions"], ["begin_transaction"]]
    steps += [["send", "accounts", "-10", None, 0], ["send", "accounts", "+10", None, 1], ["flush"]]
    steps.append(["commit_transaction"])
    accounts = ["accounts-0", "accounts-1"]
    return Scenario(
        title="Two accounts",
        profile=profile,
        seed=seed,
        topics={"accounts": 2},
        programs=(
            Program("app", "operations", {"transactional_id": "transfers-0", "steps": steps}),
            Program("reader", "looks", {"partitions": accounts, "at_ms": [500, 40_000]}),
        ),
    )
