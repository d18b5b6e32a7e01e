"""Regular expressions of clients, as Kafka's RE2/J reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.extras import import_from_extra


def compile_pattern(pattern: str) -> Callable[[str], Any] | None:
    """Return what says whether the expression matches a whole text; None if RE2 refuses it."""
    re2 = import_re2()
    options = re2.Options()
    options.log_errors = False
    try:
        found: Callable[[str], Any] = re2.compile(pattern, options).fullmatch
    except re2.error:
        return None
    return found


def import_re2() -> Any:
    """Return the module of the regular expressions that Kafka knows; ModuleNotFoundError says how to get it."""
    return import_from_extra("re2", "wire", "to list transactions or subscribe by a pattern needs google-re2")
