"""L7.E3: whose clock stops the counter? Every row is found by running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from kafkalab.course.lab07.scenario import AWAY_MS, DAY_MS, cut_off, shelf, told_at
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Pause, Resume
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, facts_of, rows
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

WORDS = ("nobody", "client", "coordinator", "group", "cleaner")
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "nobody", 2: ...}}'
WHO = {
    "KafkaTimeoutError": "client",
    "InvalidProducerEpochError": "coordinator",
    "InvalidTxnStateError": "coordinator",
    "ProducerFencedError": "coordinator",
    "CommitFailedError": "group",
    "InvalidPidMappingError": "cleaner",
}
"""The owner of the clock that caused an error; these runs have one counter, so no other client can have fenced it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The events of the counter's run, and what is believed about it."""

    says: str
    look: str
    args: Mapping[str, Any]
    faults: tuple[Fault, ...] = ()
    misses: Mapping[str, str] = field(default_factory=dict)


IDLE: Mapping[str, Any] = {"work_ms": 100, "idle_ms": 2 * AWAY_MS}

ROWS = (
    Row(
        says="the work takes 64 s and began at 1 s; the transaction may take 60 s",
        look="When does the coordinator look? It does so every ten seconds.",
        args={"work_ms": 64_000},
        misses={"coordinator": "to the second"},
    ),
    Row(
        says="the work takes 75 s; the transaction may take 60 s, delivery.timeout.ms is 120 s",
        look="Is any record on its way while the counter counts?",
        args={"work_ms": 75_000},
        misses={"client": "delivery is the work's", "nobody": "never late"},
    ),
    Row(
        says="the work takes 5 s, but a GC stops the counter for 88 s in the middle; the transaction may take 60 s",
        look="Which clocks run on while a process sleeps?",
        args={"work_ms": 5_000},
        faults=(Pause("counter", at_ms=2_000), Resume("counter", at_ms=90_000)),
        misses={"nobody": "my sleep does not count", "client": "delivery is the work's"},
    ),
    Row(
        says="the work takes 20 s; max.poll.interval.ms is 10 s, the transaction may take 60 s",
        look="Two clocks run from the poll on. Which one is shorter, and who keeps it?",
        args={"work_ms": 20_000, "reads": True, "max_poll_interval_ms": 10_000},
        misses={"coordinator": "one limit for all", "nobody": "heartbeats suffice"},
    ),
    Row(
        says="the counter is cut off from all brokers for 6 minutes, in the middle; the transaction may take 15",
        look="A record waits to be sent. Who gives up first?",
        args={"work_ms": 5_000, "transaction_timeout_ms": 900_000},
        faults=cut_off(2_000, 400_000),
        misses={"coordinator": "one limit for all", "nobody": "the network mends itself"},
    ),
    Row(
        says="a shelf is committed, 2 idle days pass, and the next one is counted",
        look="The leader has forgotten the producer id after a day. What does it do with a first batch of it?",
        args=IDLE,
        faults=(AdvanceClock(2 * DAY_MS, at_ms=AWAY_MS),),
        misses={"cleaner": "one expiry for all"},
    ),
    Row(
        says="a shelf is committed, 6 idle days pass, and the next one is counted",
        look="Who remembers the transactional id, and for how long?",
        args=IDLE,
        faults=(AdvanceClock(6 * DAY_MS, at_ms=AWAY_MS),),
        misses={"cleaner": "one expiry for all", "coordinator": "idle is open"},
    ),
    Row(
        says="a shelf is committed, 8 idle days pass, and the next one is counted",
        look="Is anything open during these days? Which setting is a week?",
        args=IDLE,
        faults=(AdvanceClock(8 * DAY_MS, at_ms=AWAY_MS),),
        misses={"coordinator": "idle is open", "nobody": "a name is for ever"},
    ),
    Row(
        says="the same 8 days; the brokers' transactional.id.expiration.ms is 30 days",
        look="What is left of the reasons of the row above?",
        args={**IDLE, "config": {"transactional_id_expiration_ms": 30 * DAY_MS}},
        faults=(AdvanceClock(8 * DAY_MS, at_ms=AWAY_MS),),
        misses={"cleaner": "one expiry for all"},
    ),
    Row(
        says="8 days pass in the middle of a shelf, with the transaction open",
        look="In which states does a name expire? What happened to this transaction long before?",
        args={"work_ms": 5_000},
        faults=(AdvanceClock(8 * DAY_MS, at_ms=2_000),),
        misses={"cleaner": "open names expire", "nobody": "my sleep does not count"},
    ),
)


def scenario(of_seed: int, row: Row) -> Scenario:
    """The row's run, with the latencies of this seed."""
    return shelf(*row.faults, title=row.says, seed=of_seed, **row.args)


def whose(cluster: Cluster) -> str:
    """Return whose clock caused the counter's first error; nobody's if it has committed."""
    first = cluster.results["counter"][0]
    return "nobody" if first == "committed" else WHO[first.split(": ")[1]]


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Every row with whose clock struck in its run."""
    return facts_of(ROWS, partial(scenario, of_seed), whose, told_at)


EXERCISE = Exercise(
    "L7.E3",
    rows(facts, WORDS, FORM),
    (
        "For each row list the clocks that run, and which is shortest: that of a record on its way (client), between "
        "two polls (group), of an open transaction (coordinator), of a name at rest (cleaner).",
        "delivery.timeout.ms counts only for a record that waits or is under way. The coordinator counts from the "
        "first record on, also while the process sleeps, and looks every ten seconds. A name expires only at rest.",
        "More than 70 s in one transaction of 60 s: the coordinator. Longer than max.poll.interval.ms: the group. No "
        "broker to be reached: the client. More than a week at rest, unless it is set otherwise: the cleaner.",
    ),
    points=10,
    questions=(15, 22, 23),
    misses={
        "to the second": "The coordinator looks every ten seconds: at 60 s the transaction is 59 s old. When does it "
        "look next, and what is committed by then?",
        "delivery is the work's": "delivery.timeout.ms is about one record, from send() to its answer. While the work "
        "is done no record is under way.",
        "never late": 0,
        "my sleep does not count": 1,
        "one limit for all": 0,
        "heartbeats suffice": "Heartbeats come from a thread of their own. max.poll.interval.ms is there for a member "
        "whose heart beats, and which does nothing.",
        "the network mends itself": "It does, after six minutes. How long does the client try?",
        "one expiry for all": "There are two expiries: a leader forgets a producer id after a day, which harms nobody "
        "today; the coordinator forgets a name after transactional.id.expiration.ms.",
        "idle is open": "Between two shelves nothing is open, so no transaction can time out.",
        "a name is for ever": "The coordinator's table would grow with every name that was ever used. What does it do "
        "about that?",
        "open names expire": "Only a name at rest expires. This one was Ongoing, and for how long may it be?",
    },
    afterwards=(
        "Why: every clock has its own keeper, its own start and its own end. The one that is shortest where you are "
        "strikes first, and what it leaves behind differs. Next: lab 8, where those who keep the clocks die."
    ),
)
