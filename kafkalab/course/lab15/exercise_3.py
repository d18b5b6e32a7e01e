"""L15.E3: which open transactions hang? The learner's function beside what the tool says of runs, and mutants of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.faults.frame import Delay
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.failover import ACCOUNTS, HOUR_MS, LATE_MS
from kafkalab.protocol.rules import VERIFICATION
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

FORM = "a function hanging(now_ms, producers, names, descriptions) that returns a list of (partition, start offset)"
MINUTE_MS, LONGEST_MS = 60_000, 15 * 60_000
PARTITIONS = tuple(f"{ACCOUNTS}-{place}" for place in range(4))
MOMENTS = (8, 14, 17, 24, 40)
"""Minutes after the start at which a cluster is asked."""
RUNS = 8
Facts = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """The tools' output on a run at a moment, and the verdict of `find-hanging`."""

    case: Case
    truth: list[tuple[str, int]]
    scenario: Scenario
    at_ms: int


def scenario(random: Random) -> Scenario:
    """Some of these: a batch that came after its marker, a transaction that is only long, one that nobody has named."""
    places = random.sample(range(len(PARTITIONS)), len(PARTITIONS))
    programs = []
    begin_ms, late = random.choice((60, 600, 3_000)) * 1_000, random.random() < 0.8
    given = {"transactional_id": f"payments-{random.randrange(9)}", "begin_ms": begin_ms, "end_ms": HOUR_MS - 1}
    given |= {"partition": places[0], "late_partition": places[1] if late else -1}
    programs.append(Program("app", "held_open", given))
    if random.random() < 0.7:
        begin_ms = random.randint(60, 900) * 1_000
        patient = {"transactional_id": "reports-0", "partition": places[2], "begin_ms": begin_ms, "end_ms": HOUR_MS}
        programs.append(Program("patient", "held_open", patient))
    if random.random() < 0.6:
        done = {"transactional_id": "alerts-0", "partition": places[2], "begin_ms": 5_000, "end_ms": 9_000}
        programs.append(Program("done", "held_open", done))
    if random.random() < 0.6:
        programs.append(Program("ghost", "raw_requests", {"steps": _nameless(random, PARTITIONS[places[3]])}))
    return Scenario(
        title="Open transactions",
        profile="4.x/TV1",
        seed=random.randint(1, 10_000),
        rules_off=(VERIFICATION.name,),
        topics={ACCOUNTS: len(PARTITIONS)},
        config={"transaction_max_timeout_ms": HOUR_MS},
        programs=tuple(programs),
        faults=(Delay("Produce#2", LATE_MS),) if late else (),
    )


def _nameless(random: Random, partition: str) -> list[dict[str, object]]:
    """A batch of a producer id that no coordinator knows any more."""
    at_ms = random.randint(60, 1_200) * 1_000
    batch = {"values": ["nobody's"], "producer_id": 7_000, "producer_epoch": 0, "base_sequence": 0}
    given = {"transactional_id": "gone-0", "acks": -1, "timeout_ms": 30_000}
    given["batches"] = {partition: {**batch, "transactional": True, "timestamp_ms": at_ms}}
    ask = {"ask": "Produce", "to": f"leader of {partition}", "version": 11, "with": given}
    return [{"at": at_ms}, ask]


def _ask_tools(of: Scenario, at_ms: int) -> ToolOutput:
    """Run the scenario up to this time, and have an administrator ask."""
    cluster = _run_up_to(of, at_ms)
    admin = cluster.client("admin").admin()
    producers = _ask_admin(cluster, lambda app: admin.describe_producers(PARTITIONS))
    listings = _ask_admin(cluster, lambda app: admin.list_transactions())
    ids = [listing.transactional_id for listing in listings]
    descriptions = _ask_admin(cluster, lambda app: admin.describe_transactions(ids))
    found = _ask_admin(cluster, lambda app: admin.find_hanging_transactions(ACCOUNTS))
    rows = [
        {
            "partition": partition,
            "producer_id": state.producer_id,
            "start_offset": state.current_txn_start_offset if state.current_txn_start_offset >= 0 else None,
            "last_timestamp_ms": state.last_timestamp_ms,
        }
        for partition, states in producers.items()
        for state in states
    ]
    names = {listing.producer_id: listing.transactional_id for listing in listings}
    told = {tid: {"state": d.state, "partitions": list(d.partitions)} for tid, d in descriptions.items()}
    hanging = {(h.partition, h.producer.current_txn_start_offset) for h in found}
    truth = [pair for row in rows if (pair := (row["partition"], row["start_offset"])) in hanging]
    return ToolOutput(case=(cluster.now, rows, names, told), truth=truth, scenario=of, at_ms=at_ms)


def _run_up_to(of: Scenario, at_ms: int) -> Cluster:
    cluster = Cluster(of)
    cluster.run_for(at_ms)
    return cluster


def _ask_admin(cluster: Cluster, ask: Callable[[App], Coroutine[Any, Any, Any]]) -> Any:
    """Return the administrator's answer; the cluster goes on until it has come."""

    async def program(app: App) -> Any:
        return await ask(app)

    cluster.spawn("admin", program)
    while "admin" not in cluster.results:
        cluster.run_for(1)
    result = cluster.results.pop("admin")
    assert not isinstance(result, KafkaError), result
    return result


