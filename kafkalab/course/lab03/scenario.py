"""The scenario of lab 3."""

from __future__ import annotations

from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario


@register_scenario
def lab03(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """The consume-transform-produce transaction of lab 03: two transfers read, four records written, one commit."""
    return Scenario(
        title="A full commit, one frame at a time",
        profile=profile,
        seed=seed,
        topics={"transfers": 1, "accounts": 2},
        records={"transfers-0": ("10", "25")},
        programs=(Program("app", "consume_transform_produce"),),
    )
