"""The programs that a scenario can name. Whoever has some says so here: the simulator knows nobody's programs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

ProgramFunction = Callable[..., Coroutine[Any, Any, Any]]
PROGRAMS: dict[str, ProgramFunction] = {}
_PROVIDERS: list[Callable[[], object]] = []


def program(function: ProgramFunction) -> ProgramFunction:
    """Register an `async def` function under its name, so that a scenario which runs it can be saved."""
    PROGRAMS[function.__name__] = function
    return function


def provide(load: Callable[[], object]) -> None:
    """Call `load` before the next program is looked up: it imports modules, which register their programs."""
    _PROVIDERS.append(load)


def program_named(name: str) -> ProgramFunction:
    """Return the program registered under this name; ValueError if there is none."""
    while _PROVIDERS:
        _PROVIDERS[0]()
        del _PROVIDERS[0]
    if name not in PROGRAMS:
        raise ValueError(f"no program {name!r} is registered; there are {', '.join(sorted(PROGRAMS))}")
    return PROGRAMS[name]
