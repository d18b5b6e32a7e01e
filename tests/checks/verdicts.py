"""What the checks say of small histories made by hand."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.checks.all import BY_NAME
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.history import History

Build = Callable[[HistoryBuilder], object]


def build_history(build: Build) -> History:
    """Return the history that `build` makes."""
    builder = HistoryBuilder()
    build(builder)
    return builder.history()


def verdict(history: History, name: str) -> tuple[str, list[str]]:
    """The verdict, and the policy of each finding."""
    result = BY_NAME[name](history)
    return result.verdict, [finding.policy for finding in result.findings]


OK: tuple[str, list[str]] = ("ok", [])
VIOLATED = ("violated", ["forbidden"])
UNKNOWN: tuple[str, list[str]] = ("unknown", [])
SEEN = ("ok", ["allowed"])
