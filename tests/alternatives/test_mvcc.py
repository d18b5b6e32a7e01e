"""The MVCC table: what a snapshot sees, and that a crash or a rollback takes nothing back."""

from __future__ import annotations

from typing import cast

import pytest

from kafkalab.alternatives.mvcc import Reader, Server, Snapshot, Version, mvcc, visible
from kafkalab.alternatives.presses import run
from kafkalab.alternatives.world import World
from kafkalab.faults.node import Crash, Restart

OLD, NEW = {"accounts-0": 100, "accounts-1": 100}, {"accounts-0": 90, "accounts-1": 110}
LOG = {1: "committed", 5: "committed", 6: "aborted", 7: "in progress"}


def run_world(*strikes: Crash | Restart, refuses: bool = False, seed: int = 1) -> World:
    world = mvcc(World("MVCC", seed, strikes), refuses)
    world.run()
    return world


def server(world: World) -> Server:
    return cast("Server", world.processes["db"])


@pytest.mark.parametrize(
    ("xmin", "xmax", "snapshot", "sees"),
    [
        (1, 0, Snapshot(10), True),
        (5, 0, Snapshot(5), False),  # began later
        (5, 0, Snapshot(10, (5,)), False),  # was running, has committed since
        (6, 0, Snapshot(10), False),  # aborted
        (7, 0, Snapshot(10), False),  # cut off by a crash: no word, and not running
        (8, 0, Snapshot(10), False),  # no entry at all
        (7, 0, Snapshot(10, (7,), 7), True),  # its own
        (1, 5, Snapshot(10), False),  # replaced
        (1, 5, Snapshot(5), True),  # replaced later
        (1, 5, Snapshot(10, (5,)), True),  # replaced by one that was running
        (1, 6, Snapshot(10), True),  # its replacer has aborted
        (1, 7, Snapshot(10, (7,), 7), False),  # replaced by itself
    ],
)
def test_a_version_is_seen_if_its_maker_counts_and_its_replacer_does_not(
    xmin: int, xmax: int, snapshot: Snapshot, sees: bool
) -> None:
    assert visible(Version("row", 0, xmin, xmax), snapshot, LOG) is sees


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_reader_in_the_middle_gets_the_old_rows_at_once_and_later_the_new_ones(seed: int) -> None:
    world = run_world(seed=seed)
    assert cast("Reader", world.processes["reader"]).looks == [OLD, NEW]
    asked, answered = world.trace.of("send", "Select")[0], world.trace.of("receive", "Rows")[0]
    assert answered.at_ms - asked.at_ms <= 8


def test_every_snapshot_sees_one_version_of_each_row_at_every_crash_and_never_half_of_the_transfer() -> None:
    for step in range(len(run_world().trace.events)):
        world = run_world(Crash("db", at_step=step), Restart("db", at_ms=30_000))
        db = server(world)
        assert db.rows_seen(db.snapshot()) in (OLD, NEW)
        kinds = [entry.kind for entry in db.log("wal")]
        assert (db.rows_seen(db.snapshot()) == NEW) is ("commit" in kinds)


def test_a_rollback_takes_nothing_back() -> None:
    db = server(run_world(refuses=True))
    old, new = [(100, 1, 100)] * 2, [(90, 100, 0), (110, 100, 0)]
    assert [(v.value, v.xmin, v.xmax) for v in db.versions] == old + new
    assert db.rows_seen(db.snapshot()) == OLD


def test_a_server_that_is_down_answers_nobody_and_counts_what_was_not_committed_as_aborted_later() -> None:
    assert run("MVCC", [("coordinator", "prepared")]).parts == {"accounts-0": "down", "accounts-1": "down"}
    assert set(run("MVCC", [("coordinator", "prepared")], again=True).parts.values()) == {"aborted"}
    assert set(run("MVCC", [("coordinator", "decided")], again=True).parts.values()) == {"committed"}
