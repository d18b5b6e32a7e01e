"""The labs lead to each other and to the glossary; what is generated is generated again without a change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkalab.course.glossary import Term, glossary, terms
from kafkalab.course.labs import COURSE
from kafkalab.course.measures import measure_lab
from kafkalab.course.navigation import GLOSSED, link_terms, refresh_ways, way, with_way
from kafkalab.grading.builder import SOLUTIONS, read

LAB_LINKS_AT_LEAST = 8


def texts(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == "markdown"]


def test_every_lab_says_at_its_head_and_foot_where_it_stands(root: Path) -> None:
    there = [lab for lab in COURSE if (root / SOLUTIONS / f"{lab.name}.ipynb").exists()]
    for lab in there:
        first, *_, last = texts(root / SOLUTIONS / f"{lab.name}.ipynb")
        line, time = way(lab, there), measure_lab(read(root / SOLUTIONS / f"{lab.name}.ipynb")).time
        assert last.splitlines()[-1] == line, "run `kafkalab build-labs`"
        assert first.splitlines()[-1] == way(lab, there, time), "run `kafkalab build-labs`"
        targets = re.findall(r"\]\(([^)]+)\)", line)
        assert [target for target in targets if not (root / SOLUTIONS / target).exists()] == []
    assert refresh_ways(root) == [], "run `kafkalab build-labs`"


def test_the_first_lab_has_no_lab_before_it_and_the_last_none_behind_it() -> None:
    first, *_, last = labs = [COURSE[0], COURSE[1], COURSE[3]]
    assert way(first, labs) == (
        "[All labs](00_start.ipynb) · **1 of 3** · [The idempotent producer →](01_idempotent_producer.ipynb)"
    )
    assert way(last, labs) == (
        "[← The idempotent producer](01_idempotent_producer.ipynb) · **3 of 3** · [All labs](00_start.ipynb)"
    )
    assert way(last, labs, "5 min") == way(last, labs).replace("**3 of 3**", "**3 of 3**: 5 min")
    for line in (way(first, labs), way(last, labs, "5 min")):
        assert with_way(with_way("# A lab\n\nText.", line), line) == f"# A lab\n\nText.\n\n{line}"


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("A **marker** is one.", 'A [**marker**](../docs/glossary.md#marker) is one.'),
        ("Two markers, a marker.", 'Two [markers](../docs/glossary.md#marker), a marker.'),
        ("`marker` [a](x.md#marker), marker", '`marker` [a](x.md#marker), [marker](../docs/glossary.md#marker)'),
        ("# A marker\n\nThe MK.", '# A marker\n\nThe [MK](../docs/glossary.md#marker).'),
        ("markers-to-be, marker.id, remarker", "markers-to-be, marker.id, remarker"),
    ],
)
def test_a_term_is_linked_where_it_is_used_first(text: str, linked: str) -> None:
    marker = Term(name="marker", other="MK", section="", english="One.", chinese="")
    later = "marker" if linked != text else '[marker](../docs/glossary.md#marker)'
    assert link_terms([text, "marker"], [marker]) == [linked, later]
    assert link_terms(link_terms([text, "marker"], [marker]), [marker]) == link_terms([text, "marker"], [marker])


def test_of_two_terms_that_overlap_the_longer_one_is_linked() -> None:
    known = [Term(name=name, other="", section="", english="One.", chinese="") for name in ("epoch", "leader epoch")]
    assert link_terms(["The leader epoch, an epoch."], known) == [
        'The [leader epoch](../docs/glossary.md#leader-epoch), an [epoch](../docs/glossary.md#epoch).'
    ]


def test_every_link_into_the_glossary_names_a_term(root: Path) -> None:
    known = {term.anchor for term in terms()}
    assert len(known) == len(terms())
    for path in sorted((root / SOLUTIONS).glob("[0-9]*.ipynb")):
        text = "\n".join(texts(path))
        found = re.findall(r"docs/glossary\.md#([^)\s]+)", text)
        assert set(found) <= known
        assert len(found) == len(set(found)) == len(GLOSSED.findall(text))
        few = f"{path.name}: build-labs has linked {len(found)} terms of the glossary; use {LAB_LINKS_AT_LEAST}"
        assert len(found) >= LAB_LINKS_AT_LEAST or path.stem not in [lab.name for lab in COURSE], few


def test_the_search_box_finds_a_term_by_each_of_its_languages() -> None:
    assert [t.name for t in glossary("隔离").found] == ["isolation level", "fencing"]
    assert "fencing" in [t.name for t in glossary("Older Instance").found]
    assert str(glossary("no such thing")) == "No term of the glossary has this text."
    page = glossary()._repr_html_()
    assert page.count("<tr>") == len(terms())
    assert "<input" in page
    assert "`" not in page
