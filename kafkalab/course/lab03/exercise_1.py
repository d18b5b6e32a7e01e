"""L3.E1: who crashes after which event, and what becomes of the transaction? Each answer is found by running it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from kafkalab.course.lab03.scenario import lab03
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, cells
from kafkalab.grading.forms import Blank, Form
from kafkalab.programs.transfers import TRANSACTIONAL_ID
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.trace import Event, Trace

WORDS = ("committed", "aborted", "nothing")
LEARNER_SEED, GRADER_SEED = 1, 2026
"""The run that the notebook shows, and one with other latencies: an answer must be right in both."""

FORM = 'a dict with one of the words "committed", "aborted", "nothing" for each row, like {1: "nothing", 2: ...}'


@dataclass(frozen=True, slots=True)
class Row:
    """These nodes crash, at the same moment, right after an event of the run, and stay down.

    `look` is a question that the run itself answers.
    """

    nodes: tuple[str, ...]
    moment: str
    find: Callable[[Event], bool]
    look: str

    def __str__(self) -> str:
        crash = "crash" if len(self.nodes) > 1 else "crashes"
        return f"{' and '.join(self.nodes)} {crash} right after {self.moment}"

    def faults(self, trace: Trace) -> tuple[Crash, ...]:
        """The row's crashes in this run."""
        step = next((e.step for e in trace.events if self.find(e)), -1)
        assert step >= 0, f"no run of lab 03 is without the event of the row {self}"
        return tuple(Crash(node, at_step=step) for node in self.nodes)


def _match_call(method: str) -> Callable[[Event], bool]:
    return lambda e: (e.kind, e.name) == ("invoke", method)


def _match_receive(frame: str) -> Callable[[Event], bool]:
    return lambda e: (e.kind, e.frame) == ("receive", frame)


def _records(node: str, partition: str) -> Callable[[Event], bool]:
    return lambda e: (e.kind, e.node, e.name) == ("append", node, partition) and e.data.control is None


def _marker(node: str, partition: str) -> Callable[[Event], bool]:
    return lambda e: (e.kind, e.node, e.name) == ("append", node, partition) and e.data.control is not None


def _entry(node: str, state: str) -> Callable[[Event], bool]:
    log = f"{TRANSACTION_TOPIC}-{partition_for(TRANSACTIONAL_ID)}"
    return lambda e: (
        (e.kind, e.node, e.name) == ("append", node, log)
        and any(r.key == TRANSACTIONAL_ID and r.value.state.label == state for r in e.data.records)
    )


def _durable(state: str) -> Callable[[Event], bool]:
    now = (state, "")
    return lambda e: (e.kind, e.name) == ("state", "transaction") and (e.data["state"], e.data["pending"]) == now


ROWS: tuple[Row, ...] = (
    Row(("app",), "app calls begin_transaction()", _match_call("begin_transaction"),
        "Which frame did that call send? What does the coordinator's log hold?"),
    Row(("app",), "b1 appends the debits to accounts-0", _records("b1", "accounts-0"),
        "Who is left that wants a commit? What does the coordinator do when nobody comes back for a minute?"),
    Row(("b1",), "b1 appends the debits to accounts-0", _records("b1", "accounts-0"),
        "b1 has answered nobody yet. What does app do about that, and who leads accounts-0 then?"),
    Row(("b3",), "b3 appends the first Ongoing", _entry("b3", "Ongoing"),
        "Who coordinates payments-0 after ten seconds? Does app give up before?"),
    Row(("app",), "app calls commit_transaction()", _match_call("commit_transaction"),
        "All records and the offset are in the logs. But which log says that they count?"),
    Row(("app",), "b3 receives EndTxn#1", _match_receive("EndTxn#1"),
        "Does b3 need app for anything that comes after EndTxn#1?"),
    Row(("b3",), "b3 appends PrepareCommit", _entry("b3", "PrepareCommit"),
        "The next coordinator's log may lack that entry. Who asks it for the commit again?"),
    Row(("app", "b3"), "b3 appends PrepareCommit", _entry("b3", "PrepareCommit"),
        "Which entry of the transaction is the last in the log that the next coordinator reads?"),
    Row(("app", "b3"), "every in-sync replica has PrepareCommit", _durable("PrepareCommit"),
        "What does the next coordinator find in its log, and what does it send because of it?"),
    Row(("app", "b2"), "b2 appends the COMMIT marker to accounts-1", _marker("b2", "accounts-1"),
        "The coordinator lives. What does it do when a leader never answers WriteTxnMarkers?"),
)  # fmt: skip


