"""Each fault is where people and searches meet one: a name to import, a button, words, a kind."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kafkalab
from kafkalab import lab03
from kafkalab.explore.fault_sequence import ALL_KINDS, KINDS, SEARCHED
from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.faults.registry import BY_PRESS, TYPES
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.fault_panel import buttons
from tests.widgets.every_press import presses as every_press

CODE = Path(kafkalab.__file__).parent
OWN_EVENTS = ("Crash", "Restart")
"""Faults whose event is no fault event: pictures have other sentences for it."""
LATE = ("Delay", "Reorder")
"""The faults whose explanation says when the frame arrived."""
SECOND_HALVES = ("Restart", "Resume", "Heal", "Roll")
"""Faults that a search adds to others, and that are no fault of their own."""
WITHOUT_BUTTON = ("Stall",)
"""Faults that no picture offers: a window is there only in scenarios that name it, and in searches."""
NOT_SEARCHED = {"Hold": "Delay", "Reorder": "Delay", "Release": "Delay"}
"""Faults that a search does not try, and the one that stands for them."""


@cache
def payload() -> dict[str, Any]:
    """A run in which every kind of button has something to strike."""
    return Journey(lab03()).payload


def lacking(name: str) -> Iterator[str]:
    """The places in which the fault is not named yet, each with what belongs there."""
    fault = TYPES[name]
    if name not in OWN_EVENTS and not fault.words.event:
        yield "the sentence of its event"
    if name not in LATE and not fault.words.explanation:
        yield "how an explanation tells of it"
    middle = len(payload()["events"]) // 2
    offered = {pressed for _, row in buttons(payload(), middle) for pressed, *_ in row}
    if not fault.other and name not in WITHOUT_BUTTON and fault.press not in offered:
        yield "kafkalab/widgets/views/fault_panel.py: its place in the panel"
    if name not in WITHOUT_BUTTON and fault.press not in {pressed for pressed, *_ in every_press(payload(), Random(1))}:
        yield "tests/widgets/every_press.py: a line that presses it"
    if not re.search(rf"\b{name}\(", (CODE / "programs" / "random_faults.py").read_text()) and fault.kind in KINDS:
        yield "kafkalab/programs/random_faults.py: random scenarios draw it"
    if not fault.kind and name not in (*SECOND_HALVES, *NOT_SEARCHED):
        yield "its kind, under which a search tries it"


@pytest.mark.parametrize("name", TYPES)
def test_a_fault_is_in_every_place_that_a_fault_has(name: str) -> None:
    assert getattr(kafkalab, name) is TYPES[name]
    left = list(lacking(name))
    assert not left, f"{name} lacks\n" + "\n".join(left)


def test_faults_have_different_buttons_and_kinds() -> None:
    assert len(BY_PRESS) == len(TYPES)
    assert len(SEARCHED) == sum(bool(fault.kind) for fault in TYPES.values())
    assert set(KINDS) <= set(ALL_KINDS) == set(SEARCHED)


def test_a_fault_without_a_part_cannot_be_made() -> None:
    class Unfinished(FrameFault):
        __slots__ = ()

        @abstractmethod
        def strike(self, *arguments: Any) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Unfinished("EndTxn#1")  # type: ignore[abstract]
    kinds: list[type[Fault]] = list(TYPES.values())
    assert not [kind for kind in kinds if kind.__abstractmethods__]
