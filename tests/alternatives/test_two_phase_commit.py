"""Textbook two-phase commit: votes, the decision, who may abort alone, who waits, what recovery does."""

from __future__ import annotations

from typing import cast

import pytest

from kafkalab.alternatives.presses import run
from kafkalab.alternatives.two_phase_commit import Participant, two_phase_commit
from kafkalab.alternatives.world import World
from kafkalab.faults.node import Crash, Restart

SEEDS = range(1, 6)


def logs(world: World) -> dict[str, list[str]]:
    return {node: [entry.kind for entry in log] for (node, _), log in world.logs.items()}


def run_world(*strikes: Crash | Restart, participants: int = 2, refuses: bool = False, seed: int = 1) -> World:
    world = two_phase_commit(World("two-phase commit", seed, strikes), participants, refuses)
    world.run()
    return world


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("participants", [2, 3, 4])
def test_all_vote_yes_then_one_record_decides_and_all_commit(seed: int, participants: int) -> None:
    world = run_world(participants=participants, seed=seed)
    names = [f"p{n}" for n in range(1, participants + 1)]
    assert logs(world) == {"tc": ["begin", "commit", "end"]} | dict.fromkeys(names, ["update", "prepared", "commit"])
    steps = {e.frame: e.step for e in world.trace.of("receive", "Vote")}
    (decided,) = [e.step for e in world.trace.of("append") if e.node == "tc" and e.data.kind == "commit"]
    assert len(steps) == participants
    assert max(steps.values()) < decided


@pytest.mark.parametrize("seed", SEEDS)
def test_a_participant_forces_prepared_before_it_votes(seed: int) -> None:
    world = run_world(seed=seed)
    for vote in world.trace.of("send", "Vote"):
        logged = [e.step for e in world.trace.of("append") if e.node == vote.node and e.data.kind == "prepared"]
        assert logged
        assert logged[0] < vote.step


def test_one_no_aborts_all_and_each_writes_its_old_value_back() -> None:
    world = run_world(refuses=True)
    assert logs(world) == {
        "tc": ["begin", "abort", "end"], "p1": ["update", "prepared", "abort"], "p2": ["update", "abort"],
    }  # fmt: skip
    assert sorted(e.node for e in world.trace.of("state", "undo")) == ["p1", "p2"]


def test_who_has_not_voted_aborts_alone_when_nobody_asks() -> None:
    left = run("two-phase commit", [("coordinator", "written")])
    assert left.parts == {"p1": "aborted", "p2": "aborted"}
    assert left.trace.of("state", "undo")[0].at_ms > 10_000


@pytest.mark.parametrize("moment", ["prepared", "decided"])
@pytest.mark.parametrize("seed", SEEDS)
def test_who_has_voted_waits_for_ever_when_nobody_who_is_left_knows(moment: str, seed: int) -> None:
    left = run("two-phase commit", [("coordinator", moment)], seed=seed)
    assert left.waiting == ("p1", "p2")
    answers = [f.body["decision"] for f in left.trace.frames.values() if f.name == "Told"]
    assert answers
    assert set(answers) == {"uncertain"}


def test_who_is_in_doubt_learns_it_of_a_participant_that_knows() -> None:
    left = run("two-phase commit", [("coordinator", "told")])
    assert left.parts == {"p1": "committed", "p2": "committed"}


@pytest.mark.parametrize(("moment", "becomes"), [("prepared", "aborted"), ("decided", "committed")])
def test_a_coordinator_that_comes_back_aborts_what_it_has_not_decided_and_repeats_what_it_has(
    moment: str, becomes: str
) -> None:
    back = run("two-phase commit", [("coordinator", moment)], again=True)
    assert set(back.parts.values()) == {becomes}


def test_a_participant_comes_back_in_doubt_and_asks() -> None:
    back = run("two-phase commit", [("other", "decided")], again=True)
    assert back.parts == {"p1": "committed", "p2": "committed"}
    assert any(e.node == "p2" for e in back.trace.of("state", "in doubt"))


def test_a_participant_that_crashed_before_its_vote_comes_back_and_aborts() -> None:
    world = run_world(Crash("p2", at_ms=4), Restart("p2", at_ms=60_000))
    assert cast("Participant", world.processes["p2"]).state == "abort"
    assert cast("Participant", world.processes["p1"]).state == "abort"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_crash_of_one_process_makes_two_participants_decide_differently(seed: int) -> None:
    whole = run_world(seed=seed)
    for step in range(len(whole.trace.events)):
        for node in ("tc", "p1", "p2"):
            for back in (False, True):
                strikes = (Restart(node, at_ms=60_000),) if back else ()
                world = run_world(Crash(node, at_step=step), *strikes, seed=seed)
                ends = {log[-1] for name, log in logs(world).items() if name != "tc" and log}
                assert not {"commit", "abort"} <= ends, (node, step, back, logs(world))
                if back:
                    assert ends <= {"commit", "abort"}, (node, step, logs(world))
