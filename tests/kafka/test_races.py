"""The race that Kafka is known to have is told from every other difference of the same errors."""

from __future__ import annotations

from typing import Any

from tests.kafka.differences import Row, rows_of
from tests.kafka.races import Asked, is_mixed

OLD = Asked("Produce", 9, 10.0, 11.0)
NEW = Asked("TxnOffsetCommit", 4, 10.5, 12.0)
TOLD: dict[bool | None, str] = {False: "INVALID_TXN_STATE", True: "TRANSACTION_ABORTABLE"}


def rows(kafka: str, kafkalab: str) -> list[Row]:
    real, lab = ([{"ask": "Produce", "parts": [{"partition": "t-0", "error": e}]}] for e in (kafka, kafkalab))
    return rows_of("random.1", real, lab, [])


def test_an_error_of_the_other_kind_of_client_is_the_race_while_both_are_under_way() -> None:
    for own, other in ((OLD, NEW), (NEW, OLD)):
        assert is_mixed(rows(TOLD[not own.knows], TOLD[own.knows]), [own], [other])


def test_alone_or_one_after_the_other_it_is_a_difference() -> None:
    mixed = rows("TRANSACTION_ABORTABLE", "INVALID_TXN_STATE")
    assert not is_mixed(mixed, [OLD], [])
    assert not is_mixed(mixed, [OLD], [Asked("TxnOffsetCommit", 4, 11.5, 12.0)])


def test_beside_a_request_of_the_same_kind_or_one_that_is_not_verified_it_is_a_difference() -> None:
    mixed = rows("TRANSACTION_ABORTABLE", "INVALID_TXN_STATE")
    assert not is_mixed(mixed, [OLD], [Asked("Produce", 10, 10.5, 12.0), Asked("EndTxn", 5, 10.5, 12.0)])


def test_the_wrong_way_round_or_any_other_error_is_a_difference() -> None:
    assert not is_mixed(rows("INVALID_TXN_STATE", "TRANSACTION_ABORTABLE"), [OLD], [NEW])
    assert not is_mixed(rows("TRANSACTION_ABORTABLE", "NONE"), [OLD], [NEW])
    assert not is_mixed(rows("INVALID_TXN_STATE", "TRANSACTION_ABORTABLE"), [Asked("EndTxn", 4, 10, 11)], [NEW])


def test_one_difference_more_is_a_difference() -> None:
    fetched = {"ask": "Fetch", "error": "NONE"}
    real: list[dict[str, Any]] = [{"ask": "Produce", "error": "TRANSACTION_ABORTABLE", "offset": 1}, fetched]
    lab: list[dict[str, Any]] = [{"ask": "Produce", "error": "INVALID_TXN_STATE", "offset": 2}]
    assert not is_mixed(rows_of("random.1", real, lab, []), [OLD], [NEW])
    lab[0]["offset"] = 1
    assert not is_mixed(rows_of("random.1", real, lab, []), [OLD], [NEW])


def test_what_a_coordinator_throws_is_the_answer_of_all_that_came_with_it() -> None:
    thrown = Asked("Produce", 12, 10.5, 12.0, "UNSUPPORTED_VERSION")
    mixed = rows("UNSUPPORTED_VERSION", "INVALID_PRODUCER_EPOCH")
    assert is_mixed(mixed, [OLD], [thrown])
    assert not is_mixed(mixed, [OLD], [Asked("Produce", 12, 11.5, 12.0, "UNSUPPORTED_VERSION")])
    assert not is_mixed(mixed, [OLD], [Asked("Produce", 12, 10.5, 12.0, "NONE")])
    assert not is_mixed(mixed, [OLD], [Asked("Produce", 11, 10.5, 12.0, "UNSUPPORTED_VERSION")])


def test_a_request_behind_one_at_which_the_coordinator_throws_leaves_nothing_pending() -> None:
    own, other = (Asked("TxnOffsetCommit", 5, at, 12.0, "UNSUPPORTED_VERSION") for at in (10.0, 11.0))
    later = Asked("EndTxn", 5, 13.0, 14.0)
    real, lab = ([{"ask": "TxnOffsetCommit"}, {"ask": "EndTxn", "error": e}] for e in ("NONE", "INVALID_TXN_STATE"))
    assert is_mixed(rows_of("random.1", real, lab, []), [own, later], [other])
    assert not is_mixed(rows_of("random.1", real, lab, []), [own, later], [later])
    assert not is_mixed(rows_of("random.1", real[::-1], lab[::-1], []), [later, own], [other])


def test_a_batch_that_is_refused_because_of_another_is_missing_later() -> None:
    thrown = Asked("Produce", 12, 10.5, 12.0, "UNSUPPORTED_VERSION")
    asked = [OLD, Asked("Fetch", 12, 13.0, 14.0)]

    def make_answers(error: str, base_offset: int) -> list[dict[str, Any]]:
        parts = [{"error": error, "base_offset": base_offset}]
        return [{"ask": "Produce", "parts": parts}, {"ask": "Fetch", "watermark": base_offset + 1}]

    refused, appended = make_answers("UNSUPPORTED_VERSION", -1), make_answers("NONE", 4)
    mixed = rows_of("random.1", refused, appended, [])
    assert is_mixed(mixed, asked, [thrown])
    assert not is_mixed(mixed, asked, [NEW])
    assert not is_mixed(rows_of("random.1", [appended[0], refused[1]], appended, []), asked, [thrown])
    assert not is_mixed(rows_of("random.1", make_answers("UNSUPPORTED_VERSION", 3), appended, []), asked, [thrown])
