"""The scenario of lab 0."""

from __future__ import annotations

from kafkalab.programs.orders import TOPIC
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario


@register_scenario
def lab00(seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """One order is written with acks=1, and read a moment later."""
    return Scenario(
        title="Meet the machine",
        profile=profile,
        seed=seed,
        topics={TOPIC: 1},
        programs=(
            Program("shop", "shop", {"orders": ["soup"], "settings": {"acks": 1}}),
            Program("kitchen", "kitchen"),
        ),
    )
