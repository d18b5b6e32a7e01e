"""The profiles side by side: the page is what the runs show, and the best known differences are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.protocol.profiles import PROFILES
from kafkalab.reference.profile_table import PAGE, as_markdown, profile_table

TABLE = profile_table()


def test_the_page_is_what_the_runs_show_today(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == as_markdown(TABLE), "run `kafkalab profiles`"


def test_every_question_is_put_to_every_profile() -> None:
    assert all(list(answers) == list(PROFILES) for answers in TABLE.values())


def test_every_two_profiles_differ() -> None:
    columns = [tuple(answers[p] for answers in TABLE.values()) for p in PROFILES]
    assert len(set(columns)) == len(PROFILES)


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("The batch before the newest is sent again", ["DUPLICATE_SEQUENCE_NUMBER", "NONE", "NONE", "NONE"]),
        (
            "The leader has no state of the producer, and its first sequence is 5",
            ["UNKNOWN_PRODUCER_ID", "UNKNOWN_PRODUCER_ID", "NONE", "NONE"],
        ),
        (
            "TxnOffsetCommit of a fenced producer",
            ["INVALID_PRODUCER_EPOCH", "NONE", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"],
        ),
        (
            "A transactional batch for a partition that was never added",
            ["NONE", "NONE", "TRANSACTION_ABORTABLE", "NONE"],
        ),
        (
            "Abort after the coordinator's timeout",
            ["NONE", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "NONE"],
        ),
    ],
)
def test_differences_that_the_facts_name(question: str, answers: list[str]) -> None:
    assert [TABLE[question][p] for p in ("0.11", "1.0", "4.x/TV1", "4.x/TV2")] == answers


def test_offsets_of_a_group_that_does_not_exist_have_an_error_of_their_own_since_4_4() -> None:
    """KIP-1319, for clients of transaction version 2 only: others ask in version 4."""
    found = TABLE["Transactional offsets of a group that does not exist"]
    assert [p for p, said in found.items() if said == "GROUP_ID_NOT_FOUND"] == ["4.4/TV2"]
    assert {found[p] for p in ("4.x/TV1", "4.x/TV2", "4.4/TV1")} == {"ILLEGAL_GENERATION"}
