"""L7.E2: twelve errors: retry, abort, recreate or exit? The truth is the first remedy after which a run ends well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from kafkalab.course.lab07.scenario import AWAY_MS, DAY_MS, SLOW_MS, cut_off, ended_at, shelf
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.programs.counting import COUNTER
from kafkalab.protocol.acls import Deny
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario

WORDS = ("retry", "abort", "recreate", "exit")
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "exit", 2: ...}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An error, what `shelf` takes to meet it, and what is believed about it."""

    says: str
    look: str
    error: str
    args: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    misses: Mapping[str, str] = field(default_factory=dict)


ROWS = (
    Row(
        says="commit_transaction() raises KafkaTimeoutError: no broker has answered for 20 s",
        look="Is it known how the commit ended? Which call asks again, and which one does the client refuse now?",
        error="commit_transaction: KafkaTimeoutError",
        args={"work_ms": 6_000, "sends": 1, "max_block_ms": 20_000},
        faults=cut_off(6_500, 30_000),
        misses={"abort": "in doubt", "recreate": "twice, perhaps", "exit": "too soon"},
    ),
    Row(
        says="init_transactions() raises KafkaTimeoutError: no broker has answered for 60 s",
        look="What has this producer done so far that could be undone? May the call be made again?",
        error="init_transactions: KafkaTimeoutError",
        args={"work_ms": 5_000},
        faults=cut_off(500, 70_000),
        misses={"abort": "nothing to abort", "recreate": "heavier than needed", "exit": "too soon"},
    ),
    Row(
        says="the future of send() raises KafkaTimeoutError: the record is given up after delivery.timeout.ms",
        look="The record is lost to this transaction. May the client commit a transaction with a hole? Does the "
        "producer itself still work?",
        error="send: KafkaTimeoutError",
        args={"work_ms": 5_000, "request_timeout_ms": 5_000, "delivery_timeout_ms": 20_000},
        faults=cut_off(2_000, 27_000),
        misses={"retry": "a hole in it", "recreate": "heavier than needed", "exit": "too soon"},
    ),
    Row(
        says="version 2: after 75 s of work the future of send() raises InvalidProducerEpochError",
        look="The coordinator has aborted. In version 2, what is the client's own EndTxn(abort) answered?",
        error="send: InvalidProducerEpochError",
        args={"work_ms": SLOW_MS},
        misses={"retry": "a hole in it", "recreate": "heavier than needed", "exit": "fenced by nobody"},
    ),
    Row(
        says="version 1: after 75 s of work the future of send() raises InvalidProducerEpochError",
        look="The same error. In version 1, what is the client's own EndTxn(abort) answered?",
        error="send: InvalidProducerEpochError",
        args={"work_ms": SLOW_MS, "profile": "4.x/TV1"},
        misses={"retry": "a hole in it", "abort": "version 1 fences", "exit": "fenced by nobody"},
    ),
    Row(
        says="version 2: after 75 s of work commit_transaction() raises InvalidTxnStateError",
        look="In which state is the client after this answer to a commit? Which producer could continue?",
        error="commit_transaction: InvalidTxnStateError",
        args={"work_ms": SLOW_MS, "sends": 1},
        misses={"retry": "decided against", "abort": "a commit is too late", "exit": "fenced by nobody"},
    ),
    Row(
        says="version 1: after 75 s of work commit_transaction() raises ProducerFencedError; there is one counter",
        look="Who raised the epoch? Is there another instance with this name that a new producer would harm?",
        error="commit_transaction: ProducerFencedError",
        args={"work_ms": SLOW_MS, "sends": 1, "profile": "4.x/TV1"},
        misses={"retry": "decided against", "abort": "version 1 fences", "exit": "fenced by nobody"},
    ),
    Row(
        says="commit_transaction() raises ProducerFencedError: a second counter with the same name is at work",
        look="A new producer would work. What happens to the other counter, which is in the middle of a shelf?",
        error="commit_transaction: ProducerFencedError",
        args={"work_ms": 8_000, "sends": 1, "other": {"begin_ms": 3_000, "work_ms": 30_000}},
        misses={"recreate": "a duel", "abort": "version 1 fences", "retry": "decided against"},
    ),
    Row(
        says="after 8 idle days send() raises InvalidPidMappingError",
        look="What has the coordinator forgotten? Which call makes it store the name again?",
        error="send: InvalidPidMappingError",
        args={"work_ms": 100, "idle_ms": 2 * AWAY_MS},
        faults=(AdvanceClock(8 * DAY_MS, at_ms=AWAY_MS),),
        misses={"retry": "the loop", "abort": "the loop", "exit": "fenced by nobody"},
    ),
    Row(
        says="send_offsets_to_transaction() raises CommitFailedError: the work was longer than max.poll.interval.ms",
        look="What has changed, the transaction or the group? What does the next poll() do?",
        error="send_offsets_to_transaction: CommitFailedError",
        args={"work_ms": 20_000, "reads": True, "max_poll_interval_ms": 10_000},
        misses={"retry": "the same generation", "recreate": "heavier than needed", "exit": "too soon"},
    ),
    Row(
        says="init_transactions() raises KafkaError: the timeout of one hour is larger than the broker's maximum",
        look="Which remedy changes the timeout?",
        error="init_transactions: KafkaError",
        args={"work_ms": 1_000, "transaction_timeout_ms": 3_600_000},
        misses={"retry": "the same settings", "recreate": "the same settings", "abort": "nothing to abort"},
    ),
    Row(
        says="init_transactions() raises TransactionalIdAuthorizationError",
        look="Which remedy changes what the counter may do?",
        error="init_transactions: TransactionalIdAuthorizationError",
        args={"work_ms": 1_000, "acls": (Deny("counter", "WRITE", f"TransactionalId:{COUNTER}"),)},
        misses={"retry": "the same settings", "recreate": "the same settings", "abort": "nothing to abort"},
    ),
)


