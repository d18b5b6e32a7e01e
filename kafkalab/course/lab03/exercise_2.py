"""L3.E2: the commit part of the transition table, compared cell by cell with the one that the coordinator runs on."""

from __future__ import annotations

from typing import Any

from kafkalab.broker.table_outcomes import Refuse
from kafkalab.broker.transaction_coordinator.metadata import TxnState
from kafkalab.broker.transaction_coordinator.transition_table import TABLES, Ask, Go
from kafkalab.grading.exercise import Exercise, WrongAnswer, cells
from kafkalab.protocol.errors import Error

STATES: tuple[str, ...] = tuple(state.label for state in TABLES["TV1"])
WORDS = (*STATES, *(error.name for error in Error))
FORM = (
    f"a dict with a word for each of the states {', '.join(STATES)}: the state to go to, "
    'or "NONE" (success, nothing to write), or the name of an error'
)
LOOK = {
    "Empty": "The producer has its id, and no partition was added. Can a coordinator decide about a transaction that "
    "was never begun?",
    "Ongoing": 'Walk Sequence(lab03("4.x/TV1")) to EndTxn#1: which entry does b3 append next?',
    "PrepareCommit": "The commit is decided, but its markers are still under way. Here the client asks again "
    "meanwhile; read the error of EndTxnResponse#2:\n"
    '    Sequence(lab03("4.x/TV1").with_faults(Drop("EndTxnResponse#1"), '
    'Drop("WriteTxnMarkers#1"), Drop("WriteTxnMarkers#3")))',
    "PrepareAbort": "The opposite is decided. Would it help this client to come back later?",
    "CompleteCommit": "The client asks for what is already done, because it never heard the answer; read the error of "
    'EndTxnResponse#2:\n    Sequence(lab03("4.x/TV1").with_faults(Drop("EndTxnResponse#1")))',
    "CompleteAbort": "Everything is aborted and finished. Which answer does not lie to a client that wants a commit?",
}


MISSES = {"PrepareCommit": "more than one moves", "PrepareAbort": "more than one moves"} | dict.fromkeys(
    ("CONCURRENT_TRANSACTIONS", "INVALID_TXN_STATE"), "later and never"
)


def truth() -> dict[str, str]:
    """What the coordinator does with EndTxn(COMMIT) of transaction version 1, in each state that is written."""
    return {state.label: _word(state) for state in TABLES["TV1"]}


def _word(state: TxnState) -> str:
    cell = TABLES["TV1"][state][Ask.COMMIT]
    if isinstance(cell, Go):
        return cell.state.label
    return cell.error.name if isinstance(cell, Refuse) else Error.NONE.name


def check(answer: Any) -> str:
    """How many cells are right, if all are; WrongAnswer names the first state that is not, and how to find out."""
    given = cells(answer, STATES, WORDS, FORM, "state")
    if not any(given.values()):
        raise WrongAnswer(f"All cells are still blank. Give {FORM}.")
    wrong = [state for state, word in truth().items() if given[state] != word]
    if not wrong:
        return f"{len(STATES)} of {len(STATES)} cells"
    first = wrong[0]
    raise WrongAnswer(
        f"{len(STATES) - len(wrong)} of {len(STATES)} cells are right. "
        f"The first that is not: EndTxn(COMMIT) in {first}.\n"
        + (f'You say "{given[first]}". ' if given[first] else "It is still blank. ")
        + LOOK[first],
        miss=MISSES.get(given[first], "") if first != "Ongoing" else "",
        part=(len(STATES) - len(wrong)) / len(STATES),
    )


EXERCISE = Exercise(
    "L3.E2",
    check,
    (
        "One state moves on. One answers that all is well. The others refuse.",
        "There are two ways to refuse: CONCURRENT_TRANSACTIONS means that the same question will do better later, "
        "INVALID_TXN_STATE that it never will.",
        "Go through the five that do not move, and ask of each: is the transaction committed already, will it be, or "
        "can it never be?",
    ),
    points=6,
    questions=(24,),
    misses={"more than one moves": 0, "later and never": 1},
)
