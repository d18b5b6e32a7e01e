"""Every card of a lab that asks for a prediction knows its answer, and says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalab import Predict
from kafkalab.grading.builder import read, sources

ROOT = Path(__file__).parents[2]
LEAST_WORDS = 8
"""A reason is a sentence, not a word."""


def cards() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the literal arguments of each card of the labs that are sealed."""
    for path in sources(ROOT):
        for cell in read(path)["cells"]:
            if cell["cell_type"] != "code" or "sealed=" not in (source := "".join(cell["source"])):
                continue
            for call in [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]:
                if ast.unparse(call.func) == "Predict":
                    named = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
                    yield f"{path.stem} {cell['id']}", {"question": ast.literal_eval(call.args[0]), **named}


@pytest.mark.parametrize(("place", "arguments"), [pytest.param(*card, id=card[0]) for card in cards()])
def test_a_card_says_why(place: str, arguments: dict[str, Any]) -> None:
    card = Predict(**arguments)
    if card.kind == "sentence":
        card.press("answer", "one two three four five")
    elif card.choices:
        card.press("choose", next(iter(card.choices)))
        card.press("tell")
        assert card.truth in card.choices, place
    else:
        card.press("answer", "1")
        card.press("tell")
    assert card.truth, place
    assert len((card.because or card.truth).split()) >= LEAST_WORDS, place


def test_most_labs_have_a_card() -> None:
    assert len({place.split()[0] for place, _ in cards()}) >= 16
