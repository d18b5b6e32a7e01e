"""Numbers that are close enough to what a run has measured."""

from __future__ import annotations

from kafkalab.grading.exercise import WrongType, described

PART, LEAST_MS = 0.05, 12


def close(value: float, truth: float) -> bool:
    """Whether a time is within 5 % of the truth, or within 12 ms."""
    return abs(value - truth) <= max(PART * truth, LEAST_MS)


def number(value: object, form: str) -> float:
    """Return the number; WrongType, which says what to give, for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise WrongType(f"Give {form}, not {described(value)}.")
    return float(value)
