"""The scenarios of lab 15: transactions that hang, because a marker is left out or a batch comes after it."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.faults.frame import Delay
from kafkalab.faults.node import Crash, Restart
from kafkalab.programs.failover import ACCOUNTS, LATE_MS, PAYMENTS
from kafkalab.protocol.rules import VERIFICATION
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario


@register_scenario
def leaderless(seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """A transaction is committed while a partition of it, which has one replica, has no leader."""
    return Scenario(
        title="A partition without a leader",
        profile=profile,
        seed=seed,
        topics={ACCOUNTS: 1},
        programs=(Program("app", "audited_transfer"),),
        faults=(Crash("b2", at_ms=2_000), Restart("b2", at_ms=30_000)),
    )


@register_scenario
def late_batch(seed: int = 1, profile: str = "4.x/TV1", late_ms: int = LATE_MS, verified: bool = False) -> Scenario:
    """A batch is so slow that its producer gives it up and aborts; with 0 it is not. Leaders ask nobody first."""
    return Scenario(
        title="A batch that comes late" if late_ms else "A debit that is aborted",
        profile=profile,
        seed=seed,
        rules_off=() if verified else (VERIFICATION.name,),
        topics={ACCOUNTS: 1},
        programs=(Program("app", "late_debit"),),
        faults=(Delay("Produce#2", late_ms),) if late_ms else (),
    )


def wrong_patient(seed: int = 1) -> Scenario:
    """An administrator aborts what is open in one account; its producer is alive, and commits half a second later."""
    halves = [call for place, value in enumerate("ab") for call in (["send", ACCOUNTS, value, None, place], ["flush"])]
    steps = [["init_transactions"], ["begin_transaction"], *halves, ["sleep", 1_000], ["commit_transaction"]]
    marker = {"partition": f"{ACCOUNTS}-0", "producer_id": 2000, "producer_epoch": 0, "coordinator_epoch": 0}
    return Scenario(
        title="An abort from outside",
        seed=seed,
        topics={ACCOUNTS: 2},
        programs=(
            Program("app", "operations", {"transactional_id": PAYMENTS, "steps": steps}),
            Program("admin", "abort_transaction", {"at_ms": 500, **marker}),
        ),
    )


def left_hanging(seed: int = 1) -> Scenario:
    """Leave a hanging transaction in an account, and let the next one of its producer commit to the same account."""
    scenario = late_batch(seed)
    app = Program("app", "late_debit", {"transactional_id": PAYMENTS, "next_partition": 0})
    return replace(scenario, title="What hangs is taken along", programs=(app,))
