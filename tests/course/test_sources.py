"""Check that each item of the source texts has cells that are there, have code, and are run by the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.course.questions import page as page_of_labs
from kafkalab.course.sources import ITEMS, PAGE, TEXTS, cells, page
from kafkalab.grading.builder import LABS, SOLUTIONS, read
from tests.labs.test_every_lab import NEEDS_SPARK, WITH_CODE

PLACES = sorted({place for item in ITEMS for place in item.shown})
NOT_RUN = {"nbval-skip", "nbval-raises-exception", "raises-exception"}


def test_the_page_is_what_the_builder_makes(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == page(root), "run `kafkalab build-labs`"


def test_each_of_the_fifty_items_names_its_texts_and_its_cells() -> None:
    assert len(ITEMS) == len({item.says for item in ITEMS}) == 50
    for item in ITEMS:
        assert item.shown
        assert set(item.texts.split()) <= {str(number) for number in range(1, len(TEXTS) + 1)}
        assert item.texts.split() == sorted(set(item.texts.split()))


@pytest.mark.parametrize("place", PLACES)
def test_each_named_cell_has_code_and_is_run_by_the_tests_of_the_notebooks(root: Path, place: str) -> None:
    shown = cells(root)[place]
    assert shown.cell["cell_type"] == "code"
    assert "".join(shown.cell["source"]).strip()
    assert shown.cell["outputs"], "a cell that shows nothing"
    assert NOT_RUN.isdisjoint(shown.cell["metadata"].get("tags", ()))
    name = f"{shown.notebook}.ipynb"
    assert name in WITH_CODE
    assert name not in NEEDS_SPARK
    assert (root / SOLUTIONS / name).is_file(), "nbval runs each notebook there"
    assert shown.cell["id"] in {cell["id"] for cell in read(root / LABS / name)["cells"]}


def test_a_link_leads_to_the_heading_before_the_cell(root: Path) -> None:
    assert cells(root)["05:copies"].link == (
        "[05 Every copy is lost](../labs/05_read_committed.ipynb#Every-copy-is-lost)"
    )
    assert page(root).count("#cell-id=copies-why") == 1


def test_a_cell_that_is_not_there_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalab.course.sources.cells", lambda _: {})
    with pytest.raises(ValueError, match="no notebook has the cell 10:names-three"):
        page(root)


def test_the_page_of_the_labs_links_it_but_not_in_the_folder_of_a_class(root: Path) -> None:
    assert "(../docs/sources.md)" in page_of_labs(root)
    assert "docs/sources.md" not in page_of_labs(root, of_a_class=True)
