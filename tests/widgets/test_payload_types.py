"""The types of a payload: real payloads have them, and the TypeScript beside the pictures says the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from kafkalab import lab00, lab03
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.futures import payload_with_actions, run_watched
from kafkalab.widgets.payload.types import Op, Payload
from tests.widgets.payload_types import (
    FAULTS_TARGET,
    PALETTE_TARGET,
    TARGET,
    faults_in_typescript,
    palette_in_css,
    typescript,
)

DATA = Path(__file__).parents[2] / "data"
SIXTH = sorted(DATA.glob("*/*.klab"))[::6]
"""Stored runs: with groups, elections, compaction, the memory of a leader where no coordinator keeps transactions."""


def faults(value: Any, kind: Any, place: str = "") -> Iterator[str]:
    """Say where a value of JSON is not of this type."""
    origin, args = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        wanted = {name for name, of in hints.items() if kind.__total__ and get_origin(of) is not NotRequired}
        if not (isinstance(value, dict) and wanted <= {*value} <= {*hints}):
            yield f"{place}: {sorted(wanted ^ {*value}) if isinstance(value, dict) else value!r}"
            return
        for name, of in value.items():
            yield from faults(of, hints[name], f"{place}.{name}")
    elif origin is NotRequired:
        yield from faults(value, args[0], place)
    elif origin is UnionType:
        told = [list(faults(value, one, place)) for one in args]
        if all(told):
            yield f"{place}: {value!r} is none of {len(args)} types"
    elif origin is Literal:
        yield from [] if value in args else [f"{place}: {value!r} is none of {args}"]
    elif not isinstance(value, {tuple: list}.get(origin, origin or kind)) or type(value) is bool is not kind:
        yield f"{place}: {value!r} is no {kind}"
    elif origin is list:
        for i, of in enumerate(value):
            yield from faults(of, args[0], f"{place}[{i}]")
    elif origin is dict:
        for key, of in value.items():
            yield from faults(of, args[1], f"{place}.{key}")
    elif origin is tuple:
        if len(value) != len(args):
            yield f"{place}: {value!r} has not {len(args)} parts"
            return
        for i, (of, one) in enumerate(zip(value, args, strict=True)):
            yield from faults(of, one, f"{place}[{i}]")


def payloads() -> Iterator[Any]:
    """Payloads of runs that differ in what they have."""
    for scenario in (lab00(), lab03(), *map(Scenario.load, SIXTH)):
        yield payload_with_actions(run_watched(scenario))


def test_real_payloads_have_the_types_and_every_change_of_the_picture_is_among_them() -> None:
    ops = set()
    for payload in payloads():
        assert list(faults(payload, Payload))[:5] == []
        ops |= {op[0] for event in payload["events"] for op in event["patch"]}
    typed = {name for one in get_args(Op) for name in get_args(get_args(one)[0])}
    assert len(typed) == 17
    assert ops <= typed
    assert {"group", "memory", "position", "isr", "txn", "batch"} <= ops


@pytest.mark.parametrize(
    ("value", "kind", "told"),
    [
        (["node", "b1", "asleep"], Op, ": ['node', 'b1', 'asleep'] is none of 15 types"),
        ({"a": 1}, dict[str, str], ".a: 1 is no <class 'str'>"),
        (True, int, ": True is no <class 'int'>"),
        ([1, "x"], tuple[int, int], "[1]: 'x' is no <class 'int'>"),
        ({}, Payload, ": ['categories',"),
    ],
)
def test_a_value_of_another_type_is_told(value: Any, kind: Any, told: str) -> None:
    assert [fault[: len(told)] for fault in faults(value, kind)] == [told]


def test_what_pictures_have_of_python_is_current() -> None:
    hint = "python -m tests.widgets.payload_types writes it anew"
    assert TARGET.read_text(encoding="utf-8") == typescript(), hint
    assert FAULTS_TARGET.read_text(encoding="utf-8") == faults_in_typescript(), hint
    assert PALETTE_TARGET.read_text(encoding="utf-8") == palette_in_css(), hint
