"""The page about the newest release says what tables, runs and recordings say, and the pages agree on the versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.protocol.api import NEWEST, REFERENCES, USUAL, Api
from kafkalab.protocol.messages.registry import ALL, BY_NAME
from kafkalab.reference.changes_page import PAGE, text_of
from kafkalab.reference.protocol_page import PAGE as PROTOCOL
from tests.kafka.script import RECORDED


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return text_of(root)


def test_the_page_is_what_the_code_and_the_recordings_say_today(root: Path, text: str) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == text, "run `kafkalab changes`"


def test_the_page_has_the_changes_that_are_known(text: str) -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert ["ApiVersions", "5", "`cluster_id`, `node_id`", "as before"] in rows
    assert ["DeleteGroups", "3", "as before", "`results.error_message`"] in rows
    assert ["TxnOffsetCommit", "ILLEGAL_GENERATION", "GROUP_ID_NOT_FOUND"] in [row[:3] for row in rows]
    assert ["TxnOffsetCommit", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"] in [row[:3] for row in rows]
    assert "KAFKA-20452" in [row[1] for row in rows if len(row) == 3]


def test_every_page_names_the_versions_that_are_recorded(root: Path) -> None:
    names = list(REFERENCES.values())
    of_kafka_4 = {path.name.partition("-")[0] for path in RECORDED.glob("4*.json")}
    assert of_kafka_4 == set(names)
    said = (root / "docs" / "like-kafka.md").read_text(encoding="utf-8").replace("\n", " ")
    assert f"Apache Kafka {' and '.join(names)}" in said
    for page in (PROTOCOL, Path("docs") / "compared.md"):
        assert all(name in (root / page).read_text(encoding="utf-8") for name in names), page


@pytest.mark.parametrize("api", ALL, ids=lambda api: api.name)
def test_a_version_that_came_later_is_known_to_the_later_release_only(api: Api) -> None:
    for release, first in api.since.items():
        assert first in api.versions
        assert first in api.known_to(release)
        assert next(r for r in REFERENCES if first in api.known_to(r)) == release
    assert api.known_to(NEWEST) == api.versions
    assert api.offered_by(NEWEST) == api.offered


def test_labs_speak_the_versions_of_the_first_release() -> None:
    assert BY_NAME["TxnOffsetCommit"].known_to(USUAL)[-1] == 5
    assert BY_NAME["AddPartitionsToTxn"].offered_by(NEWEST)[-1] == 3
