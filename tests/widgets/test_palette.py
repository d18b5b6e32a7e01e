"""The measures of the pictures that need no program."""

from __future__ import annotations

import math

import pytest

from kafkalab import Journey, lab03
from kafkalab.widgets.views import palette, static_log_tape
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence


def pictures() -> list[str]:
    journey = Journey(lab03())
    found = []
    for step in journey.stops()[::6]:
        journey.step = step
        found += [Sequence(journey).svg(), LogTape(journey).svg()]
    return found


def test_no_picture_depends_on_how_python_adds_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.12 on `sum` of floats rounds once, as `fsum` does; up to 3.11 it rounds after each."""
    before = pictures()
    for module in (palette, static_log_tape):
        monkeypatch.setattr(module, "sum", math.fsum, raising=False)
    assert pictures() == before


def test_a_width_is_a_number_of_hundredths_of_the_size() -> None:
    assert [palette.width_of(text, 100) for text in ("il", "mW", "AB", "xyz")] == [64, 170, 136, 168]
