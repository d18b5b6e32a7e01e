"""A fault is said to be possible exactly when striking it makes another run."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from random import Random

import pytest

from kafkalab import lab03
from kafkalab.faults.fault import Fault, FrameFault, TimedFault
from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Release, Reorder
from kafkalab.faults.link import Cut, Heal, Throttle
from kafkalab.faults.node import Crash, NodeFault, Pause, Restart
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.registry import FAULTS, Possible, links_of, possible_faults, possible_faults_on
from kafkalab.faults.storage import Compact
from kafkalab.log.cleaned_transactions import CleanedTransactions
from kafkalab.log.cleaner import would_clean
from kafkalab.programs.groups import two_members
from kafkalab.protocol.records import Batch
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario
from tests.conformance.cleaning import Written

DATA = Path(__file__).parents[2] / "data"
SLOW_AND_CUT = Throttle("b1", "b2", 3, at_step=130), Cut("b1", "b3", 140)
HELD = lab03().with_faults(Hold("Produce#1"), Pause("b1", at_step=150), Crash("b2", at_step=160), *SLOW_AND_CUT)
SCENARIOS = {
    "lab 03": lab03(),
    "a group": two_members(),
    "a feature that may rise": replace(lab03(), config={"transaction_version": 1}),
    "held, paused, crashed and cut": HELD,
    "anyone may lead": Scenario.load(DATA / "rules" / "clean_election.klab"),
    "compaction": Scenario.load(DATA / "rules" / "last_batch_stays.klab"),
    "a leader lost": Scenario.load(DATA / "rules" / "leader_epoch.klab"),
}


def run(scenario: Scenario, watch: object = None, limit: int = 5_000) -> Cluster:
    """The scenario's run, as far as it goes within `limit` steps of the schedule."""
    cluster = Cluster(scenario, watch=watch)  # type: ignore[arg-type]
    with suppress(StuckError, RunawayError):
        cluster.run(limit)
    cluster.close()
    return cluster


def watch_steps(scenario: Scenario, steps: list[int]) -> tuple[dict[int, Possible], Cluster]:
    """Return what was possible at each of these steps, and the cluster after its run."""
    noted: dict[int, Possible] = {}

    def watch(cluster: Cluster) -> None:
        if cluster.trace.steps - 1 in steps:
            noted[cluster.trace.steps - 1] = possible_faults(cluster)

    return noted, run(scenario, watch)


def struck_first(scenario: Scenario, fault: Fault) -> Scenario:
    """The scenario with the fault, before the others that it has for the same step."""
    return replace(scenario, faults=(fault, *scenario.faults))


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_possible_fault_makes_another_run_and_no_other_does(name: str) -> None:
    scenario, random = SCENARIOS[name], Random(name)
    whole = run(scenario)
    steps = [whole.start, *random.sample(range(whole.start + 1, min(whole.trace.steps, 500)), 5)]
    noted, same = watch_steps(scenario, steps)
    assert same.trace.digest() == whole.trace.digest()
    for step in steps:
        timed = [f for f in noted[step] if isinstance(f, TimedFault) and "cleanly" not in noted[step][f]]
        enabled = [f for f in timed if not noted[step][f]]
        rest = [f for f in timed if noted[step][f]]
        for fault in random.sample(enabled, min(8, len(enabled))) + random.sample(rest, min(5, len(rest))):
            now, reason = replace(fault, at_step=step), noted[step][fault]
            forked = run(struck_first(scenario, now), limit=2 * step + 200)
            assert forked.trace.steps > step
            assert bool(reason) == (now in forked.unused_faults or now in scenario.faults), f"{now}: {reason}"


def test_every_kind_of_fault_is_possible_somewhere_and_impossible_somewhere() -> None:
    seen: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    for scenario in SCENARIOS.values():
        for found in watch_steps(scenario, list(range(0, 1_000, 29)))[0].values():
            for fault, reason in found.items():
                seen[bool(reason)][type(fault).__name__] += 1
    kinds = {kind.__name__ for kind in FAULTS} - {"AdvanceClock", "Late", "Stall"}  # of both only their own run tells
    assert set(seen[False]) == kinds
    assert set(seen[True]) == kinds


def test_a_fault_on_a_frame_of_a_finished_run_is_judged_as_one_more_fault_of_its_scenario() -> None:
    random = Random(5)
    for scenario in (lab03(), lab03().with_faults(Drop("EndTxn#1"), Delay("Produce#1"), Crash("b1", at_step=140))):
        whole = run(scenario)
        frames = [*random.sample(list(whole.trace.frames), 12), "EndTxn#1", "Produce#1"]
        found = possible_faults_on(whole, "frame", dict.fromkeys(f for f in frames if not f.endswith("~copy")))
        for fault in random.sample(list(found), 60):
            if isinstance(fault, FrameFault):
                forked = run(scenario.with_faults(fault))
                assert (fault in forked.unused_faults or fault in scenario.faults) == bool(found[fault]), fault


