"""For each rule the fewest faults with which its absence shows: found by the search, saved in data/found/."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from kafkalab.explore.anomalies import OTHER
from kafkalab.explore.fault_sequence import KINDS
from kafkalab.explore.programs import GENERIC, idempotent_produce, two_partition_transactions
from kafkalab.explore.result import Result
from kafkalab.explore.search import explore
from kafkalab.explore.shrink import shrink
from kafkalab.protocol.acls import CLUSTER, IDEMPOTENT_WRITE, Deny
from kafkalab.protocol.rules import GROUP_LOG_WAITS, INVALID_RECORD_CODE, TOPIC_WRITE_SUFFICES, Rule
from kafkalab.protocol.windows import WINDOWS
from kafkalab.reference.bug import scenario_of as bug_scenario
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.found_scenarios import FOLDER, fault_count, slug
from kafkalab.reference.rule_matrix import EXPECTED, REASONS, scenario_of
from kafkalab.sim.scenario import Program, Scenario

RUNS, GENERIC_RUNS = 1_500, 80
SECONDS = 30
SHRINK_RUNS = 150
PROGRAMS = tuple([(make, "4.x/TV2") for make in GENERIC] + [(two_partition_transactions, "4.x/TV1")])
NO_IDEMPOTENT_WRITE = Deny("*", IDEMPOTENT_WRITE, CLUSTER)
ROOT = Path(__file__).parents[2]


def with_denial() -> Scenario:
    """An idempotent producer that may write to the topic, and has no right to be idempotent anywhere else."""
    scenario = idempotent_produce()
    return replace(scenario, title=f"{scenario.title}, without IdempotentWrite", acls=(NO_IDEMPOTENT_WRITE,))


def with_a_malformed_batch() -> Scenario:
    """A batch with a producer id and no sequence: Java's producer never sends one."""
    batch = {"values": ["x"], "producer_id": 1, "producer_epoch": 0, "base_sequence": -1}
    fields = {"transactional_id": None, "acks": -1, "timeout_ms": 30_000, "batches": {"out-0": batch}}
    step = {"ask": "Produce", "to": "leader of out-0", "with": fields}
    return Scenario(
        title="A batch with a producer id and no sequence",
        topics={"out": 1},
        programs=(Program("p", "raw_requests", {"steps": [step]}),),
    )


def with_many_commits() -> Scenario:
    """A consumer commits its offset every 2 seconds where three in-sync replicas are demanded."""
    commits = [["poll", 1_000], ["commit_sync"], ["sleep", 2_000]] * 12
    return Scenario(
        title="Offsets are committed, while min.insync.replicas is 3",
        topics={"in": 1},
        records={"in-0": ("a", "b")},
        config={"min_insync_replicas": 3},
        programs=(
            Program("c", "consumer_operations", {"steps": [["assign", ["in-0"]], *commits], "group_id": "g"}),
        ),
    )  # fmt: skip


OWN = {
    TOPIC_WRITE_SUFFICES: (with_denial, 0),
    INVALID_RECORD_CODE: (with_a_malformed_batch, 0),
    GROUP_LOG_WAITS: (with_many_commits, -1),
}
"""Programs for rules that no page has a scenario for, and how many faults show that the rule is off; -1: not known."""


@dataclass(frozen=True, slots=True)
class Row:
    """The findings for a rule: in its own programs, the faults taken out, and in a generic program."""

    rule: str
    hand: int
    own: int
    own_runs: int
    own_seconds: float
    own_stopped: str
    program: str
    generic: int
    generic_runs: int
    generic_seconds: float


def by_hand(rule: Rule) -> tuple[Scenario | None, int]:
    """Return the scenario that people made for a rule, and how many faults it needs; what undoes one is none."""
    if rule in EXPECTED:
        scenario = scenario_of(rule, ROOT)
    elif rule in OWN:
        make, faults = OWN[rule]
        return make(), faults
    else:
        bug = next((bug for bug in BUGS if bug.rule == rule and not bug.profile), None)
        if bug is None:
            return None, -1
        scenario = bug_scenario(bug, ROOT)
    return scenario, fault_count(scenario)


def search_rule(scenario: Scenario, rule: Rule, most: int, runs: int) -> tuple[Result | None, int, float, str]:
    """Search for what the rule's absence shows; return the result, the runs, the seconds of CPU, and why it stopped."""
    begun = time.process_time()
    find = OTHER if rule not in EXPECTED else ()

    def stop(covered: object) -> str:
        return f"{SECONDS} s were over" if time.process_time() - begun > SECONDS else ""

    try:
        stalls = ("stall",) if any(rule in window.rules for window in WINDOWS.values()) else ()
        result = explore(scenario, find, [rule.name], most, runs=runs, kinds=(*KINDS, *stalls), stop=stop)
    except ValueError as error:
        return None, 0, time.process_time() - begun, str(error)
    return result, result.covered.runs, time.process_time() - begun, result.stopped


def row_of(rule: Rule) -> Row:
    """Search in the generic programs, and in the rule's own if they need more faults; save it, made small."""
    scenario, hand = by_hand(rule)
    name, found, more_runs, more = "", None, 0, 0.0
    for make, profile in PROGRAMS:
        found, tried, took, _ = search_rule(make(profile), rule, 1, GENERIC_RUNS)
        more_runs, more = more_runs + tried, more + took
        name = f"{make.__name__} {profile}"
        if found is not None and found.found is not None:
            break
    own, runs, seconds, stopped = None, 0, 0.0, "not searched"
    if scenario is not None and (found is None or found.found is None or found.size > hand >= 0):
        own, runs, seconds, stopped = search_rule(replace(scenario, faults=()), rule, max(hand, 1), RUNS)
    best = next((r for r in (own, found) if r is not None and r.found is not None), None)
    if best is not None and best.found is not None:
        small = shrink(best, SHRINK_RUNS)
        assert small.found is not None
        off = tuple(name for name in small.found.rules_off if name != rule.name)
        replace(small.found, rules_off=off).save(ROOT / FOLDER / f"{slug(rule)}.klab")
    size = found.size if found is not None else -1
    return Row(
        rule.name, hand, own.size if own else -1, runs, seconds, stopped,
        name if size >= 0 else "", size, more_runs, more,
    )  # fmt: skip


def rows(names: list[str], jobs: int) -> Iterator[Row]:
    """Return the rows of these rules, of all where none is named, as they are made."""
    wanted = [rule for rule in (*EXPECTED, *REASONS) if not names or slug(rule) in names]
    if jobs == 1:
        yield from map(row_of, wanted)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(row_of, wanted)


def line(row: Row) -> str:
    """One row as a line of text."""
    took = f"{row.own_seconds:5.1f} s" if row.own >= 0 else row.own_stopped
    own = f"{row.own:2} {row.own_runs:5} {took}"
    generic = f"{row.generic:2} {row.generic_runs:5} {row.generic_seconds:5.1f} s {row.program}"
    return f"{row.rule:58} {row.hand:2} | {own:24} | {generic}"
