"""Searches for the shortest way to break a promise: `explore(scenario, find="duplicate", rules_off=[...])`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkalab.explore.result import Result


class _Explore(ModuleType):
    """The package, which can be called: `from kafkalab import explore` always gives the search."""

    def __call__(self, *args: Any, **kwargs: Any) -> Result:
        """Search: see `kafkalab.explore.search.explore`."""
        from kafkalab.explore.search import explore

        return explore(*args, **kwargs)


sys.modules[__name__].__class__ = _Explore
