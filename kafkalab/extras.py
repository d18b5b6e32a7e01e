"""Libraries that only an extra of kafkalab installs: each is imported when something first needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_from_extra(module: str, extra: str, needed: str) -> Any:
    """Return the module; ModuleNotFoundError, which begins with `needed` and names the extra, if it is not there."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"{needed}: pip install 'kafkalab-course[{extra}]'", name=module) from None
