"""The same scenario and seed give the same trace, on every machine and hash seed; another seed gives another."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalab import lab03
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.sim.cluster import Cluster

ROOT = Path(__file__).parents[2]
PRINT_DIGESTS = """
from kafkalab import lab03
from kafkalab.programs.random_scenarios import Seeded, random_scenario
from kafkalab.sim.cluster import Cluster
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
for profile in ("4.x/TV1", "4.x/TV2"):
    for faults in ((), (Drop("EndTxnResponse#1"),), (Crash("b3", at_step=150),)):
        cluster = Cluster(lab03(profile, 7).with_faults(*faults))
        print(cluster.run().digest())
for seed in range(4):
    print(Cluster(random_scenario(Seeded(seed))).run().digest())
"""
KNOWN = ["4.x/TV1", "4.x/TV2"]


def digests(hash_seed: int) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_DIGESTS], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.campaign
def test_three_hash_seeds_give_the_same_digests_in_processes_of_their_own() -> None:
    first, *others = (digests(seed) for seed in (0, 1, 2))
    assert len(set(first)) == 6 + 4
    assert others == [first, first]


def test_another_seed_gives_another_run() -> None:
    assert Cluster(lab03(seed=1)).run().digest() != Cluster(lab03(seed=2)).run().digest()


def test_a_fault_changes_nothing_before_its_step() -> None:
    base = Cluster(lab03())
    base.run()
    for fault, step in ((Drop("EndTxn#1"), base.trace.frames["EndTxn#1"].sent_step), (Crash("b2"), 120)):
        forked = base.fork(step, fault)
        before = [e.as_json() for e in base.trace.events[:step]]
        assert [e.as_json() for e in forked.trace.events[:step]] == before or _only_fates(base, forked, step)
        assert forked.trace.digest() != base.trace.digest()


def _only_fates(base: Cluster, forked: Cluster, step: int) -> bool:
    """A frame that was under way at `step` may end otherwise; everything else is the same."""
    return all(
        (a.at_ms, a.node, a.kind, a.name, a.cause, a.frame) == (b.at_ms, b.node, b.kind, b.name, b.cause, b.frame)
        for a, b in zip(base.trace.events[:step], forked.trace.events[:step], strict=True)
    )


def test_counting_steps_only_takes_the_same_steps() -> None:
    assert len(Cluster(lab03(), keep=False).run()) == len(Cluster(lab03()).run())


def test_a_cluster_that_is_discarded_leaves_little_to_the_garbage_collector() -> None:
    def garbage_of(end: Callable[[Cluster], None]) -> int:
        gc.collect()
        gc.disable()
        try:
            cluster = Cluster(lab03())
            cluster.run()
            end(cluster)
            del cluster
            return gc.collect()
        finally:
            gc.enable()

    assert garbage_of(Cluster.discard) * 5 < garbage_of(Cluster.close)
