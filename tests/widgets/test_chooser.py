"""The chooser: one entry is chosen, by key or by the arrows, and its words are told once."""

from __future__ import annotations

import pytest

from kafkalab.widgets.views.chooser import Chooser, break_lines

ENTRIES = [("fruit", "fig", "a fig"), ("fruit", "plum", ""), ("else", "oak", "a tree")]


def chooser(asked: list[str]) -> Chooser:
    def tell(key: str) -> list[tuple[str, str]]:
        asked.append(key)
        return [("It is", f"{key}.")]

    return Chooser("A thing", ENTRIES, tell)


def test_the_arrows_and_a_key_choose_and_each_choice_is_told_once() -> None:
    asked: list[str] = []
    view = chooser(asked)
    assert view.text() == "A thing: 1 of 3 · fig: a fig\n  It is: fig."
    for action, target in (("right", ""), ("end", ""), ("left", ""), ("home", ""), ("choose", "oak")):
        view.press(action, target)
    assert asked == ["fig", "plum", "oak", "plum", "fig", "oak"]
    assert view.words == [["It is", "oak."]]
    assert view.line() == "3 of 3 · oak: a tree"
    assert "plum:" not in chooser([]).text()


@pytest.mark.parametrize(
    ("action", "target", "why"),
    [
        ("left", "", "this is the first entry"),
        ("choose", "elm", "no entry 'elm'; there are fig, plum, oak"),
        ("jump", "", "no action 'jump'; there are choose, left"),
    ],
)
def test_what_cannot_be_chosen_changes_nothing(action: str, target: str, why: str) -> None:
    asked: list[str] = []
    view = chooser(asked)
    with pytest.raises(ValueError, match=why):
        view.press(action, target)
    assert (view.chosen, asked) == ("fig", ["fig"])


def test_there_is_something_to_choose() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Chooser("A thing", [], lambda key: [])


def test_words_are_broken_into_lines_that_fit() -> None:
    lines = break_lines("one two three four five six seven eight nine ten", 100)
    assert " ".join(lines) == "one two three four five six seven eight nine ten"
    assert 2 < len(lines) < 8
    assert break_lines("averyveryverylongword", 10) == ["averyveryverylongword"]