@pytest.mark.parametrize(
    ("faults", "asked", "reason"),
    [
        ((Drop("EndTxn#1"),), Hold("EndTxn#1"), "EndTxn#1 is dropped already"),
        ((Hold("EndTxn#1"),), Drop("EndTxn#1"), "EndTxn#1 is held already"),
        ((Duplicate("EndTxn#1"),), Duplicate("EndTxn#1"), "EndTxn#1 arrives twice already"),
        ((Delay("EndTxn#1"),), Delay("EndTxn#1"), "EndTxn#1 is 1000 ms late already"),
        ((Delay("EndTxn#1"),), Delay("EndTxn#1", 5), ""),
        ((), Drop("EndTxn#99"), "no frame 'EndTxn#99' flies in this run"),
        ((), Reorder("EndTxn#1", "Nothing#1"), "reorder needs the frame after which EndTxn#1 arrives"),
        ((), Release("EndTxn#1"), "EndTxn#1 is not held at this step"),
        ((), Crash("nobody"), "'nobody' is no client or broker of this run"),
        ((), Crash("controller"), "'controller' is no client or broker of this run"),
        ((), Restart("payments"), "payments is a client; only a broker can be restarted"),
        ((), ElectLeader("no-0", "b1"), "no partition 'no-0' in this run"),
        ((), Compact("no-0"), "nothing in no-0 can be compacted at this step"),
        ((Cut("b1", ("b2", "b3"), at_ms=1),), Cut("b2", "b1"), "no frame gets through there already"),
        ((Cut("b1", ("b2", "b3"), at_ms=1),), Cut(("b2", "payments"), "b1"), ""),
        ((), Heal("b1", "b2"), "nothing is cut there"),
    ],
)
def test_a_reason_says_what_is_so_already(faults: tuple[Fault, ...], asked: Fault, reason: str) -> None:
    nodes = [p.node for p in lab03().programs]
    if isinstance(asked, NodeFault) and asked.node == "payments":
        asked = replace(asked, node=nodes[0])
    if isinstance(asked, Cut) and "payments" in asked.a:
        asked = replace(asked, a=("b2", nodes[0]))
    assert asked.why_not(run(lab03().with_faults(*faults))) == reason.replace("payments is", f"{nodes[0]} is")


def test_a_fault_that_is_planned_for_this_step_is_not_possible_a_second_time() -> None:
    whole = run(lab03())
    noted, _ = watch_steps(lab03().with_faults(Crash("b1", at_step=150), Crash("b2", at_step=0)), [whole.start, 150])
    assert noted[150][Crash("b1")] == "this happens right after this step already"
    assert noted[whole.start][Crash("b2")] == "this happens right after this step already"
    assert noted[whole.start][Crash("b3")] == ""


def test_connections_between_two_clients_are_left_out() -> None:
    found = possible_faults_on(whole := run(two_members()), "link", links_of(whole))
    clients = [p.node for p in two_members().programs]
    assert len(clients) > 1
    assert not any({f.a, f.b} <= set(clients) for f in found if isinstance(f, Cut | Heal))
    assert Cut("b1", clients[0]) in found


def test_a_watch_sees_each_event_after_the_set_up_before_its_faults_strike() -> None:
    seen: list[tuple[int, bool]] = []
    scenario = lab03().with_faults(Crash("b1", at_step=150))
    cluster = run(scenario, lambda c: seen.append((c.trace.steps - 1, c.nodes["b1"].alive)))
    assert [step for step, _ in seen] == list(range(cluster.start, cluster.trace.steps))
    assert dict(seen)[150]
    assert not dict(seen)[151]
    assert cluster.trace.digest() == run(scenario).trace.digest()


def test_a_watch_without_a_trace_is_refused() -> None:
    with pytest.raises(ValueError, match="watch needs the events"):
        Cluster(lab03(), keep=False, watch=lambda cluster: None)


def test_whether_a_log_would_be_compacted_is_found_at_the_first_record_that_would_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    w, seen = Written(), list[Batch]()
    for _ in range(300):
        w.data(1, "same key", txn=False)
    read = CleanedTransactions.data_read

    def note_and_read(self: CleanedTransactions, batch: Batch) -> bool:
        seen.append(batch)
        return read(self, batch)

    monkeypatch.setattr(CleanedTransactions, "data_read", note_and_read)
    assert would_clean(w.log, w.now)
    assert len(seen) == 2
    other = Written()
    other.data(1, "a", "b", txn=False)
    assert not would_clean(other.log, other.now)


def test_looking_changes_nothing() -> None:
    whole = run(lab03())
    before = {f.name: getattr(whole.scenario, f.name) for f in fields(Scenario)}
    digest = whole.trace.digest()
    assert possible_faults(whole) == possible_faults(whole)
    assert whole.trace.digest() == digest
    assert {f.name: getattr(whole.scenario, f.name) for f in fields(Scenario)} == before
