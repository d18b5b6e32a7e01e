"""The scenario of lab 1."""

from __future__ import annotations

from typing import Any

from kafkalab.programs.orders import ORDERS, TOPIC
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario, variant


@register_scenario
def lab01(
    idempotence: bool = True, orders: tuple[str, ...] = ORDERS, seed: int = 1, profile: str = "4.x/TV2", **settings: Any
) -> Scenario:
    """Two orders in one batch, then each in a batch of its own, under way together; `settings` are the producer's."""
    chosen = {"enable_idempotence": idempotence, **settings}
    return Scenario(
        title="The idempotent producer" if idempotence else "A producer without idempotence",
        profile=profile,
        seed=seed,
        topics={TOPIC: 1},
        programs=(Program("shop", "shop", {"orders": list(orders), "settings": chosen, "together": 2}),),
    )


variant("lab01-", lab01, idempotence=False)
