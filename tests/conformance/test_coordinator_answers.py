"""The typed copy of the coordinator's answers, against the handlers and against the tables, cell by cell."""

from __future__ import annotations

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.protocol.transition_tables.outcomes import Refuse
from kafkalab.protocol.transition_tables.transaction import TABLES, Ask, Go, Outcome, edges
from tests.cells import watching
from tests.conformance.coordinator_answers import STATES, Cell, cells, differences

ALL = cells()
OF_TABLES = [c for c in ALL if c.table]


def as_typed(outcome: Outcome, ask: Ask) -> tuple[str, str]:
    """Answer and next state, as the file says it."""
    nobody_asks = ask in (Ask.MARKED, Ask.TIMEOUT)
    if isinstance(outcome, Refuse):
        return outcome.error.name, ""
    if not isinstance(outcome, Go):
        return "-" if nobody_asks else "NONE", ""
    waits = ask is Ask.INIT and outcome.state is not TxnState.EMPTY
    return "-" if nobody_asks else "CONCURRENT_TRANSACTIONS" if waits else "NONE", outcome.state.label


@pytest.mark.parametrize("cell", ALL, ids=lambda c: f"{c.ask}-{c.who}-v{c.versions[0]}-{c.pending}-{c.state}")
def test_the_handlers_answer_as_typed(cell: Cell) -> None:
    assert (differences(cell), cell.expected) == ([], cell.expected)


@pytest.mark.parametrize("cell", OF_TABLES, ids=lambda c: f"{c.table}-{c.state}")
def test_the_tables_say_the_same(cell: Cell) -> None:
    version, _, ask = cell.table.partition(".")
    outcome = TABLES[version][TxnState.of(cell.state)][Ask[ask]]
    answer, _, rest = cell.expected.partition(" > ")
    assert as_typed(outcome, Ask[ask]) == (answer.split(" = ")[0], rest.split(" ")[0])


def test_every_cell_of_the_tables_is_typed() -> None:
    typed = sorted((c.table, c.state) for c in OF_TABLES)
    tables = sorted((f"{v}.{a.name}", s.label) for v, t in TABLES.items() for s, row in t.items() for a in row)
    assert typed == tables
    assert {c.state for c in ALL} == set(STATES)


def test_the_handlers_look_at_every_cell_that_a_typed_one_names() -> None:
    with watching(TABLES) as seen:
        for cell in OF_TABLES:
            version, _, ask = cell.table.partition(".")
            place = (version, TxnState.of(cell.state), Ask[ask])
            before = seen[place]
            differences(cell)
            assert seen[place] > before, place


@pytest.mark.parametrize("version", TABLES)
def test_what_was_decided_is_never_reversed(version: str) -> None:
    reached = {(a, b) for a, _, b in edges(version)}
    assert not {("PrepareCommit", "PrepareAbort"), ("PrepareCommit", "CompleteAbort")} & reached
    assert not {("PrepareAbort", "PrepareCommit"), ("PrepareAbort", "CompleteCommit")} & reached


def test_states_and_errors_have_kafkas_numbers() -> None:
    assert [s.id for s in TxnState] == list(range(8))
    assert (Error.CONCURRENT_TRANSACTIONS.code, Error.PRODUCER_FENCED.code) == (51, 90)
    with pytest.raises(ValueError, match="no transaction state 'Done'"):
        TxnState.of("Done")
