"""The glossary explains every term in both languages; its page and its links are made from one source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkalab.course.glossary import page, terms
from kafkalab.grading.landing import GLOSSARY

TERMS_AT_LEAST = 75


def test_the_page_is_up_to_date(root: Path) -> None:
    assert (root / GLOSSARY).read_text(encoding="utf-8") == page(), "run `kafkalab build-labs`"
    headings = re.findall(r"^### (.+)$", page(), re.M)
    assert headings == [term.heading for term in terms()]
    assert [heading.replace(" ", "-") for heading in headings] == [term.anchor for term in terms()]


def test_every_term_has_one_sentence_in_each_language() -> None:
    names = [term.name.lower() for term in terms()]
    assert len(names) == len(set(names)) >= TERMS_AT_LEAST
    for term in terms():
        assert re.fullmatch(r"[^.]+(\.(?=\w|timeout)[^.]*)*\.", term.english), term.english
        assert term.chinese.endswith("。"), term.chinese
        assert term.chinese.count("。") == 1
        assert re.search(r"[\u4e00-\u9fff]", term.chinese), term.chinese


@pytest.mark.parametrize("name", ["transactional.id", "marker", "fencing", "zombie", "high watermark", "frame"])
def test_the_words_of_the_labs_are_in_the_glossary(name: str) -> None:
    (term,) = (term for term in terms() if term.heading == name)
    assert f"### {name}\n\n" in page()
    assert term.link == f"../docs/glossary.md#{name.replace(' ', '-')}"
