"""Numbers that are close enough to what a run has measured."""

from __future__ import annotations

from kafkalab.grading.exercise import WrongType, describe

PART = 0.05


def close(value: float, truth: float, least_ms: float) -> bool:
    """Return True if a time is within 5 % of the truth, or within `least_ms`."""
    return abs(value - truth) <= max(PART * truth, least_ms)


def number(value: object, form: str) -> float:
    """Return the number; WrongType, which says what to give, for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise WrongType(f"Give {form}, not {describe(value)}.")
    return float(value)
