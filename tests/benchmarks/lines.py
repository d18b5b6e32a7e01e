"""How a benchmark prints a figure."""

from __future__ import annotations


def line(what: str, figures: str, goal: str = "") -> None:
    """Print what was measured, what came out, and what was hoped for."""
    print(f"  {what:<46}{figures}" + (f"   (goal: {goal})" if goal else ""), flush=True)
