"""Each fault is in all the places that a fault has; of a new one the failure lists the places that are left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kafkalab
from kafkalab import lab03
from kafkalab.explore.fault_sequence import FAULTS_OF_KIND
from kafkalab.faults.registry import TYPES
from kafkalab.widgets.model import presses
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.payload import cluster_faults
from kafkalab.widgets.views.fault_panel import buttons
from tests.widgets.every_press import presses as every_press

CODE = Path(kafkalab.__file__).parent
ACTIONS = {"AdvanceClock": "advance", "ElectLeader": "elect", "DeleteSegment": "delete_segment"}
"""The action of a button, where it is not the fault's name in small letters."""
OWN_EVENTS = ("Crash", "Restart")
"""Faults whose event is no fault event: pictures and explanations have other sentences for it."""
LATE = ("Delay", "Reorder")
"""The faults whose explanation says that the frame is late."""
SECOND_HALVES = ("Restart", "Resume", "Heal", "Roll")
"""Faults that a search adds to others, and that are no fault of their own."""
NOT_SEARCHED = {"Hold": "Delay", "Reorder": "Delay", "Release": "Delay"}
"""Faults that a search does not try, and the one that stands for them."""


@cache
def payload() -> dict[str, Any]:
    """A run in which every kind of button has something to strike."""
    return Journey(lab03()).payload


def source(path: str) -> str:
    return (CODE / path).read_text(encoding="utf-8")


def lacking(name: str) -> Iterator[str]:
    """The places in which the fault is not named yet, each with what belongs there."""
    action = ACTIONS.get(name, name.lower())
    if not hasattr(kafkalab, name):
        yield "kafkalab/__init__.py: its name, so that its repr can be pasted"
    if name not in OWN_EVENTS and name not in cluster_faults.FAULTS:
        yield "kafkalab/widgets/payload/cluster_faults.py: the sentence of its event"
    if action not in presses.ACTIONS:
        yield f"kafkalab/widgets/model/presses.py: its button, {action!r}"
    middle = len(payload()["events"]) // 2
    if name != "Reorder" and action not in {pressed for _, row in buttons(payload(), middle) for pressed, *_ in row}:
        yield "kafkalab/widgets/views/fault_panel.py: its place in the panel"
    (rows,) = (CODE.parent / "pictures" / "src").glob("fault_rows.[jt]s")
    if f"\t{action}: [" not in rows.read_text(encoding="utf-8"):
        yield f"pictures/src/{rows.name}: {action} in WORDS, and its place in the browser's panel"
    if action not in {pressed for pressed, *_ in every_press(payload(), Random(1))}:
        yield "tests/widgets/every_press.py: a line that presses it"
    if not re.search(rf"\b{name}\(", source("programs/random_faults.py")):
        yield "kafkalab/programs/random_faults.py: random scenarios draw it"
    if name not in (*FAULTS_OF_KIND.values(), *SECOND_HALVES, *NOT_SEARCHED):
        yield "kafkalab/explore/fault_sequence.py: its kind in FAULTS_OF_KIND, and when in candidates.py"
    if name not in (*OWN_EVENTS, *LATE) and f'"{name}"' not in source("explore/event_words.py"):
        yield "kafkalab/explore/event_words.py: how an explanation tells of it"


@pytest.mark.parametrize("name", TYPES)
def test_a_fault_is_in_every_place_that_a_fault_has(name: str) -> None:
    left = list(lacking(name))
    assert not left, f"{name} is not yet in\n" + "\n".join(left)
