"""`@dataclass` for frozen classes with slots, whose methods are compiled when the first object is made.

The standard decorator compiles six functions for each class, which takes half a millisecond; there are 95 classes of
messages and faults, and most sessions use a dozen. `fields`, `replace`, `is_dataclass`, `repr`, comparison, hash,
`match` and pickle are those of any frozen dataclass. `__post_init__`, and fields that are left out of one of these, are
not supported.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool = False, repr: bool = True) -> Any:
        """Return the decorator. ValueError for a class that is not frozen or has no slots."""
        if not (frozen and slots):
            raise ValueError("only frozen classes with slots are written late: use dataclasses.dataclass")
        make = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)

        def add_methods(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # the standard decorator would look at the signature
            for name, method in _METHODS.items():
                if repr or name != "__repr__":
                    setattr(cls, name, method)
            return make(cls)

        return add_methods


def _compile(kind: type) -> Any:
    """Write `__init__`, `__eq__` and `__hash__` of the class that still has those of this module; return that class."""
    owner: Any = next(one for one in kind.__mro__ if one.__dict__.get("__init__") is _init)
    names = [one.name for one in fields(owner)]
    known: dict[str, Any] = {f"_set_{name}": getattr(owner, name).__set__ for name in names}
    parameters, lines = [], []
    for one in sorted(fields(owner), key=lambda one: bool(one.kw_only)):
        if one.kw_only and "*" not in parameters:
            parameters.append("*")
        given, value = one.name, one.name
        if one.default is not MISSING:
            known[f"_default_{one.name}"] = one.default
            given = f"{one.name}=_default_{one.name}"
        elif one.default_factory is not MISSING:
            known[f"_make_{one.name}"], known["_MISSING"] = one.default_factory, MISSING
            given = f"{one.name}=_MISSING"
            value = f"_make_{one.name}() if {one.name} is _MISSING else {one.name}"
        parameters.append(given)
        lines.append(f" _set_{one.name}(self, {value})")
    mine, theirs = (f"({''.join(f'{whose}.{name}, ' for name in names)})" for whose in ("self", "other"))
    text = "\n".join([
        f"def __init__({', '.join(['self', *parameters])}):",
        *(lines or [" pass"]),
        "def __eq__(self, other):",
        f" return {mine} == {theirs} if other.__class__ is self.__class__ else NotImplemented",
        "def __hash__(self):",
        f" return hash({mine})",
    ])  # fmt: skip
    exec(text, known)
    for name in ("__init__", "__eq__", "__hash__"):
        known[name].__qualname__ = f"{owner.__qualname__}.{name}"
        setattr(owner, name, known[name])
    return owner


def _init(self: Any, *values: Any, **named: Any) -> None:
    _compile(type(self)).__init__(self, *values, **named)


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, one.name) for one in fields(self))


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{one.name}={getattr(self, one.name)!r}' for one in fields(self))})"


def _setattr(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> tuple[Any, ...]:
    return _values(self)


def _setstate(self: Any, state: tuple[Any, ...]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_METHODS = {
    "__init__": _init, "__eq__": _eq, "__hash__": _hash, "__repr__": _repr, "__setattr__": _setattr,
    "__delattr__": _delattr, "__getstate__": _getstate, "__setstate__": _setstate,
}  # fmt: skip
