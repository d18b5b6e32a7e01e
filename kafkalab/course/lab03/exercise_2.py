"""L3.E2: the commit part of the transition table, compared cell by cell with the one that the coordinator runs on."""

from __future__ import annotations

from kafkalab.faults.frame import Delay
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, cells
from kafkalab.programs.steps import abort, add, commit, init, sleep
from kafkalab.protocol.errors import Error
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.protocol.transition_tables.outcomes import Refuse
from kafkalab.protocol.transition_tables.transaction import TABLES, Ask, Go
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

STATES: tuple[str, ...] = tuple(state.label for state in TABLES["TV1"])
WORDS = (*STATES, *(error.name for error in Error))
OFFERED = (*STATES, "NONE", "INVALID_TXN_STATE", "CONCURRENT_TRANSACTIONS", "PRODUCER_FENCED")
"""The words that the question names."""
NAME, SETTLED_MS = "payments", 500
"""The transactional id of the runs that show a state, and the time after which all markers are written."""
UNSHOWN = "PrepareAbort"
"""No run shows this cell: while markers are sent a transition is pending, and TransactionCoordinator.endTransaction
answers CONCURRENT_TRANSACTIONS to whatever is asked, before it looks at the state."""

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


def scenario(state: str) -> Scenario:
    """A client of version 1 that brings its transaction into this state, by hand, and then asks for a commit."""
    end = [] if state in ("Empty", "Ongoing") else [commit(NAME) if state.endswith("Commit") else abort(NAME)]
    wait = [sleep(SETTLED_MS)] if state.startswith("Complete") else []
    begun = [] if state == "Empty" else [add(NAME, "accounts-0")]
    faults = (Delay("WriteTxnMarkers#1", 2 * SETTLED_MS),) if state.startswith("Prepare") else ()
    program = Program("app", "raw_requests", {"steps": [init(NAME), *begun, *end, *wait, commit(NAME)]})
    title, topics = f"EndTxn(COMMIT) in {state}", {"accounts": 1}
    return Scenario(title=title, profile="4.x/TV1", topics=topics, programs=(program,), faults=faults)


def deciding(cluster: Cluster) -> int:
    """The step at which the client receives the answer to its last EndTxn."""
    return max(f.received_step for f in cluster.trace.frames.values() if f.name == "EndTxnResponse")


def truth() -> dict[str, str]:
    """Return what the coordinator does with EndTxn(COMMIT) of transaction version 1, in each written state."""
    return {state.label: _word(state) for state in TABLES["TV1"]}


def _word(state: TxnState) -> str:
    cell = TABLES["TV1"][state][Ask.COMMIT]
    if isinstance(cell, Go):
        return cell.state.label
    return cell.error.name if isinstance(cell, Refuse) else Error.NONE.name


def check(answer: object) -> str:
    """Return how many cells are right, if all are; WrongAnswer names the first wrong state, and how to find out."""
    given = cells(answer, STATES, WORDS, FORM, "state")
    if not any(given.values()):
        raise BlankAnswer(f"All cells are still blank. Give {FORM}.")
    wrong = [state for state, word in truth().items() if given[state] != word]
    if not wrong:
        return f"{len(STATES)} of {len(STATES)} cells"
    first = wrong[0]
    run = ran(scenario(first)) if first != UNSHOWN else None
    raise WrongAnswer(
        f"{len(STATES) - len(wrong)} of {len(STATES)} cells are right. "
        f"The first that is not: EndTxn(COMMIT) in {first}.\n"
        + (f'You say "{given[first]}". ' if given[first] else "It is still blank. ")
        + LOOK[first],
        run=run,
        step=deciding(run) if run else -1,
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
    afterwards=(
        "Why: only Ongoing is undecided, so only there does EndTxn(COMMIT) write anything. CompleteCommit answers NONE "
        "because a client whose answer was lost asks again. While markers are being sent the coordinator answers "
        "CONCURRENT_TRANSACTIONS to everything, before it looks here. Next: the rule behind every crash."
    ),
)
