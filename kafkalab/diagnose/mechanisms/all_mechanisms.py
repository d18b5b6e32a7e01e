"""All rules, in the order in which findings of the same certainty are shown."""

from __future__ import annotations

from kafkalab.diagnose.finding import Rule
from kafkalab.diagnose.mechanisms import (
    cluster,
    decisions,
    fencing,
    hanging,
    listings,
    named_errors,
    positions,
    producer_state,
)

RULES: tuple[Rule, ...] = (
    *hanging.RULES,
    *decisions.RULES,
    *producer_state.RULES,
    *fencing.RULES,
    *cluster.RULES,
    *listings.RULES,
    *positions.RULES,
    *named_errors.RULES,
)
