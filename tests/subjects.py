"""The names of the package that a test uses. `-k` finds it by them: `-k EndTxn`, `-k Crash`, `-k StateChart`."""

from __future__ import annotations

import re
from functools import cache
from types import CodeType, FunctionType, ModuleType

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.protocol.rules import Rule
from kafkalab.reference.found_scenarios import slug

OWN, PACKAGE = "tests", "kafkalab"


def word_of(subject: object) -> str | None:
    """Return the word for a rule, that of its constant, or for a check's name: `torn_transaction`. Else None."""
    if isinstance(subject, Rule):
        return slug(subject)
    return re.sub(r"\W", "_", subject) if isinstance(subject, str) and subject in BY_NAME else None


@cache
def _names(code: CodeType) -> frozenset[str]:
    """Return the names that the code looks up, attributes too, and those of the functions and classes within it."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return frozenset(code.co_names).union(*map(_names, inner))


def _home(value: object) -> str:
    """Return the top package in which a function, class or module is defined."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""


@cache
def _find_used(functions: frozenset[FunctionType]) -> frozenset[str]:
    """Return the names of the package that these functions use, or functions and methods of `tests` that they call."""
    found: set[str] = set()
    looked_up: set[str] = set()
    classes: set[type] = set()
    waiting, seen = list(functions), set(functions)
    while waiting:
        one = waiting.pop()
        names = _names(one.__code__)
        looked_up |= names
        values = {name: one.__globals__[name] for name in names & one.__globals__.keys()}
        found |= {name for name, value in values.items() if _home(value) == PACKAGE}
        classes |= {value for value in values.values() if isinstance(value, type) and _home(value) == OWN}
        called = [value for value in values.values() if _home(value) == OWN]
        called += [vars(base).get(name) for cls in classes for base in cls.__mro__ for name in looked_up]
        new = {value for value in called if isinstance(value, FunctionType)} - seen
        seen |= new
        waiting += new
    return frozenset(found)


def subjects(item: pytest.Function) -> frozenset[str]:
    """Return the names of the package that a test and its fixtures use, also through functions of `tests`."""
    fixtures = [fixture.func for name in item._fixtureinfo.name2fixturedefs.values() for fixture in name]
    own = {f for f in (item.function, *fixtures) if isinstance(f, FunctionType) and _home(f) == OWN}
    return _find_used(frozenset(own))
