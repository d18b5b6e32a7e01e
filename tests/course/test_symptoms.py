"""Every symptom leads to a cell and a command that are there; the page is what the notebooks and the atlas say."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.course import symptoms
from kafkalab.course.symptoms import DUMP, PAGE, SYMPTOMS, Symptom, command, heading, page, shows
from kafkalab.protocol.errors import Error
from kafkalab.reference.error_atlas import FOLDER

LABS_WITH_A_SYMPTOM = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12}


def test_the_page_is_up_to_date(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == page(root), "run `kafkalab build-labs`"


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.seen)
def test_each_cell_command_and_error_exists(root: Path, symptom: Symptom) -> None:
    assert heading(root, symptom.lab, symptom.cell)
    whole = command(root, symptom)
    assert whole.split()[0].endswith((".sh", "kafkalab"))
    assert symptom.command.removeprefix("kafka-transactions.sh ... ") in whole
    assert [error for error in symptom.errors if not (root / FOLDER / f"{error.name}.klab").exists()] == []


def test_every_lab_has_a_symptom() -> None:
    assert {symptom.lab for symptom in SYMPTOMS} == LABS_WITH_A_SYMPTOM


def test_a_cell_or_a_command_that_is_not_there_is_an_error(root: Path) -> None:
    with pytest.raises(ValueError, match="lab 5 has no cell nowhere"):
        heading(root, 5, "nowhere")
    with pytest.raises(ValueError, match="lab 5 names no command 'kafka-nothing.sh'"):
        command(root, Symptom("", "", 5, "gaps-one", "kafka-nothing.sh"))


def test_an_error_is_looked_up_in_texts_and_outputs_but_not_in_answers(root: Path) -> None:
    assert dict(shows(root, Error.OUT_OF_ORDER_SEQUENCE_NUMBER))[1] == "The request is lost"
    assert 2 not in dict(shows(root, Error.PRODUCER_FENCED))  # a state chart of lab 2 names it, and nobody meets it
    assert list(shows(root, Error.DUPLICATE_SEQUENCE_NUMBER)) == []
    assert symptoms.PRODUCTION == "production"
    assert DUMP.startswith("kafka-dump-log.sh")
