"""L3.E1: a process crashes after an event; what becomes of the transaction? Each answer is found by running it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from kafkalab.course.lab03.scenario import lab03
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.grading.seeds import LEARNER_SEED
from kafkalab.programs.transfers import TRANSACTIONAL_ID
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Event, Trace

WORDS = ("committed", "aborted", "nothing")
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
        "Who is left that wants a commit? What does the coordinator do when no request comes for a minute?"),
    Row(("b1",), "b1 appends the debits to accounts-0", _records("b1", "accounts-0"),
        "b1 has not answered yet. What does app do about that, and who leads accounts-0 then?"),
    Row(("b3",), "b3 appends the first Ongoing", _entry("b3", "Ongoing"),
        "Who coordinates payments-0 after ten seconds? Does app give up before?"),
    Row(("app",), "app calls commit_transaction()", _match_call("commit_transaction"),
        "All records and the offset are in the logs. But which log says that they are committed?"),
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


MISSES: dict[int, dict[str, str]] = {
    1: dict.fromkeys(("committed", "aborted"), "begin is a request"),
    2: {"committed": "written is committed", "nothing": "unknown until the commit"},
    3: dict.fromkeys(("aborted", "nothing"), "a dead broker decides"),
    4: dict.fromkeys(("aborted", "nothing"), "a dead broker decides"),
    5: {"committed": "written is committed", "nothing": "unknown until the commit"},
    6: dict.fromkeys(("aborted", "nothing"), "a dead application aborts"),
    7: dict.fromkeys(("aborted", "nothing"), "a dead broker decides"),
    8: {"committed": "one copy is enough"},
    9: dict.fromkeys(("aborted", "nothing"), "a dead application aborts"),
    10: dict.fromkeys(("aborted", "nothing"), "a dead application aborts"),
}
"""By row the belief that leads to each wrong word."""


def scenario(of_seed: int, row: Row) -> Scenario:
    """Return lab 03's scenario under transaction version 2 with the row's crashes."""
    without = lab03(seed=of_seed)
    return without.with_faults(*row.faults(ran(without).trace))


def pasteable(of_seed: int, row: Row) -> str:
    """Return code that opens the row's run in the widget."""
    listed = ", ".join(f'Crash("{f.node}", at_step={f.at_step})' for f in row.faults(ran(lab03(seed=of_seed)).trace))
    seed = "" if of_seed == LEARNER_SEED else f"seed={of_seed}"
    return f"Sequence(lab03({seed}).with_faults({listed}))"


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Return the rows with the outcome of each, as the logs of its run have it."""
    found = []
    for number, row in enumerate(ROWS, 1):
        run = partial(scenario, of_seed, row)
        look = f"See it happen, then press End:\n    {pasteable(of_seed, row)}\n{row.look}"
        verdict = ran(run()).outcome().verdict
        found.append(Fact(name=number, says=str(row), truth=verdict, look=look, run=run, misses=MISSES[number]))
    return tuple(found)


BELIEFS = {
    "begin is a request": Belief(
        says="begin_transaction() already tells the coordinator something",
        hint="Which frame does begin_transaction() send? Look at the coordinator's log at that moment.",
    ),
    "written is committed": Belief(
        says="a record that is written will be committed, even if no client asks for it",
        hint="app is dead in this row, so no client asks for a commit. What does the coordinator, old or new, find in "
        "its log?",
    ),
    "unknown until the commit": Belief(
        says="the coordinator knows nothing of a transaction before the commit",
        hint="Look at the coordinator's log before the records are written. Which entry is there?",
    ),
    "a dead broker decides": Belief(says="the crash of a broker ends the transaction", hint=1),
    "a dead application aborts": Belief(
        says="a transaction is aborted whenever its application dies",
        hint="Has EndTxn arrived at the coordinator by then? Does the coordinator need app for what comes next?",
    ),
    "one copy is enough": Belief(
        says="PrepareCommit in one broker's log is the decision",
        hint="That broker is dead. Which log does the next coordinator read, and does it have the entry?",
    ),
}


EXERCISE = Exercise(
    "L3.E1",
    rows(facts, WORDS, FORM, beliefs=BELIEFS),
    (
        "Ask two things of each row. Who is still alive and wants a commit? And what do the logs that survive say?",
        "A live app sends each request without an answer again, to the present leader. So a dead broker alone changes "
        "when the transaction ends, not how it ends. If app is dead, no client asks again: only the coordinator's log "
        "can decide.",
        "Look for PrepareCommit. Where app is dead and the coordinator, old or new, does not find it in its log, it "
        "aborts what it knows of when the transaction times out. Where it finds it, or will write it because EndTxn "
        "has arrived, it finishes the commit. And it does not know of a transaction that no frame has reported.",
    ),
    points=10,
    questions=(24,),
    misses=BELIEFS,
    afterwards=(
        "Why: a live app asks again until it has an answer, whichever broker has died. Once app is dead, only the "
        "log that the next coordinator reads can decide. Next: put such a run in order."
    ),
)
