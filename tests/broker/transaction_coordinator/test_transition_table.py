"""The coordinator's tables, against a copy typed from docs/protocol.md#coordinator-tables, cell by cell."""

from __future__ import annotations

import pytest

from kafkalab.broker.table_outcomes import Refuse, Same
from kafkalab.broker.transaction_coordinator.metadata import TxnState
from kafkalab.broker.transaction_coordinator.transition_table import TABLES, Ask, Go, Outcome, edges
from kafkalab.protocol.errors import Error

COPY_TV1 = """
                INIT                     ADD                      COMMIT                   ABORT                    MARKED          TIMEOUT
Empty           Empty                    Ongoing                  INVALID_TXN_STATE        INVALID_TXN_STATE        -               -
Ongoing         PrepareAbort             Ongoing                  PrepareCommit            PrepareAbort             -               PrepareAbort
PrepareCommit   CONCURRENT_TRANSACTIONS  CONCURRENT_TRANSACTIONS  CONCURRENT_TRANSACTIONS  INVALID_TXN_STATE        CompleteCommit  -
PrepareAbort    CONCURRENT_TRANSACTIONS  CONCURRENT_TRANSACTIONS  INVALID_TXN_STATE        CONCURRENT_TRANSACTIONS  CompleteAbort   -
CompleteCommit  Empty                    Ongoing                  NONE                     INVALID_TXN_STATE        -               -
CompleteAbort   Empty                    Ongoing                  INVALID_TXN_STATE        NONE                     -               -
"""  # noqa: E501
COPY_TV2 = """
                COMMIT             COMMIT_AGAIN             ABORT           ABORT_AGAIN
Empty           INVALID_TXN_STATE  PRODUCER_FENCED          PrepareAbort    PRODUCER_FENCED
Ongoing         PrepareCommit      PRODUCER_FENCED          PrepareAbort    PRODUCER_FENCED
PrepareCommit   PRODUCER_FENCED    CONCURRENT_TRANSACTIONS  PRODUCER_FENCED INVALID_TXN_STATE
PrepareAbort    PRODUCER_FENCED    INVALID_TXN_STATE        PRODUCER_FENCED CONCURRENT_TRANSACTIONS
CompleteCommit  INVALID_TXN_STATE  NONE                     PrepareAbort    INVALID_TXN_STATE
CompleteAbort   INVALID_TXN_STATE  INVALID_TXN_STATE        PrepareAbort    NONE
"""


def cells(copy: str) -> list[tuple[str, str, str]]:
    header, *rows = copy.strip().splitlines()
    asks = header.split()
    return [(row.split()[0], ask, cell) for row in rows for ask, cell in zip(asks, row.split()[1:], strict=True)]


def said(outcome: Outcome, ask: str) -> str:
    if isinstance(outcome, Go):
        return outcome.state.label
    if isinstance(outcome, Refuse):
        return outcome.error.name
    assert isinstance(outcome, Same)
    return "-" if ask in ("MARKED", "TIMEOUT") else "NONE"


@pytest.mark.parametrize(("version", "copy"), [("TV1", COPY_TV1), ("TV2", COPY_TV2)])
def test_every_cell_is_what_kafka_answers(version: str, copy: str) -> None:
    for state, ask, expected in cells(copy):
        assert said(TABLES[version][TxnState.of(state)][Ask[ask]], ask) == expected, (version, state, ask)


def test_the_columns_that_no_version_changes_are_equal_in_both_tables() -> None:
    for state in TABLES["TV1"]:
        for ask in (Ask.INIT, Ask.ADD, Ask.MARKED, Ask.TIMEOUT):
            assert TABLES["TV1"][state][ask] == TABLES["TV2"][state][ask]


@pytest.mark.parametrize("version", ["TV1", "TV2"])
@pytest.mark.parametrize("state", list(TxnState)[:6], ids=lambda s: s.label)
def test_only_an_open_transaction_may_still_be_committed(version: str, state: TxnState) -> None:
    assert isinstance(TABLES[version][state][Ask.COMMIT], Go) == (state is TxnState.ONGOING)


@pytest.mark.parametrize("version", ["TV1", "TV2"])
def test_what_was_decided_is_never_reversed(version: str) -> None:
    reached = {(a, b) for a, _, b in edges(version)}
    assert not {("PrepareCommit", "PrepareAbort"), ("PrepareCommit", "CompleteAbort")} & reached
    assert not {("PrepareAbort", "PrepareCommit"), ("PrepareAbort", "CompleteCommit")} & reached


def test_the_versions_differ_only_in_aborting_nothing() -> None:
    more = set(edges("TV2")) - set(edges("TV1"))
    assert {(a, b) for a, _, b in more} == {
        ("Empty", "PrepareAbort"),
        ("CompleteCommit", "PrepareAbort"),
        ("CompleteAbort", "PrepareAbort"),
    }


def test_states_and_errors_have_kafkas_numbers() -> None:
    assert [s.id for s in TxnState] == list(range(8))
    assert (Error.CONCURRENT_TRANSACTIONS.code, Error.PRODUCER_FENCED.code) == (51, 90)
    with pytest.raises(ValueError, match="no transaction state 'Done'"):
        TxnState.of("Done")
