"""The scenarios of lab 2: a first transaction, and requests sent one by one."""

from __future__ import annotations

from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.programs.transfers import TRANSACTIONAL_ID
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario


@register_scenario
def lab02(
    profile: str = "4.x/TV2", seed: int = 1, records: int = 1, transactional_id: str = TRANSACTIONAL_ID, **more: Any
) -> Scenario:
    """A service called payments finds its coordinator and writes one transaction; `more` is as in `Scenario`."""
    arguments = {"transactional_id": transactional_id, "records": records}
    return Scenario(
        title="The coordinator and its log",
        profile=profile,
        seed=seed,
        topics={"accounts": 1},
        programs=(Program("app", "first_transaction", arguments),),
        **more,
    )


def raw_requests_after(steps: list[dict[str, Any]], *faults: Fault, seed: int = 1, **more: Any) -> Scenario:
    """The cluster of lab 02, whose client sends these requests by hand."""
    return Scenario(
        title="Who answers what",
        profile="4.x/TV2",
        seed=seed,
        topics={"accounts": 1},
        programs=(Program("app", "raw_requests", {"steps": steps}),),
        faults=faults,
        **more,
    )
