"""All rules, in the order in which findings of the same certainty are shown."""

from __future__ import annotations

from kafkalab.diagnose.finding import Rule
from kafkalab.diagnose.mechanisms import hanging

RULES: tuple[Rule, ...] = (*hanging.RULES,)
