"""The scenarios of lab 6: two instances of a billing service."""

from __future__ import annotations

from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Pause, Resume
from kafkalab.programs.billing import AWAKE_MS, CHARGES, ORDERS, PAUSED_MS, REPLACED_MS, VALUES
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario, variant


@register_scenario
def lab06(
    first: str | None = "billing-0",
    second: str | None = "billing-0",
    paused_ms: int = PAUSED_MS,
    seed: int = 1,
    profile: str = "4.x/TV2",
    **more: Any,
) -> Scenario:
    """Three orders wait. `till-1` stops in the middle, `till-2` replaces it, `till-1` wakes up.

    `first` and `second` are their transactional ids, None for a producer without. `more` are further arguments of both.
    """
    return Scenario(
        title="A zombie wakes up" if first else "Two instances without a name",
        profile=profile,
        seed=seed,
        topics={ORDERS: 1, CHARGES: 1},
        records={f"{ORDERS}-0": VALUES},
        programs=(
            Program("till-1", "billing", {"transactional_id": first, **more}),
            Program("till-2", "billing", {"transactional_id": second, "start_after_ms": REPLACED_MS, **more}),
        ),
        faults=(Pause("till-1", at_ms=paused_ms), Resume("till-1", at_ms=AWAKE_MS)),
    )


variant("lab06-", lab06, first=None, second=None)


def two_charges(
    first: dict[str, Any], second: dict[str, Any] | None, *faults: Fault, seed: int = 1, title: str = "Two charges"
) -> Scenario:
    """Two instances of one service, named alike unless told otherwise, with one charge each."""
    both: tuple[tuple[str, dict[str, Any] | None], ...] = (("till-1", first), ("till-2", second))
    return Scenario(
        title=title,
        seed=seed,
        topics={CHARGES: 1},
        programs=tuple(
            Program(node, "one_charge", {"transactional_id": "billing-0", "value": node, **args})
            for node, args in both
            if args is not None
        ),
        faults=faults,
    )
