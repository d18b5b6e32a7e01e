"""The state diagram: every arrow of the table is in the picture, and what is committed is what dot makes of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable

import graphviz
import pytest

from kafkalab.broker.transaction_coordinator.transition_table import TABLES, edges
from kafkalab.widgets.payload import state_diagram as statechart

SVG = "{http://www.w3.org/2000/svg}"


def wanted(version: str) -> set[str]:
    """The ids of all six states and of the arrows of the table."""
    return {f"s_{s}" for s in statechart.ORDER} | {f"e_{a}__{b}" for a, _, b in edges(version)}


@pytest.mark.parametrize("version", TABLES)
def test_the_committed_picture_shows_the_table(version: str):
    picture = statechart.committed(version)
    assert statechart.ids(picture) == wanted(version)
    titles = {t.text for t in ET.fromstring(picture).iter(f"{SVG}title")}
    for a, question, b in edges(version):
        assert any(t and t.startswith(f"{a} → {b}: ") and question in t for t in titles), (a, question, b)


@pytest.mark.parametrize("version", TABLES)
def test_dot_makes_the_committed_picture(version: str, program: Callable[[str], str]):
    program("dot")
    assert statechart.ids(statechart.draw(edges(version))) == statechart.ids(statechart.committed(version))


@pytest.mark.parametrize("version", TABLES)
def test_the_picture_is_flat_and_needs_nothing_from_outside(version: str):
    picture = statechart.committed(version)
    root = ET.fromstring(picture)
    _, _, width, height = (float(n) for n in root.get("viewBox", "").split())
    assert width < 560
    assert height < 210
    assert "href" not in picture
    assert len(picture) < 12_000


def test_questions_between_the_same_states_share_an_arrow():
    source = statechart.source([("Ongoing", "transaction timeout", "PrepareAbort"), ("Ongoing", "ask", "PrepareAbort")])
    assert source.count('id="e_Ongoing__PrepareAbort"') == 1
    assert 'label="timeout · ask"' in source


def test_without_dot_the_committed_picture_keeps_only_the_given_arrows(monkeypatch: pytest.MonkeyPatch):
    def absent(*_: object, **__: object) -> str:
        raise graphviz.ExecutableNotFound(["dot"])

    monkeypatch.setattr(graphviz.Source, "pipe", absent)
    picture = statechart.draw([("Empty", "AddPartitionsToTxn", "Ongoing"), ("Empty", "jump", "CompleteCommit")])
    assert {i for i in statechart.ids(picture) if i.startswith("e_")} == {"e_Empty__Ongoing"}
    assert "not in the picture: Empty → CompleteCommit" in picture


def test_an_unknown_version_is_refused():
    with pytest.raises(ValueError, match="there are TV1, TV2"):
        statechart.committed("TV3")
