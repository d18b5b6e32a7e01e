"""Three state machines as data for a picture: a transaction at its coordinator, a producer, a classic group.

All of it comes from the modules of protocol/transition_tables: every state with every question, what is answered, and
which state follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.protocol.transition_tables.group import GROUP_TABLE, GroupAsk, GroupState, Move, Wait
from kafkalab.protocol.transition_tables.outcomes import Refuse
from kafkalab.protocol.transition_tables.producer import Action, Call, ProducerState, SenderEvent, decide, follow
from kafkalab.protocol.transition_tables.transaction import TABLES, Ask, Go
from kafkalab.widgets.payload.fields import ERRORS

MACHINES = ("coordinator", "producer", "group")
BY_ITSELF = (Ask.MARKED, Ask.TIMEOUT, GroupAsk.JOINED, GroupAsk.NOBODY, GroupAsk.ASSIGNED, GroupAsk.EXPIRE)
ANY = "any"
"""The start of the one arrow to FATAL_ERROR, which stands for an arrow from every state."""

STATES: dict[str, dict[str, str]] = {
    "coordinator": {
        "Empty": "No transaction; the transactional id has a producer id and an epoch.",
        "Ongoing": "Partitions have been added; nothing is decided.",
        "PrepareCommit": "Decided: commit. The markers are being written; nothing can change it any more.",
        "PrepareAbort": "Decided: abort. The markers are being written; nothing can change it any more.",
        "CompleteCommit": "Committed, and every partition has its marker.",
        "CompleteAbort": "Aborted, and every partition has its marker.",
    },
    "producer": {
        "UNINITIALIZED": "initTransactions has not been called, or may be called again. Or there is no producer id.",
        "INITIALIZING": "InitProducerId is under way.",
        "READY": "There is a producer id and an epoch, and no transaction.",
        "IN_TRANSACTION": "beginTransaction was called: the application may send.",
        "PREPARED_TRANSACTION": "Another system decides now (KIP-939).",
        "COMMITTING_TRANSACTION": "commitTransaction was called; EndTxn is under way.",
        "ABORTING_TRANSACTION": "abortTransaction was called; EndTxn is under way.",
        "ABORTABLE_ERROR": "Something failed; abortTransaction is what helps.",
        "FATAL_ERROR": "Nothing helps: the application must close this producer.",
    },
    "group": {
        "Empty": "No members; there may be committed offsets.",
        "PreparingRebalance": "The coordinator waits until all members have joined.",
        "CompletingRebalance": "All have joined; the leader works out who reads what.",
        "Stable": "Every member has its partitions.",
        "Dead": "Nothing is known of the group any more.",
    },
}
CALLS = ("init", "begin", "send", "offsets", "prepare", "commit", "abort", "complete", "close")
SHORT = {
    "InitProducerId": "init",
    "AddPartitionsToTxn": "add",
    "EndTxn(COMMIT)": "commit",
    "EndTxn(ABORT)": "abort",
    "all markers written": "markers",
    "transaction timeout": "timeout",
    **dict(zip((c.value for c in Call), CALLS, strict=True)),
    SenderEvent.ID_NEEDED.value: "send",
    SenderEvent.INITIALIZED.value: "answered",
    SenderEvent.INIT_REFUSED.value: "refused",
    SenderEvent.ID_DROPPED.value: "last epoch",
    SenderEvent.ENDED.value: "over",
    SenderEvent.EPOCH_NEEDED.value: "epoch needed",
    SenderEvent.ABORTABLE.value: "error",
    SenderEvent.FATAL.value: "fatal error",
    GroupAsk.JOIN.value: "join",
    GroupAsk.CHANGE.value: "changed",
    GroupAsk.REPLACE.value: "replaced",
    GroupAsk.JOINED.value: "all joined",
    GroupAsk.NOBODY.value: "nobody joined",
    GroupAsk.ASSIGNED.value: "assigned",
    GroupAsk.LEAVE.value: "leave",
    GroupAsk.EXPIRE.value: "expired",
}  # fmt: skip
"""Questions in a word or two, for the arrows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """The answer to a question in a state. `to` is the next state, "" for the same; `kind`: go, same, wait, refuse.

    `why` explains an error, where there is one to explain.
    """

    state: str
    ask: str
    kind: str
    to: str = ""
    answer: str = ""
    why: str = ""

    def words(self) -> str:
        """ "Ongoing → PrepareCommit: EndTxn(COMMIT) is answered NONE"."""
        way = f"{self.state} → {self.to}" if self.to else self.state
        return (
            f"{way}: {self.ask}" + (f" — {self.answer}" if self.answer else "") + (f". {self.why}" if self.why else "")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """States with what they mean, and a cell for every state and question."""

    name: str
    title: str
    cells: tuple[Transition, ...]
    version: str = ""
    note: str = ""

    @property
    def states(self) -> dict[str, str]:
        """The meaning of each state, by its name."""
        return STATES[self.name]

    def edges(self) -> list[tuple[str, str, str]]:
        """The arrows: (from, question, to), those to FATAL_ERROR as one from "any"."""
        arrows = [(c.state, c.ask, c.to) for c in self.cells if c.to and c.to != "FATAL_ERROR"]
        fatal = any(c.to == "FATAL_ERROR" for c in self.cells)
        return arrows + ([(ANY, SenderEvent.FATAL.value, "FATAL_ERROR")] if fatal else [])

    def row(self, state: str) -> list[Transition]:
        """All cells of a state, in the order of the table; empty for a state that is not in it."""
        return [c for c in self.cells if c.state == state]

    def plain(self) -> dict[str, Any]:
        """As the browser needs it: cells as [state, question, kind, next state, answer, why]."""
        cells = [[c.state, c.ask, c.kind, c.to, c.answer, c.why] for c in self.cells]
        return {"name": self.name, "title": self.title, "states": self.states, "cells": cells, "note": self.note}


def machine(name: str, version: str = "TV2") -> Machine:
    """The machine called "coordinator" (of a transaction version), "producer" or "group"; ValueError for another."""
    if name == "coordinator":
        return _coordinator(version)
    if name not in MACHINES:
        raise ValueError(f"no machine is called {name!r}; there are {', '.join(MACHINES)}")
    return _producer() if name == "producer" else _group()


def _coordinator(version: str) -> Machine:
    if version not in TABLES:
        raise ValueError(f"there is no transaction version {version!r}; there are {', '.join(TABLES)}")
    title = f"A transaction at its coordinator, {version}"
    cells = _cells(TABLES[version], "NONE, nothing is written")
    return Machine(name="coordinator", version=version, title=title, cells=cells)


def _cells(table: Mapping[Any, Mapping[Any, Any]], stays: str) -> tuple[Transition, ...]:
    """Return the cells of a coordinator's table; `stays` is what is answered where the state stays."""
    cells = []
    for state, row in table.items():
        for ask, outcome in row.items():
            place = {"state": _name_state(state), "ask": ask.value}
            if isinstance(outcome, Go | Move):
                cells.append(Transition(kind="go", to=_name_state(outcome.state), **_moving(ask, outcome), **place))
            elif isinstance(outcome, Wait):
                cells.append(Transition(kind="wait", answer="answered when the group moves on", **place))
            elif isinstance(outcome, Refuse):
                error = outcome.error.name
                cells.append(Transition(kind="refuse", answer=error, why=ERRORS.get(error, ""), **place))
            else:
                cells.append(Transition(kind="same", answer="nothing to do" if ask in BY_ITSELF else stays, **place))
    return tuple(cells)


def _name_state(state: TxnState | GroupState) -> str:
    return state.label if isinstance(state, TxnState) else state.value


def _moving(ask: Ask | GroupAsk, outcome: Go | Move) -> dict[str, str]:
    """Return what is answered to a question that moves on, and why it is an error, if it is one."""
    if ask in BY_ITSELF:
        return {}
    if ask is Ask.INIT and outcome.state is TxnState.PREPARE_ABORT:
        why = "What is open is aborted first; the asker comes back."
        return {"answer": "CONCURRENT_TRANSACTIONS", "why": why}
    return {"answer": "NONE" if isinstance(outcome, Go) or ask is GroupAsk.LEAVE else "NONE, once the group moves on"}


def _producer() -> Machine:
    cells = []
    for state in ProducerState:
        for question in (*Call, *SenderEvent):
            cell = decide(question, state) if isinstance(question, Call) else follow(question, state)
            asked = f"{question.value}()" if isinstance(question, Call) else question.value
            moves = cell.target.name if cell.action is Action.MOVE and cell.target is not None else ""
            to = "FATAL_ERROR" if cell.action is Action.POISON else moves
            kind = "go" if to else "same" if cell.action in (Action.STAY, Action.IGNORED) else "refuse"
            answer = "" if moves else cell.action.value
            cells.append(Transition(state=state.name, ask=asked, kind=kind, to=to, answer=answer))
    note = "While a call that timed out has not been repeated, calls of another kind fail: it comes first."
    return Machine(name="producer", title="A producer, in its client", cells=tuple(cells), note=note)


def _group() -> Machine:
    return Machine(name="group", title="A consumer group at its coordinator", cells=_cells(GROUP_TABLE, "NONE"))
