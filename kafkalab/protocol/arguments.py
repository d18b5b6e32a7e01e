"""Check values against annotations: the fields of a scenario, and the arguments of a program against its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from kafkalab.limits import COUNT, NAME, TIME_MS, list_names, quote, truncate
from kafkalab.protocol.partitions import split

Check = Callable[[Any], str]
"""Says of a value of the right type what is wrong with it, as "is a number from 1 on, not 0"; "" if nothing is."""

NAMES = {
    str: "text", bool: "true or false", int: "a whole number", float: "a number", NoneType: "nothing", list: "a list",
    tuple: "a list", dict: "an object",
}  # fmt: skip
LISTS = (list, tuple, Sequence, Iterable)


def between(least: int, most: int) -> Check:
    """Return the check that a number is from `least` to `most`."""

    def check(value: int) -> str:
        return "" if least <= value <= most else f"is a number from {least} to {most:,}, not {quote(value)}"

    return check


def _check_name(value: str) -> str:
    if not value or not value.isprintable():
        return f"is a name of printable characters, not {quote(value)}"
    return "" if len(value) <= NAME.most else f"has {len(value):,} {NAME.of}; the limit is {NAME.most}"


class Later:
    """Stands for a value that only the run will give; it fits every type."""


def _partition(value: str) -> str:
    return "" if split(value)[1] >= 0 else f'is named like "out-0", not {quote(value)}'


Name = Annotated[str, _check_name]
"""A name of a topic, a group, an id or a node."""
Milliseconds = Annotated[int, between(0, TIME_MS.most)]
Count = Annotated[int, between(0, COUNT.most)]
"""The number of times that a program does something."""
Partition = Annotated[str, _partition]
Index = Annotated[int, between(0, 2**31 - 1)]
"""The number of a partition."""


def misfit(value: Any, kind: Any, where: str) -> str:
    """Return why `value` is not what the annotation `kind` says, beginning with `where`; "" if it is.

    Lists and tuples are the same, and so is a whole number where any number may be. What annotation is none of JSON's
    types or a class is not checked.
    """
    if kind is Any or type(value) is kind or isinstance(value, Later):
        return _wrong_field(value, where) if hasattr(kind, "__dataclass_fields__") else ""
    origin, inside = _parts(kind)
    if origin is Annotated:
        wrong = misfit(value, inside[0], where)
        found = "" if wrong else next(filter(None, (check(value) for check in inside[1:] if callable(check))), "")
        return wrong or (f"{where} {found}" if found else "")
    if origin in (Union, UnionType):
        wrongs = [misfit(value, one, where) for one in inside]
        return "" if "" in wrongs else next((w for w, one in zip(wrongs, inside, strict=True) if one is not NoneType))
    plain = origin or kind
    if not _is(value, plain):
        return f"{where} is {NAMES.get(plain) or _title(plain)}, not {quote(value)}"
    if plain in LISTS and inside:
        return _first(value, inside, where, ordered=plain is tuple and Ellipsis not in inside)
    if plain in (dict, Mapping) and inside:
        for key, held in value.items():
            if wrong := misfit(key, inside[0], f"a key of {where}"):
                return wrong
            if misfit(held, inside[1], ""):
                return misfit(held, inside[1], f"{where}[{quote(key)}]")
        return ""
    return _wrong_field(value, where) if hasattr(plain, "__dataclass_fields__") else ""


def _wrong_field(value: Any, where: str) -> str:
    """Return what is wrong with the first wrong field of a dataclass."""
    found: Any = type(value)
    for name, kind in hints_of(found).items():
        if wrong := misfit(getattr(value, name, None), kind, f"{where}.{name}"):
            return wrong
    return ""


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(kind), get_args(kind)


def _first(value: Sequence[Any], inside: tuple[Any, ...], where: str, ordered: bool) -> str:
    """Return what is wrong with the first wrong entry of a list."""
    if not ordered and all(type(one) is inside[0] for one in value) and inside[0] in (str, int):
        return ""
    if ordered and len(value) != len(inside):
        return f"{where} has {len(inside)} entries, not {len(value)}"
    kinds = inside if ordered else inside[:1] * len(value)
    return next(filter(None, (misfit(v, kinds[i], f"{where}[{i}]") for i, v in enumerate(value))), "")


def _is(value: Any, plain: Any) -> bool:
    if plain in (int, float):
        return isinstance(value, (int, plain)) and not isinstance(value, bool)
    if plain in LISTS:
        return isinstance(value, list | tuple)
    if plain is Mapping:
        return isinstance(value, Mapping)
    if plain is None:
        return value is None
    return not isinstance(plain, type) or isinstance(value, plain)


def _title(plain: Any) -> str:
    return f"a {getattr(plain, '__name__', plain)}"


@cache
def hints_of(thing: Any) -> dict[str, Any]:
    """Return the annotations of a class or function by name; {} where they cannot be found out."""
    try:
        return get_type_hints(thing, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {}


def check_fields(thing: Any, but: tuple[str, ...] = ()) -> None:
    """Raise ValueError unless every field of a dataclass, except those in `but`, is of its annotated type."""
    found: Any = type(thing)
    for name, kind in hints_of(found).items():
        if name not in but and (wrong := misfit(getattr(thing, name, None), kind, name)):
            raise ValueError(truncate(wrong))


def check_arguments(function: Callable[..., Any], name: str, args: Any) -> None:
    """Raise ValueError, naming program and argument, unless `function(app, **args)` fits the function's signature."""
    if not isinstance(args, dict) or not all(isinstance(key, str) for key in args):
        raise ValueError(f"the arguments of program {name!r} are an object with names, not {quote(args)}")
    if wrong := call_error(function, f"program {quote(name)}", args):
        raise ValueError(truncate(wrong))


def call_error(function: Callable[..., Any], what: str, args: dict[str, Any]) -> str:
    """Return why `function(first, **args)` does not fit the signature, calling the function `what`; "" if it does."""
    known, required, takes_any = _signature(function)
    needed = [name for name in required if name not in args]
    extra = [] if takes_any else [key for key in args if key not in known]
    if needed or extra:
        wrong = f"needs {list_names(needed)}" if needed else f"has no argument {quote(extra[0])}"
        return f"{what} {wrong}; its arguments are {list_names(known) or 'none'}"
    hints = hints_of(function)
    wrongs = (misfit(value, hints.get(key, Any), f"argument {key} of {what}") for key, value in args.items())
    return next(filter(None, wrongs), "")


@cache
def _signature(function: Any) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return the names of the parameters but the first, those without a default, and whether any name is taken."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    required = tuple(p.name for p in named if p.default is p.empty)
    return tuple(p.name for p in named), required, any(p.kind is p.VAR_KEYWORD for p in parameters)


def calls_of(kind: type, methods: tuple[str, ...]) -> Check:
    """Return the check of a list of calls as data: ["send", "out", "value"], or ["sleep", 20]."""

    def check(calls: list[list[Any]]) -> str:
        for number, call in enumerate(calls):
            name, *args = call or [""]
            if name == "sleep":
                wrong = misfit(args, tuple[Milliseconds], "sleep")
            elif name not in methods:
                wrong = f"no operation {quote(name)}; there are {list_names((*methods, 'sleep'))}"
            else:
                method = getattr(kind, name)
                known, _, _ = _signature(method)
                many = f"{name} takes {len(known)} arguments, not {len(args)}" if len(args) > len(known) else ""
                wrong = many or call_error(method, name, dict(zip(known, args, strict=False)))
            if wrong:
                return f"[{number}]: {wrong}"
        return ""

    return check
