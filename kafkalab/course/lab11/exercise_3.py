"""L11.E3: a prepared transaction, and who is lost: until when readers wait; every row is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial

from kafkalab.course.lab11.scenario import TWO_PHASE
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Crash, Restart
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, facts_of, rows
from kafkalab.programs.booking import BOOKER, RECEIPTS
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

NOT_AT_ALL, DECISION, TIMEOUT, CLAIM, COORDINATOR, FOR_EVER = WORDS = (
    "not at all", "decision", "timeout", "claim", "coordinator", "for ever",
)  # fmt: skip
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "decision", 2: ...}}'
PREPARED_MS, NEXT_MS, CLAIM_MS, BACK_MS, LATE_MS, UNTIL_MS = 1_500, 1_000, 300_000, 150_000, 120_000, 900_000
BLOCKED_MS = 2_600
"""A reader that has the next receipt by now has not waited for anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The fate of a transaction that is written, and prepared if `two_phase`."""

    says: str
    look: str
    misses: Mapping[str, str] = field(default_factory=dict)
    two_phase: bool = True
    brokers: int = 3
    isolation: str = "read_committed"
    decide_ms: int = LATE_MS
    commits: bool = True
    crashes: str = "client"
    claims: bool = False


_TIMEOUT = {TIMEOUT: "the timeout ends it"}
ROWS = (
    Row(
        says="without two-phase commit: the producer dies; nobody comes back",
        look="Which clock does the coordinator look at?",
        two_phase=False,
        misses={FOR_EVER: "an ordinary one has a timeout", NOT_AT_ALL: "open means blocked"},
    ),
    Row(
        says="prepared; the outside coordinator decides two minutes later, and the producer is told",
        look="The producer lives, and completes the transaction. What had to happen first?",
        crashes="",
        misses={**_TIMEOUT, NOT_AT_ALL: "open means blocked"},
    ),
    Row(
        says="the same, and the decision is to abort",
        look="An aborted record is dropped by the reader. But when?",
        crashes="",
        commits=False,
        misses={**_TIMEOUT, NOT_AT_ALL: "open means blocked"},
    ),
    Row(
        says="prepared; producer and outside coordinator are lost; nobody comes back",
        look="What is the timeout of such a transaction?",
        misses={**_TIMEOUT, COORDINATOR: "Kafka's coordinator does not decide"},
    ),
    Row(
        says="prepared; the producer dies; its next process calls initTransactions() after five minutes",
        look="What does initTransactions() do to a transaction of its predecessor?",
        claims=True,
        misses={**_TIMEOUT, DECISION: "a claim decides", FOR_EVER: "a claim ends it"},
    ),
    Row(
        says="prepared; Kafka's coordinator (one broker of three) crashes; the decision comes after two minutes",
        look="How long does Kafka need for another coordinator, and who is late here?",
        crashes="coordinator",
        misses={**_TIMEOUT, COORDINATOR: "another broker takes over", FOR_EVER: "another broker takes over"},
    ),
    Row(
        says="the same with one broker only, and it starts again after 150 seconds",
        look="By when is the decision known, and who cannot be told?",
        brokers=1,
        crashes="coordinator",
        misses={**_TIMEOUT, DECISION: "nobody can be told", FOR_EVER: "the log outlives the crash"},
    ),
    Row(
        says="as in row 4, but the reader is read_uncommitted",
        look="Which mark does this reader read up to?",
        isolation="read_uncommitted",
        misses={FOR_EVER: "only read_committed waits", TIMEOUT: "only read_committed waits"},
    ),
)


def scenario(of_seed: int, row: Row) -> Scenario:
    """The row's producer, the next receipt behind its own, and a reader that waits for that one."""
    arguments = {"two_phase": row.two_phase, "decide_after_ms": row.decide_ms, "commits": row.commits}
    programs = [
        Program("producer", "preparer", arguments),
        Program("other", "next_receipt", {"at_ms": NEXT_MS}),
        Program("reader", "waiting_reader", {"isolation_level": row.isolation, "until_ms": UNTIL_MS}),
    ]
    if row.claims:
        programs.append(Program("again", "claimer", {"at_ms": CLAIM_MS}))
    return Scenario(
        title=f"Until when: {row.says}"[:100],
        seed=of_seed,
        brokers=row.brokers,
        topics={RECEIPTS: 1},
        programs=tuple(programs),
        faults=_faults(row, of_seed),
        config=TWO_PHASE,
    )


