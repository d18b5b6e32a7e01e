"""Every move of a transaction at its coordinator: two total tables, one per protocol
(docs/protocol.md#coordinator-tables).

The guards in `guards.py` run before the table. The epoch guard of TV2 tells a retry (an epoch one below the current)
from a new question, so TV2 has columns of its own for retries.
The diagrams, the widgets, the exercises and the tests are made from these tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from kafkalab.protocol.errors import Error, InvariantError
from kafkalab.protocol.transaction_metadata import CA, CC, EM, ON, PA, PC, TxnState
from kafkalab.protocol.transition_tables.outcomes import Refuse, Same


class Ask(Enum):
    """A question put to the coordinator about one transactional id."""

    __hash__ = object.__hash__  # of Enum it is a function in Python; members are keys of tables

    INIT = "InitProducerId"
    ADD = "AddPartitionsToTxn"
    COMMIT = "EndTxn(COMMIT)"
    ABORT = "EndTxn(ABORT)"
    COMMIT_AGAIN = "EndTxn(COMMIT), retried"
    ABORT_AGAIN = "EndTxn(ABORT), retried"
    MARKED = "all markers written"
    TIMEOUT = "transaction timeout"

    def __repr__(self) -> str:
        return f"Ask.{self.name}"


@dataclass(frozen=True, slots=True)
class Go:
    """Append the record of this state; then answer."""

    state: TxnState


Outcome: TypeAlias = Go | Same | Refuse
Row: TypeAlias = dict[Ask, Outcome]

_empty, _ongoing, _p_commit, _p_abort, _c_commit, _c_abort = (Go(s) for s in (EM, ON, PC, PA, CC, CA))
_same = Same()
_wait, _bad = Refuse(Error.CONCURRENT_TRANSACTIONS), Refuse(Error.INVALID_TXN_STATE)
_fenced = Refuse(Error.PRODUCER_FENCED)

TV1_ASKS = (Ask.INIT, Ask.ADD, Ask.COMMIT, Ask.ABORT, Ask.MARKED, Ask.TIMEOUT)
TV2_ASKS = tuple(Ask)


def _rows(asks: tuple[Ask, ...], table: dict[TxnState, tuple[Outcome, ...]]) -> dict[TxnState, Row]:
    """The table with a name on every cell; a missing cell fails here, at import."""
    assert set(table) == {EM, ON, PC, PA, CC, CA}, "the table must have a row for every state that is written"
    return {state: dict(zip(asks, cells, strict=True)) for state, cells in table.items()}


# fmt: off
TV1: dict[TxnState, Row] = _rows(TV1_ASKS, {
    #    INIT      ADD        COMMIT      ABORT      MARKED     TIMEOUT
    EM: (_empty,   _ongoing,  _bad,       _bad,      _same,     _same),
    ON: (_p_abort, _ongoing,  _p_commit,  _p_abort,  _same,     _p_abort),
    PC: (_wait,    _wait,     _wait,      _bad,      _c_commit, _same),
    PA: (_wait,    _wait,     _bad,       _wait,     _c_abort,  _same),
    CC: (_empty,   _ongoing,  _same,      _bad,      _same,     _same),
    CA: (_empty,   _ongoing,  _bad,       _same,     _same,     _same),
})
TV2: dict[TxnState, Row] = _rows(TV2_ASKS, {
    #    INIT      ADD        COMMIT      ABORT      C. AGAIN   A. AGAIN  MARKED     TIMEOUT
    EM: (_empty,   _ongoing,  _bad,       _p_abort,  _fenced,   _fenced,  _same,     _same),
    ON: (_p_abort, _ongoing,  _p_commit,  _p_abort,  _fenced,   _fenced,  _same,     _p_abort),
    PC: (_wait,    _wait,     _fenced,    _fenced,   _wait,     _bad,     _c_commit, _same),
    PA: (_wait,    _wait,     _fenced,    _fenced,   _bad,      _wait,    _c_abort,  _same),
    CC: (_empty,   _ongoing,  _bad,       _p_abort,  _same,     _bad,     _same,     _same),
    CA: (_empty,   _ongoing,  _bad,       _p_abort,  _bad,      _same,    _same,     _same),
})
# fmt: on

TABLES: dict[str, dict[TxnState, Row]] = {"TV1": TV1, "TV2": TV2}
"""`TABLES["TV1"][TxnState.ONGOING][Ask.COMMIT] == Go(TxnState.PREPARE_COMMIT)`.

`INIT` in Ongoing appends PrepareAbort *and* answers CONCURRENT_TRANSACTIONS, so that the caller comes back.
"""


def table_of(version: int) -> dict[TxnState, Row]:
    """The table of a transaction version: 0 and 1 have one, 2 has another."""
    return TABLES["TV2" if version >= 2 else "TV1"]


def goes_to(version: int, state: TxnState, ask: Ask) -> TxnState | None:
    """Return where a transaction goes whose coordinator asks itself (MARKED, TIMEOUT); None for nowhere.

    InvariantError: the cell refuses, and there is nobody to hear it.
    """
    outcome = table_of(version)[state][ask]
    if isinstance(outcome, Refuse):
        raise InvariantError(f"{ask.value} in {state.label} is refused, and nobody asked")
    return outcome.state if isinstance(outcome, Go) else None


def edges(version: str) -> list[tuple[str, str, str]]:
    """The arrows of the state diagram: (from, question, to), in Kafka's state names."""
    return [
        (state.label, ask.value, cell.state.label)
        for state, row in TABLES[version].items()
        for ask, cell in row.items()
        if isinstance(cell, Go)
    ]
