"""L11.E3: review the configuration of a pipeline, and name what breaks; each configuration is run with crashes."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongType, describe, is_blank
from kafkalab.grading.mutants import called_each
from kafkalab.grading.reviews import Reviewed, judge_review
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.booking import PAYMENTS
from kafkalab.programs.database import rows
from kafkalab.programs.sinks import AFTER, BEFORE, POSITIONS, WITH
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

LOST, DOUBLED, ROLLED_BACK = WORDS = ("lost", "doubled", "rolled back")
FORM = f"a function review(config) that returns a list with those of {', '.join(map(repr, WORDS))} that can happen"
JOB, CONNECTOR = "stream job", "source connector"
WRITER, SUPPORT, INTERVAL, TIMEOUT = (
    "writer", "exactly.once.source.support", "checkpoint.interval.ms", "transaction.timeout.ms",
)  # fmt: skip
ISOLATION, POSITION, INSERT = "isolation.level", "position stored", "insert"
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
PLAIN, ONCE = "INSERT", "INSERT OR IGNORE"
COUNT = 12
Config = dict[str, Any]
Run = tuple[str, Scenario]


def draw_config(random: Random) -> Config:
    """Draw a configuration of a writer and a sink."""
    if random.random() < 0.6:
        interval, timeout = random.choice(((10_000, 60_000), (30_000, 60_000), (60_000, 20_000), (90_000, 30_000)))
        writer: Config = {WRITER: JOB, INTERVAL: interval, TIMEOUT: timeout}
    else:
        writer = {WRITER: CONNECTOR, SUPPORT: random.choice(("enabled", "disabled"))}
    reader = {
        ISOLATION: random.choice((COMMITTED, UNCOMMITTED)),
        POSITION: random.choice((BEFORE, AFTER, WITH)),
        INSERT: random.choice((PLAIN, ONCE)),
    }
    return {**writer, **reader}


@cache
def draw(of_seed: int) -> tuple[tuple[tuple[str, Any], ...], ...]:
    """Return `COUNT` different configurations, two of which break nothing and in which each word is needed."""
    random = random_for("L11.E3", of_seed)
    while True:
        found = {tuple(draw_config(random).items()): None for _ in range(3 * COUNT)}
        drawn = tuple(found)[:COUNT]
        truths = [frozenset(broken_runs(config)) for config in drawn]
        if len(drawn) == COUNT and set().union(*truths) == set(WORDS) and truths.count(frozenset()) >= 2:
            return drawn


def scenario(config: Config, faults: tuple[Fault, ...] = ()) -> Scenario:
    """Return the pipeline with this configuration: a writer, a sink, and those that take over after a crash."""
    if config[WRITER] == JOB:
        wait, until = config[INTERVAL], 3 * config[INTERVAL] + 30_000
        writers = [Program("job", "checkpointed_job", {"interval_ms": wait, "timeout_ms": config[TIMEOUT]})]
    else:
        exactly_once, until = config[SUPPORT] == "enabled", 60_000
        arguments = {"exactly_once": exactly_once}
        writers = [
            Program("connector", "source_connector", arguments),
            Program("connector-2", "source_connector", {**arguments, "start_after_ms": 20_000}),
        ]
    sink = {
        "position": config[POSITION], "once": config[INSERT] == ONCE, "isolation_level": config[ISOLATION],
        "until_ms": until,
    }  # fmt: skip
    again = {**sink, "until_ms": until + 40_000, "start_after_ms": until + 10_000}
    sinks = [Program("sink", "row_sink", sink), Program("sink-2", "row_sink", again)]
    return Scenario(
        title="A pipeline into a database",
        brokers=1,
        topics={PAYMENTS: 1, POSITIONS: 1},
        programs=(*writers, *sinks),
        faults=faults,
        config={"group_initial_rebalance_delay_ms": 0},
    )


@cache
def _find_broken(config: tuple[tuple[str, Any], ...]) -> tuple[Run, ...]:
    """Run the configuration without a crash and with each; return what breaks, with the first run that shows it."""
    settings = dict(config)
    calm = ran(scenario(settings))
    chapters = reversed(list(calm.trace.of("state", "chapter")))
    steps = {f"{e.node}: {e.data['name']}": e.step for e in chapters}
    writer = tuple(Crash(name.partition(":")[0], at_step=s) for name, s in steps.items() if ": sent 2" in name)
    sinks = [Crash("sink", at_step=s) for name, s in steps.items() if name in ("sink: between", "sink: stored")]
    found: dict[str, Scenario] = {}
    for faults in ((), *((crash,) for crash in (*writer[:1], *sinks))):
        made = scenario(settings, faults)
        for word in judge(ran(made), settings):
            found.setdefault(word, made)
    return tuple(found.items())


def broken_runs(config: tuple[tuple[str, Any], ...]) -> dict[str, Scenario]:
    """Return what this configuration breaks, each with a run that shows it."""
    return dict(_find_broken(config))


def judge(cluster: Cluster, config: Config) -> list[str]:
    """Return what has broken in a run: the bookings beside the payments that count."""
    table = "booked_once" if config[INSERT] == ONCE else "bookings"
    booked = Counter(payment for (payment,) in rows(cluster, f"SELECT payment FROM {table}"))
    results = [r for node, r in cluster.results.items() if node.startswith(("job", "connector"))]
    counted = next(result for result in results if isinstance(result, list))
    words = []
    if any(not booked[payment] for payment in counted):
        words.append(LOST)
    if max(booked.values(), default=0) > 1:
        words.append(DOUBLED)
    if set(booked) - set(counted):
        words.append(ROLLED_BACK)
    return words


def check(answer: object) -> str:
    """ "12 of 12 configurations" if exactly what can break is named; else WrongAnswer with a run of the first."""
    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    drawn = draw(seed())
    given = called_each(answer, [(dict(config),) for config in drawn])
    if all(is_blank(value) for value in given):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {FORM}.")
    return judge_review([_review(config) for config in drawn], [_read(value) for value in given], "configuration")


def _review(drawn: tuple[tuple[str, Any], ...]) -> Reviewed:
    config = dict(drawn)
    return Reviewed(
        shown=str(config),
        breaks=broken_runs(drawn),
        run=scenario(config),
        miss=lambda said, word: _name_fear(config, word) if word in said else _name_miss(config, word),
    )


def _read(value: Any) -> set[str]:
    if not isinstance(value, (list, tuple, set)) or any(word not in WORDS for word in value):
        raise WrongType(f"Give {FORM}, not {describe(value)}.")
    return set(value)


def _name_miss(config: Config, word: str) -> str:
    """Return the belief of a learner who does not see that this breaks."""
    if word == LOST:
        too_long = config[WRITER] == JOB and config[INTERVAL] > config[TIMEOUT]
        return "the checkpoint commits" if too_long else "stored means done"
    if word == ROLLED_BACK:
        return "the broker hides it"
    return (
        "the source sends once" if config[WRITER] == CONNECTOR and config[POSITION] != AFTER else "the offset saves me"
    )


def _name_fear(config: Config, word: str) -> str:
    """Return the belief of a learner who sees a danger that is none here."""
    if word == DOUBLED:
        return "a key does not help" if config[INSERT] == ONCE else "position and row are one"
    return "a short checkpoint is lost" if word == LOST else "the reader filters"


EXERCISE = Exercise(
    "L11.E3",
    check,
    (
        "Go along the pipeline: does the writer's data become committed, what does the sink's consumer get of it, and "
        "what happens to a record if the sink crashes between storing the position and storing the row?",
        "lost: the position is stored before the row; or a transaction is open for longer than its timeout, so the "
        "coordinator aborts records that the job calls done. rolled back: the sink reads aborted records.",
        "doubled: the row is stored and the position is not, or a source without exactly-once support sends again, "
        "or a read_uncommitted sink gets an aborted attempt and its repetition. INSERT OR IGNORE on the payment's own "
        "id ends all three.",
    ),
    points=8,
    questions=(31,),
    misses={
        "the checkpoint commits": "How long is the transaction open, and what does the coordinator do after "
        "transaction.timeout.ms?",
        "stored means done": "The sink crashes right after it has stored the position. Who books this record?",
        "the broker hides it": "What does a consumer with this isolation.level get of an aborted transaction?",
        "the source sends once": "The connector crashes before its position is stored. Where does the next one begin?",
        "the offset saves me": "The sink crashes between the row and the offset. Where does the next one begin?",
        "a key does not help": "What does INSERT OR IGNORE do with a payment that is there already?",
        "position and row are one": "Can the row be there without the position?",
        "a short checkpoint is lost": "Compare the interval with the timeout. Who aborts this transaction?",
        "the reader filters": "A read_committed consumer leaves out aborted records. And without transactions?",
    },
    question=lambda of_seed: [dict(config) for config in draw(of_seed)],
    afterwards=(
        "Why: each line of a configuration protects one step of the pipeline, and the weakest step decides. Only a "
        "row that may be written twice, or a position in the row's own transaction, covers a crash of the sink. Next: "
        "lab 12 counts what was lost and doubled in millions of records."
    ),
)
