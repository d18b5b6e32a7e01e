"""Every question that learners bring has a cell that settles it, and the page of the labs says which."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kafkalab.course.labs import COURSE
from kafkalab.course.questions import NEEDED, ON_A_PAGE, OUTSIDE, PAGE, QUESTIONS, SETTLED_IN, lacking, page, places
from kafkalab.grading.builder import SOLUTIONS, as_text
from kafkalab.grading.landing import plain


def test_the_page_of_the_labs_is_what_the_builder_makes(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == page(root), "run `kafkalab build-labs`"


def test_every_needed_question_whose_lab_is_there_is_settled(root: Path) -> None:
    there = {lab.number for lab in COURSE if (root / SOLUTIONS / f"{lab.name}.ipynb").exists()}
    late = {n: f"lab {SETTLED_IN[n]} is to settle it" for n in lacking(root) if SETTLED_IN[n] in there}
    assert late == {}, "give a cell of the lab the metadata {'kafkalab': {'questions': [...]}}"


def test_every_needed_question_has_a_lab() -> None:
    assert set(SETTLED_IN) == set(NEEDED) <= set(QUESTIONS)
    assert set(range(1, 39)) <= set(QUESTIONS) <= set(range(1, 54))
    assert all(text.endswith("?") for text in QUESTIONS.values())


def test_the_table_has_a_row_for_each_question_and_its_links_lead_to_headings(root: Path) -> None:
    text = page(root)
    assert len(re.findall(r"^\| \d+ \| .*\? \| .* \|$", text, re.M)) == len(QUESTIONS)
    for found in places(root).values():
        for place in found:
            notebook = (root / SOLUTIONS / f"{place.lab}.ipynb").read_text(encoding="utf-8")
            assert f'"id": "{place.cell}"' in notebook


def test_a_question_that_no_lab_can_run_has_its_section_on_a_page_that_names_sources(root: Path) -> None:
    text = (root / OUTSIDE).read_text(encoding="utf-8")
    for number, heading in ON_A_PAGE.items():
        section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        assert section.count("](https://") >= 2 or number == 48
        assert "](https://" in section
        assert "](../labs/" in section or "](tap.md)" in section
        anchor = f"docs/outside-this-lab.md#{heading.lower().replace(' ', '-')}"
        assert f"| {number} | {QUESTIONS[number]} | not shown in a lab: [{heading}](../{anchor}) |" in page(root)
    assert "outside-this-lab" not in page(root, of_a_class=True)


def cell(name: str, source: str, kind: str = "markdown", **metadata: Any) -> dict[str, Any]:
    return {"cell_type": kind, "id": name, "metadata": metadata, "source": [source]}


@pytest.fixture
def labs(tmp_path: Path) -> Path:
    (tmp_path / SOLUTIONS).mkdir(parents=True)
    cells = [
        cell("a", "# A `lab`\n\nWhat Q2 asks, and Q19."),
        cell("b", "no heading here", kafkalab={"questions": [6]}),
        cell("c", "## [Exercise](x.ipynb)"),
        cell("d", 'check("L3.E1", e1)', "code"),
        cell("e", "FAQ20 and Q2x are other words", "raw"),
    ]
    (tmp_path / SOLUTIONS / "03_x.ipynb").write_text(as_text({"cells": cells, "metadata": {}}))
    return tmp_path


def test_a_cell_settles_what_its_metadata_its_text_or_its_exercise_says(labs: Path) -> None:
    found = {number: [(p.cell, p.heading) for p in where] for number, where in places(labs).items() if where}
    assert found == {2: [("a", "A lab")], 6: [("b", "A lab")], 19: [("a", "A lab")], 24: [("d", "Exercise")]}
    assert lacking(labs) == tuple(n for n in NEEDED if n not in found)
    assert "| 19 | Does idempotence mean that there are no duplicates, ever? | 03 [A lab](03_x" in page(labs)
    assert "| 38 | " in page(labs)
    assert page(labs).count("a later lab") == len(QUESTIONS) - 4 - len(ON_A_PAGE)


def test_a_question_that_does_not_exist_is_refused_with_its_cell(labs: Path) -> None:
    (labs / SOLUTIONS / "04_y.ipynb").write_text(as_text({"cells": [cell("z", "Q99")], "metadata": {}}))
    with pytest.raises(ValueError, match="cell z names question 99; there are 1 to "):
        places(labs)


def test_a_heading_in_a_link_has_no_signs() -> None:
    assert plain("The `log` of **b1** | [here](x.md)") == "The log of b1  here"