def _faults(row: Row, of_seed: int) -> tuple[Fault, ...]:
    if row.crashes == "client":
        return (Crash("producer", at_ms=PREPARED_MS),)
    if row.crashes == "coordinator":
        node = coordinator(row, of_seed)
        return (Crash(node, at_ms=PREPARED_MS), Restart(node, at_ms=BACK_MS))
    return ()


@cache
def _leader(brokers: int, of_seed: int) -> str:
    bare = Scenario(title="", seed=of_seed, brokers=brokers, topics={RECEIPTS: 1}, programs=())
    return Cluster(bare).controller.metadata.leader(transaction_partition(BOOKER))


def coordinator(row: Row, of_seed: int) -> str:
    """Return the broker that coordinates the transaction."""
    return _leader(row.brokers, of_seed)


def until_when(cluster: Cluster) -> str:
    """Return what the reader has waited for."""
    came = cluster.results["reader"][0]
    if came < 0:
        return FOR_EVER
    if came < BLOCKED_MS:
        return NOT_AT_ALL
    if cluster.trace.of("state", "timeout"):
        return TIMEOUT
    if came > CLAIM_MS:
        return CLAIM
    return COORDINATOR if came > BACK_MS else DECISION


def _came(cluster: Cluster) -> int:
    """Return the step at which the reader has the next receipt; else its last poll."""
    polls = [e for e in cluster.trace.of("complete", "poll") if e.node == "reader"]
    return next((e.step for e in polls if e.data["records"]), polls[-1].step)


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Every row, and what its reader has waited for."""
    return facts_of(ROWS, partial(scenario, of_seed), until_when, _came)


EXERCISE = Exercise(
    "L11.E3",
    rows(facts, WORDS, FORM),
    (
        "A read_committed reader stops before the first open transaction, whatever lies behind it. So ask of each "
        "row: who may end this transaction, and is anybody of them still there?",
        "With two-phase commit on, the transaction's timeout is 2147483647 ms, which the coordinator reads as never. "
        "What is left: the producer that completes it, and a producer that claims its name.",
        "Kafka's coordinator keeps its state in a log of three copies: losing one broker costs about as much time as "
        "an election. With one copy it is gone until that broker is back. Losing the outside coordinator "
        "is another matter: Kafka has no copy of its decision.",
    ),
    points=8,
    questions=(33,),
    misses={
        "the timeout ends it": "What timeout does a producer with transaction.two.phase.commit.enable=true have? It "
        "may not set one itself.",
        "an ordinary one has a timeout": "This one is not prepared. What does Kafka do with a transaction that is "
        "open for longer than transaction.timeout.ms?",
        "open means blocked": 0,
        "Kafka's coordinator does not decide": "Kafka's coordinator is well. Does it know the decision?",
        "a claim decides": "The new process has not asked anybody for the decision. What has Kafka done by the time "
        "that initTransactions() returns?",
        "a claim ends it": "initTransactions() fences the predecessor, and ends what it had open.",
        "another broker takes over": "Three brokers have the coordinator's log. When the decision comes, is there "
        "a coordinator again?",
        "nobody can be told": "When the decision is made, the only broker is down. Where would EndTxn go?",
        "the log outlives the crash": "A crash takes the memory, not the log. What does the broker do when it is back?",
        "only read_committed waits": "The last stable offset holds back read_committed readers only. The others see "
        "the record at once, decided or not.",
    },
    afterwards=(
        "Why: Kafka can lose its own coordinator, since the state is in a replicated log. It cannot lose the outside "
        "one: a prepared transaction waits for a decision that only somebody else has. Next: lab 12 "
        "counts what was lost and doubled in millions of records."
    ),
)
