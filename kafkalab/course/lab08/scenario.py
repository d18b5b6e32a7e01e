"""The scenarios of lab 8: a transfer, and a coordinator that dies around its decision."""

from __future__ import annotations

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop
from kafkalab.faults.node import Crash
from kafkalab.programs.failover import ACCOUNTS
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario

COMMIT_MS, CRASH_MS = 200, 1_000
AGAIN_MS = 25_000
"""The next transfer begins then; the marker that the old coordinator has sent arrives in the middle of it."""


@register_scenario
def lab08(seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """A transfer is committed. The second of its two markers is lost, and then the coordinator crashes."""
    return one_transfer(Drop("WriteTxnMarkers#2"), Crash("b3", at_ms=CRASH_MS), seed=seed, profile=profile)


def one_transfer(
    *faults: Fault, seed: int = 1, profile: str = "4.x/TV2", title: str = "One marker out of two", again_ms: int = 0
) -> Scenario:
    """The same transfer with other faults; with `again_ms` a second one follows, which is aborted."""
    return Scenario(
        title=title,
        profile=profile,
        seed=seed,
        topics={ACCOUNTS: 2},
        programs=(Program("app", "transfer", {"commit_ms": COMMIT_MS, "again_ms": again_ms}),),
        faults=faults,
    )


@register_scenario
def old_coordinator(seed: int = 1, profile: str = "4.x/TV1") -> Scenario:
    """A marker takes half a minute. By then another coordinator has written it, and the next transfer is under way."""
    return one_transfer(
        Delay("WriteTxnMarkers#1", AGAIN_MS + 5_000),
        Crash("b3", at_ms=CRASH_MS),
        seed=seed,
        profile=profile,
        title="A marker of the old coordinator",
        again_ms=AGAIN_MS,
    )
