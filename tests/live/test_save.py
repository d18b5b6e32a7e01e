"""A live session as a scenario: the same answers when it runs again, and a run like any other to step and to fork."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.frame import Drop, Duplicate, Hold, Release
from kafkalab.faults.node import Crash
from kafkalab.live.cluster import LiveCluster
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_COMMITTED, Fetch
from kafkalab.protocol.messages.list_offsets import ListOffsets
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.views.sequence import Sequence
from tests.live.conftest import CALL_S, Client


def again(live: LiveCluster, folder: Path) -> Cluster:
    """Save the session; its answers are the same when it runs again."""
    found = live.save(folder / "session.klab")
    assert found.differences == ()
    assert found.answers > 0
    return ran(Scenario.load(folder / "session.klab"))


def commit_values(client: Client, *values: str) -> None:
    assert client.now(client.init) is Error.NONE
    for value in values:
        assert client.now(partial(client.send, value)) is Error.NONE
        assert client.now(client.end) is Error.NONE


def test_a_session_gives_the_same_logs_in_virtual_time(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    commit_values(client, "$9.99", "b")
    run = again(live, tmp_path)
    assert run.outcome() == live.outcome()
    assert run.outcome().committed == {"out-0": ("$9.99", "b")}
    assert run.log_of("out-0").batches[0].records[0].key == "k"


def test_it_can_be_stepped_back_and_forked(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    commit_values(client, "a")
    again(live, tmp_path)
    sequence = Sequence(Scenario.load(tmp_path / "session.klab"))
    sequence.press("end")
    sequence.press("left")
    sequence.press("find", "EndTxn#1")
    sequence.press("drop")
    assert sequence.cluster.outcome().committed == {"out-0": ()}
    sequence.press("undo")
    assert sequence.cluster.outcome().committed == {"out-0": ("a",)}


def test_a_clock_that_was_moved_is_moved_once(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    commit_values(client, "a")
    live.strike(AdvanceClock(70_000))
    commit_values(client, "b")
    run = again(live, tmp_path)
    (clock,) = run.scenario.faults
    assert isinstance(clock, AdvanceClock)
    assert clock.at_ms < 60_000
    assert 70_000 < run.now < 130_000


def test_records_are_as_old_as_they_were(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    """After eight days retention deletes them, by the time-stamps that the client gave them."""

    def read(offset: int) -> tuple[Error, int]:
        leader = live.cluster.controller.metadata.leader("out-0")
        asked = Fetch(isolation_level=READ_COMMITTED, positions={"out-0": offset}, max_wait_ms=0)
        found = client.ask(leader, asked, 12).partitions["out-0"]
        return found.error, found.log_start_offset

    def since(timestamp: int) -> int:
        leader = live.cluster.controller.metadata.leader("out-0")
        return int(client.ask(leader, ListOffsets(partitions=("out-0",), timestamp=timestamp), 7).offsets["out-0"])

    before_ms = time.time_ns() // 1_000_000
    commit_values(client, "a")
    assert client.now(lambda: read(0)) == (Error.NONE, 0)
    assert (client.now(lambda: since(before_ms)), client.now(lambda: since(before_ms + 3_600_000))) == (0, -1)
    live.strike(AdvanceClock(8 * 86_400_000))
    commit_values(client, "b")
    assert client.now(lambda: read(0))[0] is Error.OFFSET_OUT_OF_RANGE
    run = again(live, tmp_path)
    offsets = [f.body.offsets["out-0"] for f in run.trace.frames.values() if f.name == "ListOffsetsResponse"]
    assert offsets == [0, -1]
    assert run.log_of("out-0").log_start_offset == live.cluster.log_of("out-0").log_start_offset == 2


def test_ids_come_from_answers_so_that_a_fork_follows_them(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    commit_values(client, "a", "b")
    again(live, tmp_path)
    (program,) = Scenario.load(tmp_path / "session.klab").programs
    ids = [step["with"]["producer_id"] for step in program.args["steps"] if step.get("ask") == "EndTxn"]
    assert ids == ["$r1.producer_id", "$r3.producer_id"]


def test_a_frame_that_was_late_is_held_and_released(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    commit_values(client, "a")
    client.now(lambda: client.send("b"))
    live.hold("EndTxn#2")
    asked = client.later(client.end)
    live.wait_for("EndTxn#2")
    other = Client(live, "other", "second")
    assert other.now(other.init) is Error.NONE
    live.let_go("EndTxn#2")
    assert asked.result(CALL_S) is Error.NONE
    run = again(live, tmp_path)
    assert [type(f) for f in run.scenario.faults] == [Hold, Release]
    steps = run.trace.frames["EndTxn#2"].received_step, run.trace.frames["InitProducerIdResponse#2"].received_step
    assert steps[0] > steps[1]
    other.close()


def test_what_clients_did_one_after_the_other_stays_so(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    second, seen = Client(live, client.tid, "second"), []
    for one, other in ((client, second), (second, client)) * 3:
        seen += [one.now(one.init), one.now(partial(one.send, "a")), one.now(one.end), other.now(other.end)]
        one.sequence = 0
    assert Error.PRODUCER_FENCED in seen
    assert again(live, tmp_path).outcome() == live.outcome()
    second.close()


def test_frames_that_are_stepped_through_are_released_after_they_are_sent(
    live: LiveCluster, client: Client, tmp_path: Path
) -> None:
    live.hold()
    others = Client(live, "other", "second")
    asked = [one.later(one.init) for one in (client, others)]
    while not all(one.done() for one in asked):
        live.step(timeout_s=0.05)
    asked = [client.later(lambda: client.send("a")), others.later(lambda: others.send("b"))]
    while not all(one.done() for one in asked):
        live.step(timeout_s=0.05)
    run = again(live, tmp_path)
    assert run.unused_faults == ()
    assert [f.fate for f in run.trace.frames.values() if f.fate == "in flight" and f.category != "replication"] == []
    others.close()


def test_a_dropped_answer_and_a_jump_of_the_clock_are_the_scenarios_faults(
    live: LiveCluster, client: Client, tmp_path: Path
) -> None:
    live.strike(Drop("InitProducerIdResponse#1"))
    with pytest.raises(ConnectionError):
        client.now(client.init)
    client.disconnect()
    commit_values(client, "a")
    client.now(lambda: client.send("b"))
    live.strike(AdvanceClock(120_000))
    run = again(live, tmp_path)
    assert [type(f) for f in run.scenario.faults] == [AdvanceClock, Drop]
    assert run.outcome() == live.outcome()
    assert run.outcome().verdict == "aborted"


def test_an_answer_that_depends_on_real_time_is_named(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    commit_values(client, "a")
    client.now(lambda: client.send("b"))
    live.hold("EndTxn#2")
    asked = client.later(client.end)
    live.duplicate(live.wait_for("EndTxn#2"))
    assert asked.result(CALL_S) is Error.NONE
    found = live.save(tmp_path / "session.klab")
    assert found.scenario.faults == (Duplicate("EndTxn#2"),)
    (first, *_) = found.differences
    assert first == "EndTxnResponse#2 to app: NONE live, CONCURRENT_TRANSACTIONS in virtual time"
    assert str(found).startswith(f"{found.answers - len(found.differences)} of {found.answers} answers are the same")


def test_a_crash_and_a_restart_strike_at_their_time(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    commit_values(client, "a")
    idle = next(b for b in ("b1", "b2", "b3") if b != client.coordinator)
    live.crash(idle)
    client.now(lambda: client.send("b")) if live.cluster.controller.metadata.leader("out-0") != idle else None
    live.restart(idle)
    run = again(live, tmp_path)
    assert [f.node for f in run.scenario.faults if isinstance(f, Crash)] == [idle]


def test_what_still_waits_never_arrives(live: LiveCluster, client: Client, tmp_path: Path) -> None:
    commit_values(client, "a")
    live.hold("EndTxn")
    client.now(lambda: client.send("b"))
    client.later(client.end)
    waiting = live.wait_for("EndTxn")
    run = again(live, tmp_path)
    assert run.scenario.faults == (Hold(waiting),)


def test_nothing_is_not_saved(live: LiveCluster, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no client has asked anything yet"):
        live.save(tmp_path / "nothing.klab")
    assert not list(tmp_path.iterdir())
