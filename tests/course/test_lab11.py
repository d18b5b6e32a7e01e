"""Lab 11's exercises: the model answers pass under any seed, wrong answers get their hint."""

from __future__ import annotations

import pytest

from kafkalab.grading.check import check, question
from kafkalab.grading.seeds import VARIABLE
from tests.grading.told import told

pytestmark = pytest.mark.usefixtures("no_hints_given")


@pytest.mark.parametrize("seed", ["1", "2026"])
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L11.E1", [n + 1 for n in question("L11.E1")]) == "L11.E1 ✓ 4 of 4 predictions"


def test_each_misconception_gets_its_hint() -> None:
    assert told("L11.E1", question("L11.E1")).miss == "no marker"
