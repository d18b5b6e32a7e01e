"""The scenario of lab 14: the transfer that all four machines carry out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafkalab.alternatives.presses import kafka_scenario
from kafkalab.sim.scenario import Scenario
from kafkalab.sim.scenario_names import register_scenario


@register_scenario
def lab14(seed: int = 1, profile: str = "4.x/TV2", **more: Any) -> Scenario:
    """Take 10 from accounts-0 and give it to accounts-1 in one transaction; `more` is as in `Scenario`."""
    return replace(kafka_scenario(seed=seed), profile=profile, **more)
