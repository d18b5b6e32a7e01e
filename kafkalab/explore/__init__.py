"""Searches for the shortest way to break a promise: `explore(scenario, find="duplicate", rules_off=[...])`.

Start at `search.py`, then `candidates.py`, then `lineage.py`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkalab.explore.result import Result


class _Explore(ModuleType):
    """The package, which can be called: `from kafkalab import explore` always gives the search."""

    def __call__(self, *args: Any, **kwargs: Any) -> Result:
        """Search: see `kafkalab.cli.notebook_search.explore`, which has the clock that this package must not have."""
        found: Result = import_module("kafkalab.cli.notebook_search").explore(*args, **kwargs)
        return found


sys.modules[__name__].__class__ = _Explore
