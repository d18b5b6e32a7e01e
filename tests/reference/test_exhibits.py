"""The collections in a notebook: each entry opens its run at the step that decides, and says what is to be seen."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from kafkalab import error_gallery, museum, rule_gallery
from kafkalab.course.collection_notebooks import COLLECTIONS, look_up, notebook, refresh_collections, tables
from kafkalab.course.navigation import START
from kafkalab.grading.builder import LABS, SOLUTIONS, read
from kafkalab.reference import gallery
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import MEANING
from kafkalab.reference.exhibits import bug_exhibits, error_exhibits, rule_exhibits
from kafkalab.reference.gallery import stack
from kafkalab.reference.rule_matrix import EXPECTED
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.sequence import Sequence

LABEL = re.compile(r"\| \[([^\]]+)\]\(#show:([^)]+)\) \| (.+?) \|")


def test_every_bug_rule_and_error_with_a_run_has_its_place() -> None:
    assert {e.key for e in bug_exhibits()} == {bug.number for bug in BUGS}
    assert [e.title for e in rule_exhibits()] == sorted(
        [rule.name for rule in EXPECTED], key=[e.title for e in rule_exhibits()].index
    )
    assert {e.key for e in error_exhibits()} == {error.name for error in MEANING}


@pytest.mark.parametrize("exhibit", [*bug_exhibits(), *rule_exhibits()], ids=lambda e: e.key)
def test_two_runs_part_and_the_cursor_stands_there_or_where_the_right_one_is_wrong(exhibit: Any) -> None:
    words, picture = exhibit.show()
    assert isinstance(picture, Compare)
    assert picture.apart >= 0, "the runs are the same to their end"
    assert picture.rows[picture.row][2] == 0, "the row in which the cursor stands differs"
    assert max(picture.rows[picture.row][:2]) >= picture.apart
    labels = [label for label, _ in words]
    assert labels[:3] in (["What happens", "The cure", "Look at"], ["The rule", "What happens", "Look at"])
    assert all(text.endswith((".", ".)")) and ".." not in text for _, text in words)


@pytest.mark.parametrize("exhibit", rule_exhibits(), ids=lambda e: e.key)
def test_a_rule_says_which_finding_shows_without_it(exhibit: Any) -> None:
    words, picture = exhibit.show()
    assert [r for r in picture.check()[0]["results"] if any(f["policy"] == "forbidden" for f in r["findings"])] == []
    assert dict(words)["Look at"].startswith(f"Without it, {exhibit.group.removeprefix('without it: ')}: ")
    assert "see the sign" not in dict(words)["Look at"]


@pytest.mark.parametrize("exhibit", error_exhibits(), ids=lambda e: e.key)
def test_an_error_is_shown_at_the_answer_that_says_it(exhibit: Any) -> None:
    words, picture = exhibit.show()
    assert isinstance(picture, Sequence)
    event = picture.payload["events"][picture.step]
    assert event["kind"] == "send"
    assert picture.payload["frames"][event["frame"]]["error"] == exhibit.key
    assert picture.step in picture.journey.stops()
    assert f"{event['frame']}: {event['node']} answers " in dict(words)["Look at"]


def test_another_choice_replaces_the_picture_and_closes_the_one_before() -> None:
    shown = museum()
    before = shown.picture
    assert tuple(shown.children) == (shown.chooser, before)
    shown.show("KAFKA-5494")
    assert tuple(shown.children) == (shown.chooser, shown.picture)
    assert shown.picture is not before
    assert before.comm is None, "closed"
    assert "remembered" in shown.text()
    with pytest.raises(ValueError, match="no entry 'KAFKA-1'; there are KAFKA-5494, "):
        shown.show("KAFKA-1")
    assert shown.chooser.chosen == "KAFKA-5494"
    with pytest.raises(ValueError, match="no entry 'x'"):
        museum("x")


@pytest.mark.parametrize("make", [museum, rule_gallery, error_gallery])
def test_without_a_kernel_both_parts_are_one_picture(make: Any) -> None:
    shown = make()
    data = shown._repr_mimebundle_()[0]
    assert ET.fromstring(data["image/svg+xml"]).tag.endswith("svg")
    assert data["text/plain"] == shown.text() == str(shown)
    assert shown.picture.text() in shown.text()
    with pytest.raises(ValueError, match="viewBox"):
        stack(["<svg></svg>"])


def test_without_the_stored_runs_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gallery, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="install kafkalab from a checkout"):
        museum()


@pytest.mark.parametrize("one", COLLECTIONS, ids=lambda c: c.name)
def test_every_name_in_a_notebooks_tables_chooses_and_none_is_missing(one: Any, root: Path) -> None:
    found = [row for text in tables(one) for row in LABEL.findall(text)]
    assert [key for key, _, _ in found] == [link for _, link, _ in found] == [e.key for e in one.exhibits()]
    assert all(len(said) > 20 for _, _, said in found)
    assert refresh_collections(root) == [], "run `kafkalab build-labs`"
    assert (root / LABS / f"{one.name}.ipynb").exists()
    start = "\n".join("".join(cell["source"]) for cell in read(root / SOLUTIONS / "00_start.ipynb")["cells"])
    assert f"[{one.title}]({one.name}.ipynb)" in look_up() in start


def test_a_new_notebook_has_no_outputs_and_one_that_is_there_keeps_them(tmp_path: Path) -> None:
    assert refresh_collections(tmp_path) == []
    (tmp_path / SOLUTIONS).mkdir(parents=True)
    assert refresh_collections(tmp_path) == []
    (tmp_path / SOLUTIONS / START).write_text("{}")
    assert len(refresh_collections(tmp_path)) == len(COLLECTIONS)
    assert refresh_collections(tmp_path) == []
    path = tmp_path / SOLUTIONS / f"{COLLECTIONS[0].name}.ipynb"
    path.write_text(path.read_text().replace('"outputs": []', '"outputs": [{"output_type": "stream"}]', 1))
    assert notebook(COLLECTIONS[0], tmp_path)["cells"][1]["outputs"] == [{"output_type": "stream"}]
