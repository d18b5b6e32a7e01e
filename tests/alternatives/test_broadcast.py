"""The atomic broadcast: majority, recovery in a new epoch, what is committed and what is cut off."""

from __future__ import annotations

from typing import cast

import pytest

from kafkalab.alternatives.broadcast import SERVERS, Client, Server, broadcast
from kafkalab.alternatives.presses import run
from kafkalab.alternatives.world import World
from kafkalab.faults.node import Crash, Restart

SEEDS = range(1, 6)


def run_world(*strikes: Crash | Restart, seed: int = 1) -> World:
    world = broadcast(World("atomic broadcast", seed, strikes))
    world.run()
    return world


def server(world: World, name: str) -> Server:
    return cast("Server", world.processes[name])


def answer(world: World) -> str:
    return cast("Client", world.processes["app"]).answer


@pytest.mark.parametrize("seed", SEEDS)
def test_a_proposal_is_delivered_when_a_majority_has_logged_it(seed: int) -> None:
    world = run_world(seed=seed)
    first = world.trace.of("state", "delivered")[0]
    logged = {e.node for e in world.trace.of("append") if e.step < first.step}
    assert len(logged) >= 2
    assert [server(world, name).delivered for name in SERVERS] == [["1.1"]] * 3
    assert answer(world) == "committed"


def test_one_server_less_is_not_waited_for_and_two_less_are() -> None:
    assert run("atomic broadcast", [("other", "written")]).told == "committed"
    two = run("atomic broadcast", [("other", "written"), ("told", "written")])
    assert two.parts == {"s1": "in doubt", "s2": "down", "s3": "down"}
    assert two.told == "unknown"


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_has_seen_the_proposal_leads_next_in_a_higher_epoch_and_commits_it(seed: int) -> None:
    left = run("atomic broadcast", [("coordinator", "prepared")], seed=seed)
    assert left.parts == {"s1": "down", "s2": "committed", "s3": "committed"}
    epochs = [e.data.txn for e in left.trace.of("append") if e.data.kind == "epoch"]
    assert epochs == ["2", "2"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_proposal_that_only_the_dead_leader_has_is_cut_off_when_it_comes_back(seed: int) -> None:
    back = run("atomic broadcast", [("coordinator", "asked")], again=True, seed=seed)
    assert set(back.parts.values()) == {"aborted"}
    assert [e.node for e in back.trace.of("truncate")] == ["s1"]


def test_any_second_server_that_comes_back_lets_the_last_one_go_on() -> None:
    witnesses = run("atomic broadcast", [("coordinator", "told"), ("told", "told")]).strikes
    for one in ("s1", "s2"):
        world = run_world(*witnesses, Restart(one, at_ms=60_000))
        assert server(world, "s3").delivered == server(world, one).delivered == ["1.1"]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_client_was_told_is_committed_whoever_crashes_when(seed: int) -> None:
    steps = len(run_world(seed=seed).trace.events)
    for step in range(steps):
        for node in SERVERS:
            world = run_world(Crash(node, at_step=step), Restart(node, at_ms=60_000), seed=seed)
            delivered = [server(world, name).delivered for name in SERVERS]
            assert delivered in ([["1.1"]] * 3, [[]] * 3), (node, step, delivered)
            assert answer(world) == "unknown" or delivered == [["1.1"]] * 3, (node, step)
