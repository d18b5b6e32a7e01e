"""The page of what old articles say is what lab 93 says, and each row leads to a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkalab.course.old_articles import PAGE, page


def test_the_page_is_what_the_builder_makes(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == page(root), "run `kafkalab build-labs`"


def test_each_row_says_what_is_true_and_leads_to_a_run(root: Path) -> None:
    rows = [line.split(" | ") for line in page(root).splitlines() if re.match(r"\| [^:|]*[^ ]", line)]
    rows = [row for row in rows if row[0] != "| the article says"]
    assert len(rows) == 19
    for said, true, run in rows:
        assert said.strip("| ")
        assert true.strip()
        assert re.fullmatch(r"\[.+\]\(\.\./labs/\d\w+\.ipynb(#cell-id=[\w-]+)?\) \|", run), run


def test_a_notebook_without_tables_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "labs" / "solutions"
    folder.mkdir(parents=True)
    (folder / "93_old_articles.ipynb").write_text('{"cells": []}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"93_old_articles\.ipynb has no cell table-0"):
        page(tmp_path)
