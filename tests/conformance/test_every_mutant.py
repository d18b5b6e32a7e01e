"""Every cell of the coordinator's tables, replaced by every other outcome, is noticed by a question to the handlers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.protocol.transition_tables.outcomes import Refuse, Same
from kafkalab.protocol.transition_tables.transaction import TABLES, Ask, Go, Outcome
from tests.conformance.coordinator_answers import cells, differences

pytestmark = pytest.mark.campaign

STATES = tuple(TABLES["TV2"])
OUTCOMES: tuple[Outcome, ...] = (
    *(Go(state) for state in STATES),
    Same(),
    Refuse(Error.CONCURRENT_TRANSACTIONS),
    Refuse(Error.INVALID_TXN_STATE),
    Refuse(Error.PRODUCER_FENCED),
    Refuse(Error.INVALID_PRODUCER_ID_MAPPING),
)
PLACES = [(version, state, ask) for version, rows in TABLES.items() for state in rows for ask in rows[state]]


def mutants(outcome: Outcome) -> Iterator[Outcome]:
    """Every other outcome."""
    return (other for other in OUTCOMES if other != outcome)


@pytest.mark.parametrize(("version", "state", "ask"), PLACES, ids=lambda x: getattr(x, "label", getattr(x, "name", x)))
def test_a_table_with_another_outcome_in_this_cell_answers_wrongly(
    version: str, state: TxnState, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = TABLES[version][state]
    asked = [c for c in cells() if c.table == f"{version}.{ask.name}" and c.state == state.label]
    assert [d for c in asked for d in differences(c)] == []
    survivors = []
    for mutant in mutants(row[ask]):
        with monkeypatch.context() as patch:
            patch.setitem(row, ask, mutant)
            if not any(differences(c) for c in asked):
                survivors.append(mutant)
    assert survivors == []


def test_every_outcome_of_the_tables_is_among_the_mutants() -> None:
    assert {str(cell) for rows in TABLES.values() for row in rows.values() for cell in row.values()} <= {
        str(outcome) for outcome in OUTCOMES
    }