def scenario(of_seed: int, row: Row, remedy: str = "none") -> Scenario:
    """The row's error, and what is done about it, with the latencies of this seed."""
    return shelf(*row.faults, title=row.says, seed=of_seed, remedy=remedy, **row.args)


def try_remedy(of_seed: int, row: Row, word: str) -> Scenario:
    """The row's run with the learner's remedy, so that it is seen what comes of it; of "exit" the error alone."""
    return scenario(of_seed, row, "none" if word == "exit" else word)


def remedy_of(of_seed: int, row: Row) -> str:
    """The first remedy after which everybody commits, or exit."""
    for remedy in WORDS[:-1]:
        results = ran(scenario(of_seed, row, remedy)).results
        assert results["counter"][0] == row.error, f"{row.says}: {results}"
        if all(said[-1] == "committed" for said in results.values()):
            return remedy
    return WORDS[-1]


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Every row with the remedy that its runs show."""
    return tuple(
        Fact(
            name=number, says=row.says, truth=remedy_of(of_seed, row), look=row.look, misses=row.misses,
            run=partial(scenario, of_seed, row), step=ended_at, tried=partial(try_remedy, of_seed, row),
        )
        for number, row in enumerate(ROWS, 1)
    )  # fmt: skip


BELIEFS = {
    "in doubt": Belief(
        says="a commit whose answer is missing can be aborted",
        hint="Nobody knows yet whether the commit was decided. The client refuses an abort now: it accepts only the "
        "same call again.",
    ),
    "twice, perhaps": Belief(
        says="a commit whose answer is missing has failed",
        hint="A new producer does not learn how this commit ended. If it was decided, the shelf is counted twice.",
    ),
    "heavier than needed": Belief(
        says="after an error you always need a new producer",
        hint="A new producer helps, but a lighter remedy helps, too. Which one?",
    ),
    "too soon": Belief(
        says="after a time-out the program has to end",
        hint="Nothing is wrong with the program, and the brokers come back.",
    ),
    "nothing to abort": Belief(
        says="an error always leaves a transaction to abort",
        hint="Nothing has begun: begin_transaction() was not called.",
    ),
    "a hole in it": Belief(
        says="a record that failed can be sent again within the same transaction",
        hint="A record is missing from this transaction. The client does not let it be committed any more.",
    ),
    "fenced by nobody": Belief(
        says="an error about an epoch or an id means that another instance is at work",
        hint="There is no other counter. A new producer with the same name may continue.",
    ),
    "version 1 fences": Belief(
        says="a producer whose epoch is old can still abort",
        hint="The abort goes to the coordinator, whose epoch is higher already: PRODUCER_FENCED.",
    ),
    "decided against": Belief(says="a refused commit can be asked for again", hint=0),
    "a commit is too late": Belief(
        says="after a refused commit the same producer can abort and continue",
        hint="The answer to a commit left the client in its fatal state. If a *send* is refused, you can abort.",
    ),
    "a duel": Belief(
        says="a new producer with the same name harms nobody",
        hint="The other one is fenced, does the same, and fences you. Which of the two should end?",
    ),
    "the loop": Belief(says="a coordinator never forgets a transactional id", hint=1),
    "the same generation": Belief(
        says="the same call succeeds once the group has changed",
        hint="The call names the generation in which the counter was a member. What changes that?",
    ),
    "the same settings": Belief(
        says="a call or a new producer can change what is configured",
        hint="It would send the same settings once more. Who has to change something, and where?",
    ),
}


EXERCISE = Exercise(
    "L7.E2",
    rows(facts, WORDS, FORM, beliefs=BELIEFS),
    (
        "Ask in this order. May the same call be made again? If not: can the transaction be given up, by the same "
        "producer? If not: would a new producer, which calls init_transactions(), help, and harm no other instance?",
        "Repeat a blocking call that timed out. After a lost record the transaction is useless, but the producer is "
        "not. After a refused *commit* the producer is useless. No call changes a setting.",
        "Timed-out calls: retry. A lost record, a group that has changed, and in version 2 an old epoch at a leader: "
        "abort. A refused EndTxn and a forgotten name: recreate. Exit if only a person can correct the mistake, or if "
        "a new producer would fence one that is at work.",
    ),
    points=12,
    questions=(14, 15, 23),
    misses=BELIEFS,
    afterwards=(
        "Why: an error tells you what is useless now: nothing yet, the transaction, the producer, or the deployment. "
        "Its name alone does not tell you: rows 4 and 5 have the same one, and so have 7 and 8. Next: review a "
        "configuration."
    ),
)
