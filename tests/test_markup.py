"""HTML from elements: nothing that is put in can be code of the page, and nothing is escaped twice."""

from __future__ import annotations

import pytest

from kafkalab.markup import Markup, each, element, join, page, table, with_code

BAD = "<script>'\"&"
SAFE = "&lt;script&gt;&#x27;&quot;&amp;"


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (element("p", BAD), f"<p>{SAFE}</p>"),
        (element("p", element("b", BAD), 1), f"<p><b>{SAFE}</b>1</p>"),
        (element("a", "x", href=BAD, class_="y", title=""), f'<a href="{SAFE}" class="y">x</a>'),
        (each("td", [BAD, 0], scope="col"), f'<td scope="col">{SAFE}</td><td scope="col">0</td>'),
        (with_code(f"`{BAD}` or `x"), f"<code>{SAFE}</code> or `x"),
        (join([BAD, Markup("<br>")]), f"{SAFE}<br>"),
    ],
)
def test_what_is_put_in_is_escaped_once(made: Markup, text: str) -> None:
    assert isinstance(made, Markup)
    assert made == text


def test_a_text_around_an_element_is_no_markup_anymore() -> None:
    assert element("p", f"{element('b', 1)}!") == "<p>&lt;b&gt;1&lt;/b&gt;!</p>"


def test_a_table_has_a_cell_for_each_value_and_keeps_cells() -> None:
    made = table(["a", BAD], [[1, element("td", BAD, class_="number")]], "words")
    head = f'<thead><tr><th scope="col">a</th><th scope="col">{SAFE}</th></tr></thead>'
    rows = f'{head}<tbody><tr><td>1</td><td class="number">{SAFE}</td></tr></tbody>'
    assert made == f'<div class="wide"><table><caption>words</caption>{rows}</table></div>'


def test_a_page_is_in_both_themes_and_names_nothing_else() -> None:
    made = page(BAD, element("h1", BAD))
    assert made.count(SAFE) == 2
    assert "light-dark(" in made
    assert BAD not in made
    assert not any(word in made for word in ("http", "src=", "href="))
