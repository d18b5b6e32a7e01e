"""Restore kafkalab before a check: a notebook may overwrite anything in its process, kafkalab included."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

Place = tuple[Any, str]


class Original:
    """A record of kafkalab's modules, classes and functions at the time when it is made."""

    def __init__(self) -> None:
        self._values: list[tuple[Place, Any]] = []
        self._codes: list[tuple[FunctionType, tuple[Any, ...]]] = []
        seen: set[int] = set()
        for name, module in sorted(sys.modules.items()):
            if name.split(".")[0] == "kafkalab" and isinstance(module, ModuleType):
                self._note(module, seen)

    def _note(self, owner: Any, seen: set[int]) -> None:
        """Record every function, class and constant of a module or a class, classes within included."""
        if id(owner) in seen:
            return
        seen.add(id(owner))
        for name, value in list(vars(owner).items()):
            if name.startswith("__") and name not in ("__init__", "__call__", "__eq__"):
                continue
            self._values.append(((owner, name), value))
            if isinstance(value, FunctionType):
                self._codes.append((value, (value.__code__, value.__defaults__, value.__kwdefaults__)))
            elif isinstance(value, type) and value.__module__.split(".")[0] == "kafkalab":
                self._note(value, seen)

    def restore(self) -> list[str]:
        """Undo every change since; return the names of what had been changed."""
        changed = []
        for (owner, name), value in self._values:
            if vars(owner).get(name, ...) is not value:
                changed.append(f"{owner.__name__}.{name}")
                setattr(owner, name, value)
        for function, (code, defaults, keywords) in self._codes:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                changed.append(f"{function.__module__}.{function.__qualname__}")
                function.__code__, function.__defaults__, function.__kwdefaults__ = code, defaults, keywords
        return changed