def run(seed: int, *faults: Crash) -> Cluster:
    """Lab 03's run under transaction version 2 with these faults, to its end."""
    return ran(lab03(seed=seed).with_faults(*faults))


@cache
def outcomes(seed: int) -> dict[int, str]:
    """For each row the outcome, as the logs of the crashed run have it."""
    trace = run(seed).trace
    return {n: run(seed, *row.faults(trace)).outcome().verdict for n, row in enumerate(ROWS, 1)}


def pasteable(number: int) -> str:
    """Code that opens the row's run in the widget."""
    faults = ROWS[number - 1].faults(run(LEARNER_SEED).trace)
    listed = ", ".join(f'Crash("{f.node}", at_step={f.at_step})' for f in faults)
    return f"Sequence(lab03().with_faults({listed}))"


def check(answer: Any) -> str:
    """Return how many rows are right, if all are; WrongAnswer names the first wrong one, and the run that shows it."""
    given = cells(answer, tuple(range(1, len(ROWS) + 1)), WORDS, FORM, "row")
    if not any(given.values()):
        raise BlankAnswer(f"All rows are still blank. Give {FORM}.")
    truths = [outcomes(seed) for seed in (LEARNER_SEED, GRADER_SEED)]
    wrong = [n for n, word in given.items() if any(word != truth[n] for truth in truths)]
    if not wrong:
        return f"{len(ROWS)} of {len(ROWS)} rows"
    first = wrong[0]
    row, word = ROWS[first - 1], given[first]
    raise WrongAnswer(
        f"{len(ROWS) - len(wrong)} of {len(ROWS)} rows are right. The first that is not is row {first}: {row}.\n"
        + (f'You say "{word}". ' if word else "It is still blank. ")
        + f"See it happen, then press End:\n    {pasteable(first)}\n{row.look}",
        run=lab03(seed=LEARNER_SEED).with_faults(*row.faults(run(LEARNER_SEED).trace)),
        miss=_miss(row, word),
        part=(len(ROWS) - len(wrong)) / len(ROWS),
    )


def _miss(row: Row, word: str) -> str:
    """The belief behind a wrong word: a dead broker decides, or a dead application still does."""
    if not word:
        return ""
    return "a dead application asks again" if "app" in row.nodes else "a dead broker decides"


EXERCISE = Exercise(
    "L3.E1",
    Form(check, lambda: [Blank(number, str(row), WORDS) for number, row in enumerate(ROWS, 1)]),
    (
        "Ask two things of each row. Who is still alive and wants a commit? And what do the logs that survive say?",
        "A live app sends again whatever was not answered, to whoever leads now. So a dead broker alone changes when, "
        "not whether. If app is dead, nobody asks again: only the coordinator's log can decide.",
        "Look for PrepareCommit. Where app is dead and the coordinator, old or new, does not find it in its log, it "
        "aborts what it knows of when the transaction times out. Where it finds it, or will write it because EndTxn "
        "has arrived, it finishes the commit. And what no frame has told it, it does not know of.",
    ),
    points=10,
    questions=(24,),
    misses={
        "a dead broker decides": 1,
        "a dead application asks again": "app is dead in this row, so no client asks for anything any more. What does "
        "the coordinator, old or new, find in its log?",
    },
    afterwards=(
        "Why: a live app asks again until it has an answer, whichever broker has died. Once app is dead, only the "
        "log that the next coordinator reads can decide. Next: the same as a table of states."
    ),
)
