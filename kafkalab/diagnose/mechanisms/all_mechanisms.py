"""All rules, in the order in which findings of the same certainty are shown."""

from __future__ import annotations

from kafkalab.diagnose.finding import Rule
from kafkalab.diagnose.mechanisms import (
    client_settings,
    cluster,
    decided,
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
    *decided.RULES,
    *hanging.RULES,
    *torn.RULES,
    *offsets.RULES,
    *producer_state.RULES,
    *fencing.RULES,
    *cluster.RULES,
    *listings.RULES,
    *positions.RULES,
    *client_settings.RULES,
    *named_errors.RULES,
)