@cache
def moments(of_seed: int) -> tuple[ToolOutput, ...]:
    """Moments of some runs; in some something hangs, in some nothing does."""
    random = random_for("L15.E3", of_seed)
    runs = [scenario(random) for _ in range(RUNS)]
    found = [_ask_tools(of, minutes * MINUTE_MS) for of in runs for minutes in random.sample(MOMENTS, 3)]
    return tuple(found)


def judge(
    now_ms: int,
    producers: list[Facts],
    names: dict[int, str],
    descriptions: dict[str, Facts],
    *,
    age: bool = True,
    coordinator: bool = True,
    ongoing_lives: bool = False,
    named_lives: bool = False,
    nameless_hangs: bool = True,
    closed_too: bool = False,
) -> list[tuple[str, int]]:
    """Return the open transactions that hang, with some of the rules switched; with none it is what the tool says."""
    found = []
    for row in producers:
        if row["start_offset"] is None and not closed_too:
            continue
        if age and now_ms - row["last_timestamp_ms"] <= LONGEST_MS:
            continue
        name = names.get(row["producer_id"])
        known = descriptions.get(name) if name is not None else None
        lists = known is not None and row["partition"] in known["partitions"]
        lives = lists or (named_lives and known is not None)
        lives = lives or bool(ongoing_lives and known and known["state"] == "Ongoing")
        if not coordinator or (nameless_hangs if known is None else not lives):
            found.append((row["partition"], row["start_offset"]))
    return found


MUTANTS = (
    Mutant(
        "every open one", "every open transaction hung; each one is open for a while",
        partial(judge, age=False, coordinator=False), hint=0,
    ),
    Mutant(
        "old is proof", "old were proof; a transaction may be allowed an hour", partial(judge, coordinator=False),
        hint="Ask the coordinator: does the description of this producer's name list the partition?",
    ),
    Mutant(
        "no time limit", "a transaction could be called hanging at once; its coordinator may just be ending it",
        partial(judge, age=False),
        hint="A transaction younger than 15 minutes is not reported yet, whatever the coordinator says: compare now_ms "
        "with last_timestamp_ms.",
    ),
    Mutant(
        "Ongoing lives", "a name in state Ongoing had no hanging transaction; the Ongoing one may be another",
        partial(judge, ongoing_lives=True),
        hint="A producer can have one transaction that hangs and a new one that is Ongoing, elsewhere. Which "
        "partitions does the description list?",
    ),
    Mutant(
        "a name lives", "a producer with a known name could have no hanging transaction",
        partial(judge, named_lives=True), hint=1,
    ),
    Mutant(
        "nobody's is nobody's", "a producer id without a name could have no hanging transaction; its transaction stays "
        "open for ever",
        partial(judge, nameless_hangs=False),
        hint="If no coordinator knows the producer id, who is left to send a marker?",
    ),
    Mutant(
        "closed ones too", "a producer without an open transaction had one", partial(judge, closed_too=True),
        hint="Look at start_offset: None means that nothing is open there.",
    ),
)  # fmt: skip


def truth(of_seed: int) -> Callable[..., list[tuple[str, int]]]:
    """Return what `find-hanging` said at each moment."""
    return lambda *case: _moment_of(of_seed, case).truth


def _moment_of(of_seed: int, case: Case) -> ToolOutput:
    return next(asked for asked in moments(of_seed) if list(asked.case) == list(case))


def cases(of_seed: int) -> tuple[Case, ...]:
    """The moments as arguments of the learner's function."""
    return tuple(asked.case for asked in moments(of_seed))


def _run_of(*case: object) -> Counterexample:
    asked = _moment_of(seed(), case)
    cluster = _run_up_to(asked.scenario, asked.at_ms)
    return {"run": cluster, "step": cluster.trace.steps - 1, "view": "LogTape"}


EXERCISE = Exercise(
    "L15.E3",
    lambda answer: against_mutants(answer, truth(seed()), MUTANTS, cases(seed()), FORM, _run_of),
    (
        "Three questions about each row: is something open, is it older than any transaction may be, and will a "
        "coordinator still end it?",
        "Only a coordinator ends a transaction, and it sends markers to the partitions that it lists. So look for the "
        "row's partition in the description of the row's producer.",
        "Skip rows whose start_offset is None and rows with now_ms - last_timestamp_ms of 15 minutes or less. Of the "
        "others, a row hangs if its producer id has no name, or the name no description, or the description does not "
        "list the row's partition. Return the pairs in the order of the rows.",
    ),
    points=7,
    misses=hints_of(MUTANTS),
    questions=(38,),
    question=lambda of_seed: cases(of_seed)[:2],
    afterwards=(
        "Why: a transaction has two sides, the leader that has it open and the coordinator that will end it. Only "
        "if you ask both can you tell a long one from one that hangs. Next: in lab 9 a late frame ends the wrong "
        "transaction."
    ),
)
