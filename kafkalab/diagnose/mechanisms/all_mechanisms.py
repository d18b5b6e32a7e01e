"""All rules, in the order in which findings of the same certainty are shown."""

from __future__ import annotations

from kafkalab.diagnose.finding import Rule
from kafkalab.diagnose.mechanisms import (
    cluster,
    fencing,
    hanging,
    listings,
    named_errors,
    offsets,
    positions,
    producer_state,
    saved_runs,
    torn,
)

RULES: tuple[Rule, ...] = (
    *saved_runs.RULES,
    *hanging.RULES,
    *torn.RULES,
    *offsets.RULES,
    *producer_state.RULES,
    *fencing.RULES,
    *cluster.RULES,
    *listings.RULES,
    *positions.RULES,
    *named_errors.RULES,
)
