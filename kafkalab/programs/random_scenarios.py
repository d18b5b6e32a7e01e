"""Scenarios by chance: a cluster, its clients, and faults that are aimed at what they do.

What is drawn comes from a `Pick`: `Seeded(7)` for the same scenario on every machine, or, in the tests, hypothesis,
which shrinks a failure to a scenario that can be pasted.
"""

from __future__ import annotations

from kafkalab.faults.fault import Fault
from kafkalab.programs.moments import DryRun, dry_run
from kafkalab.programs.random_clients import (
    random_administrator,
    random_at_least_once,
    random_processors,
    random_readers,
    random_workers,
    random_writers,
)
from kafkalab.programs.random_cluster import BROKERS, random_config, random_denial, random_epochs
from kafkalab.programs.random_faults import lets_a_batch_be_overtaken, outlives_its_retry, random_fault
from kafkalab.programs.randomness import Pick, Seeded, once_in
from kafkalab.sim.scenario import Program, Scenario

__all__ = ["Pick", "Seeded", "random_scenario"]

TITLE = "by chance"


def random_scenario(
    pick: Pick, profile: str | None = None, rules_off: tuple[str, ...] = (), unclean: bool = False
) -> Scenario:
    """Draw a cluster and its clients, run them without faults, and draw faults from what that run did.

    The later faults are drawn from a run with the earlier ones. With `unclean`, elections may be unclean ones.

    What every Kafka before transaction version 2 is exposed to is left out: an EndTxn or a marker that comes after its
    own retry ends the next transaction, which has the same epoch (KAFKA-17754; data/kafka_17754.klab shows it), and a
    TxnOffsetCommit enters it (KIP-890). So is a batch that the next one of an idempotent producer overtakes, which TCP
    does not let happen.
    """
    scenario = random_work(pick, profile, rules_off)
    for most in (3, 2):
        count = pick.number(0, most)
        if count:
            run = dry_run(scenario)
            drawn = [random_survivable_fault(pick, run, unclean) for _ in range(count)]
            scenario = scenario.with_faults(*(fault for faults in drawn for fault in faults))
            run.cluster.discard()
    return scenario


def random_survivable_fault(pick: Pick, run: DryRun, unclean: bool) -> list[Fault]:
    """Draw one fault, without the faults that no client withstands, and those that no network makes."""
    found, scenario = random_fault(pick, run, unclean), run.cluster.scenario
    if run.cluster.rules.client_protocol < 2 or "transaction_version" in scenario.config:
        found = [fault for fault in found if not outlives_its_retry(fault)]
    if any(program.run == "idempotent_writer" for program in scenario.programs):
        found = [fault for fault in found if not lets_a_batch_be_overtaken(fault)]
    return found


def random_work(pick: Pick, profile: str | None = None, rules_off: tuple[str, ...] = ()) -> Scenario:
    """Draw a scenario without faults."""
    profile = profile or pick.one_of(("4.x/TV2", "4.x/TV1"))
    partitions = pick.number(1, 4)
    topics, records, programs = {"out": partitions}, {}, list[Program]()
    kind = pick.number(0, 7)
    if kind < 4:
        programs = random_writers(pick, partitions)
    else:
        topics = {"in": partitions, "out": partitions}
        records = {f"in-{i}": tuple(f"{i}/{n}" for n in range(pick.number(1, 4))) for i in range(partitions)}
        programs = random_workers(pick, partitions) if kind < 7 else random_processors(pick, partitions)
        if once_in(pick, 5):
            programs += random_at_least_once(pick)
        elif once_in(pick, 4):
            programs += random_writers(pick, partitions, few=True)
    programs += random_readers(pick, partitions)
    ids = list(dict.fromkeys(p.args["transactional_id"] for p in programs if "transactional_id" in p.args))
    if once_in(pick, 4):
        programs.append(random_administrator(pick, ids))
    fresh = once_in(pick, 8)
    brokers = pick.one_of(BROKERS)
    return Scenario(
        title=TITLE,
        brokers=brokers,
        profile=profile,
        rules_off=rules_off,
        topics=topics,
        records=records,
        config=random_config(pick, profile, brokers),
        programs=tuple(programs),
        fresh=fresh,
        producer_epochs=random_epochs(pick, ids) if not fresh and once_in(pick, 6) else {},
        acls=(random_denial(pick, programs, ids),) if once_in(pick, 10) else (),
        seed=pick.number(1, 1000),
    )
