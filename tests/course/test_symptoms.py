"""Every symptom leads to a cell and a command that are there; the page is what the notebooks and the atlas say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from kafkalab.course import symptoms
from kafkalab.course.symptoms import PAGE, SYMPTOMS, command, heading, page, shows
from kafkalab.protocol.errors import Error
from kafkalab.reference.error_atlas import FOLDER

LABS_WITH_A_SYMPTOM = set(range(14))
PUBLIC = json.loads(Path(__file__).with_name("public_symptoms.json").read_text(encoding="utf-8"))
"""Public reports, written down before the page was changed for them: their words, and what one searches for."""


def page_of(root: Path, symptom: symptoms.Symptom) -> str:
    """Return the page with this symptom alone."""
    with patch.object(symptoms, "SYMPTOMS", (symptom,)):
        return page(root)


def test_the_page_is_up_to_date(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == page(root), "run `kafkalab build-labs`"


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.seen)
def test_each_cell_command_and_error_exists(root: Path, symptom: symptoms.Symptom) -> None:
    assert heading(root, symptom.lab, symptom.cell)
    whole = command(root, symptom)
    assert whole.split()[0].endswith((".sh", "kafkalab"))
    assert symptom.command.removeprefix("kafka-transactions.sh ... ") in whole
    assert [name for name in symptom.errors if not (root / FOLDER / f"{name}.klab").exists()] == []


def test_every_lab_has_a_symptom() -> None:
    assert {symptom.lab for symptom in SYMPTOMS} == LABS_WITH_A_SYMPTOM


def test_a_cell_or_a_command_that_is_not_there_is_an_error(root: Path) -> None:
    with pytest.raises(ValueError, match="lab 5 has no cell nowhere"):
        heading(root, 5, "nowhere")
    with pytest.raises(ValueError, match=r"lab 4 names no command 'kafka-nothing.sh'"):
        command(root, replace(SYMPTOMS[0], command="kafka-nothing.sh"))
    with pytest.raises(ValueError, match=r"bug_list\.py has no KAFKA-1"):
        page_of(root, replace(SYMPTOMS[0], bugs=("KAFKA-1",)))


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public["search"])
def test_one_search_with_the_words_of_a_public_report_leads_to_the_right_symptom(
    root: Path, public: dict[str, str]
) -> None:
    text = (root / PAGE).read_text(encoding="utf-8")
    place = text.lower().find(public["search"].lower())
    assert place >= 0, f"the page never says {public['search']}"
    above = text[: text.index("\n", place)]
    assert above.rpartition("\n## ")[2].partition("\n")[0] == public["row"]


def test_twenty_public_reports_were_written_down() -> None:
    assert len({public["source"] for public in PUBLIC}) == len(PUBLIC) == 20


def test_an_error_is_looked_up_in_texts_and_outputs_but_not_in_answers(root: Path) -> None:
    assert dict(shows(root, Error.OUT_OF_ORDER_SEQUENCE_NUMBER))[1] == "The request is lost"
    assert 2 not in dict(shows(root, Error.PRODUCER_FENCED))  # a state chart of lab 2 names it, and nobody meets it
    assert list(shows(root, Error.DUPLICATE_SEQUENCE_NUMBER)) == []
    assert symptoms.PRODUCTION == "production"
