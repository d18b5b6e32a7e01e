"""Names that a part further right brings, such as programs, scenarios and exercises, imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A mapping from names to values whose providers are imported when it is first read.

    `kafkalab.PROVIDERS[kind]` lists the modules that register values while they are imported. So the engine that reads
    a name need not import, nor know, the part that defines it.
    """

    def __init__(self, kind: str) -> None:
        self._kind, self._values, self._complete = kind, dict[str, T](), False

    def register(self, name: str, value: T) -> None:
        """Bind `name` to `value`; a second value replaces the first."""
        self._values[name] = value

    def _all(self) -> dict[str, T]:
        if not self._complete:
            for module in import_module("kafkalab").PROVIDERS[self._kind]:
                import_module(module)
            self._complete = True
        return self._values

    def __getitem__(self, name: str) -> T:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
