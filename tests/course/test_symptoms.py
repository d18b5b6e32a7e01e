"""Every symptom leads to a cell and a command that are there; the page is what the notebooks and the atlas say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kafkalab.course import symptoms
from kafkalab.course.symptom_list import SYMPTOMS, Symptom
from kafkalab.course.symptoms import PAGE, command, heading, page, shows
from kafkalab.protocol.errors import Error
from kafkalab.reference.error_atlas import FOLDER

LABS_WITH_A_SYMPTOM = {*range(16), 17}
INDEX_LINK = re.compile(r"\[([^\]]+)\]\(#[^)]+\)")
PUBLIC: list[dict[str, Any]] = json.loads(Path(__file__).with_name("public_symptoms.json").read_text(encoding="utf-8"))
"""Public reports, quoted before the page was changed for them: their words, and what one searches for."""
SEARCHES = [(word, str(public["row"])) for public in PUBLIC for word in public["search"]]


def page_of(root: Path, *chosen: Symptom) -> str:
    """Return the page with these symptoms alone."""
    with patch.object(symptoms, "SYMPTOMS", chosen):
        return page(root)


def first_hit(text: str, word: str) -> str:
    """Return the symptom to which a search for the word leads; "" if the word is nowhere on the page.

    It is the section of the first hit, or, if the first hit is in the index, the title of the link that it is in.
    """
    if (place := text.lower().find(word.lower())) < 0:
        return ""
    if place > text.index("\n## "):
        return text[: text.index("\n", place)].rpartition("\n## ")[2].partition("\n")[0]
    return next((link[1] for link in INDEX_LINK.finditer(text) if link.start(1) <= place < link.end(1)), "the top")


def test_the_page_is_up_to_date(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == page(root), "run `kafkalab build-labs`"


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.seen)
def test_each_cell_command_and_error_exists(root: Path, symptom: Symptom) -> None:
    assert symptom.lab is None or heading(root, symptom.lab, symptom.cell)
    whole = command(root, symptom)
    assert whole.split()[0].endswith((".sh", "kafkalab"))
    assert symptom.command.removeprefix("kafka-transactions.sh ... ") in whole
    assert [name for name in symptom.errors if not (root / FOLDER / f"{name}.klab").exists()] == []


def test_every_lab_has_a_symptom() -> None:
    assert {symptom.lab for symptom in SYMPTOMS} - {None} == LABS_WITH_A_SYMPTOM


def test_a_cell_or_a_command_that_is_not_there_is_an_error(root: Path) -> None:
    with pytest.raises(ValueError, match="lab 5 has no cell nowhere"):
        heading(root, 5, "nowhere")
    with pytest.raises(ValueError, match=r"neither lab 4 nor the error guide names a command 'kafka-nothing.sh'"):
        command(root, replace(SYMPTOMS[0], command="kafka-nothing.sh"))
    with pytest.raises(ValueError, match=r"bug_list\.py has no KAFKA-1"):
        page_of(root, replace(SYMPTOMS[0], bugs=("KAFKA-1",)))


@pytest.mark.parametrize(("word", "row"), SEARCHES, ids=lambda value: value)
def test_one_search_with_the_words_of_a_public_report_leads_to_the_right_symptom(
    root: Path, word: str, row: str
) -> None:
    assert first_hit((root / PAGE).read_text(encoding="utf-8"), word) == row


def test_a_search_is_lost_without_its_symptom(root: Path) -> None:
    for word, row in SEARCHES:
        text = page_of(root, *(one for one in SYMPTOMS if one.seen != row))
        assert first_hit(text, word) != row


def test_a_hit_in_the_index_counts_for_its_own_link_only() -> None:
    text = "Read on.\n| a | [`Lag`](#lag) · [Gaps](#gaps) |\n\n## `Lag`\n\nstuck\n\n## Gaps\n\nphantom\n"
    assert [first_hit(text, word) for word in ("lag", "gaps", "phantom", "read on", "x")] == [
        "`Lag`",
        "Gaps",
        "Gaps",
        "the top",
        "",
    ]


def test_at_least_twenty_public_reports_are_quoted() -> None:
    assert len({public["source"] for public in PUBLIC}) == len(PUBLIC) >= 20
    assert all(public["words"] and public["search"] for public in PUBLIC)


def test_the_index_names_each_symptom_once_in_the_order_of_the_page(root: Path) -> None:
    top, _, rest = (root / PAGE).read_text(encoding="utf-8").partition("\n## ")
    titles = [section.partition("\n")[0] for section in rest.split("\n## ")]
    assert [link[1] for link in INDEX_LINK.finditer(top)] == [one.seen for one in SYMPTOMS] == titles[:-1]
    assert len({one.seen for one in SYMPTOMS}) == len(SYMPTOMS)


def test_a_symptom_that_no_cell_shows_says_so(root: Path) -> None:
    without = [one for one in SYMPTOMS if one.lab is None]
    assert {one.seen for one in without} >= {"`TransactionAbortableException`"}
    with pytest.raises(ValueError, match="has no cell and does not say so"):
        page_of(root, replace(without[0], unshown=""))
    text = page_of(root, without[0])
    assert "* **Shown in:** No lab cell gets this error; stored runs" in text


def test_an_error_is_looked_up_in_texts_and_outputs_but_not_in_answers(root: Path) -> None:
    assert dict(shows(root, Error.OUT_OF_ORDER_SEQUENCE_NUMBER))[1] == "The request is lost"
    assert 2 not in dict(shows(root, Error.PRODUCER_FENCED))  # a state chart of lab 2 names it, and nobody meets it
    assert list(shows(root, Error.DUPLICATE_SEQUENCE_NUMBER)) == []
    assert symptoms.PRODUCTION == "production"
