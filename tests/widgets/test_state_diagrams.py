"""The state diagram: every arrow of the table is in the picture, and what is committed is what dot makes of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kafkalab.protocol.transition_tables.transaction import TABLES
from kafkalab.widgets.payload.state_diagrams import read_diagram, source
from kafkalab.widgets.payload.state_machines import machine

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("version", TABLES)
def test_the_picture_is_flat_and_needs_nothing_from_outside(version: str) -> None:
    picture = read_diagram(machine("coordinator", version))
    root = ET.fromstring(picture)
    _, _, width, height = (float(n) for n in root.get("viewBox", "").split())
    assert width < 560
    assert height < 210
    assert "href" not in picture
    assert len(picture) < 12_000


def test_questions_between_the_same_states_share_an_arrow() -> None:
    drawn = source(machine("coordinator", "TV1"))
    assert drawn.count('id="e_Ongoing__PrepareAbort"') == 1
    assert 'id="e_Ongoing__PrepareAbort" label="init · abort\\ntimeout"' in drawn
