"""The late dataclass is in all that one can do with it what the standard one is."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.faults.node import Crash
from kafkalab.protocol import lazy_dataclass
from kafkalab.protocol.messages.registry import ALL


def make_row(dataclass: Any, kw_only: bool) -> Any:
    @dataclass(frozen=True, slots=True, kw_only=kw_only)
    class Row:
        name: str
        count: int = dataclasses.field(default=3, metadata={"versions": (1,)})
        parts: dict[str, int] = dataclasses.field(default_factory=dict)

    return Row


LATE, USUAL = ({kw: make_row(m.dataclass, kw) for kw in (True, False)} for m in (lazy_dataclass, dataclasses))

ACTS: dict[str, Callable[[Any], Any]] = {
    "repr": lambda row: repr(row(name="a")).partition(".")[2],
    "defaults": lambda row: dataclasses.astuple(row(name="a")),
    "a default of its own": lambda row: row(name="a").parts is row(name="a").parts,
    "given": lambda row: dataclasses.asdict(row(name="a", count=1, parts={"p": 2})),
    "by place": lambda row: dataclasses.astuple(row("a", 4)),
    "equal": lambda row: (row(name="a") == row(name="a"), row(name="a") == row(name="b")),
    "unequal": lambda row: (row(name="a") != row(name="a"), row(name="a") != row(name="b")),
    "another class": lambda row: (row(name="a") == ("a", 3, {}), row(name="a") == USUAL[False](name="z")),
    "hash": lambda row: hash(row(name="a", parts=())) == hash(("a", 3, ())),
    "no hash": lambda row: hash(row(name="a")),
    "set": lambda row: setattr(row(name="a"), "count", 1),
    "delete": lambda row: delattr(row(name="a"), "count"),
    "missing": lambda row: row(count=1),
    "unknown": lambda row: row(name="a", other=1),
    "replaced": lambda row: dataclasses.astuple(dataclasses.replace(row(name="a"), count=9)),
    "copied": lambda row: copy.copy(row(name="a", parts={"p": 1})) == row(name="a", parts={"p": 1}),
    "copied deeply": lambda row: copy.deepcopy(row(name="a", parts={"p": 1})) == row(name="a", parts={"p": 1}),
    "fields": lambda row: [(f.name, f.type, f.metadata, f.kw_only) for f in dataclasses.fields(row)],
    "slots": lambda row: (row.__slots__, hasattr(row(name="a"), "__dict__"), row.__match_args__),
}


def outcome(act: Callable[[Any], Any], row: Any) -> Any:
    try:
        return act(row)
    except (TypeError, AttributeError) as error:
        return type(error), str(error).partition(".")[2] or str(error)


@pytest.mark.parametrize("kw_only", [True, False])
@pytest.mark.parametrize("name", ACTS)
def test_it_does_what_the_standard_one_does(name: str, kw_only: bool) -> None:
    late = make_row(lazy_dataclass.dataclass, kw_only)  # nothing of it is compiled yet
    expected = outcome(ACTS[name], USUAL[kw_only])
    assert outcome(ACTS[name], late) == expected
    assert outcome(ACTS[name], late) == expected


@pytest.mark.parametrize("api", ALL, ids=lambda api: api.name)
def test_messages_are_written_late_and_can_be_pickled(api: Any) -> None:
    kind = api.response
    required = [f.name for f in dataclasses.fields(kind) if not _has_default(f)]
    made = kind(**dict.fromkeys(required, ()))
    assert pickle.loads(pickle.dumps(made)) == made
    assert made == dataclasses.replace(made)


def _has_default(one: dataclasses.Field[Any]) -> bool:
    return one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING


def test_only_what_is_made_is_compiled() -> None:
    late = make_row(lazy_dataclass.dataclass, True)
    assert late.__init__ is lazy_dataclass._init
    first = object.__new__(late)
    first.__setstate__(["a", 3, {}])
    assert first == late(name="a")
    assert late.__init__ is not lazy_dataclass._init


def test_a_repr_of_ones_own_stays() -> None:
    @lazy_dataclass.dataclass(frozen=True, slots=True, repr=False)
    class Named:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

    assert repr(Named("a")) == "<a>"
    assert repr(Crash("b1")) == "Crash('b1')"


def test_nothing_is_added_to_an_object() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'other'"):
        LATE[True](name="a").other = 1


def test_a_class_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"use dataclasses\.dataclass"):
        lazy_dataclass.dataclass(frozen=False, slots=True)
