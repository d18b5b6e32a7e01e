"""The simulator's kernel alone, and what a crash in the middle of sending, receiving or a session does to a cluster."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.kernel.kernel import IDLE_ENTRIES, IDLE_MS, OBJECTS, Kernel
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario


@pytest.fixture
def kernel() -> Kernel:
    made = Kernel(True, "a test")
    made.add_node("a")
    made.add_node("b")
    return made


def note(kernel: Kernel, name: str) -> None:
    kernel.record("a", "state", name, -1, {})


def idle() -> bool:
    return False


def names(kernel: Kernel) -> list[tuple[int, str]]:
    return [(e.at_ms, e.name) for e in kernel.trace.events]


def test_what_is_due_happens_in_the_order_of_time_and_then_of_planning(kernel: Kernel) -> None:
    for delay_ms, name in ((5, "late"), (2, "first"), (2, "second")):
        kernel.timer("a", delay_ms, lambda name=name: note(kernel, name))  # type: ignore[misc]
    kernel.run(10, idle)
    assert names(kernel) == [(2, "first"), (2, "second"), (5, "late")]


def test_a_timer_of_an_earlier_incarnation_never_fires(kernel: Kernel) -> None:
    kernel.timer("a", 2, lambda: note(kernel, "gone"))
    kernel.nodes["a"].incarnation += 1
    kernel.timer("a", 2, lambda: note(kernel, "here"))
    kernel.run(10, idle)
    assert names(kernel) == [(2, "here")]


def test_a_node_is_running_in_its_present_incarnation_only(kernel: Kernel) -> None:
    assert kernel.running("a")
    assert kernel.running("a", 0)
    assert not kernel.running("a", 1)
    kernel.nodes["a"].alive = False
    assert not kernel.running("a")


def test_what_is_due_on_a_paused_node_waits_in_its_inbox(kernel: Kernel) -> None:
    kernel.nodes["a"].paused = True
    kernel.timer("a", 2, lambda: note(kernel, "waits"))
    kernel.timer("b", 2, lambda: note(kernel, "goes on"))
    kernel.run(10, idle)
    assert names(kernel) == [(2, "goes on")]
    assert len(kernel.nodes["a"].inbox) == 1


def test_an_interrupt_happens_after_its_event_and_before_anything_else(kernel: Kernel) -> None:
    kernel.interrupts[0] = [lambda: note(kernel, "one"), lambda: note(kernel, "two")]
    note(kernel, "cause")
    note(kernel, "next")
    assert [name for _, name in names(kernel)] == ["cause", "one", "two", "next"]
    assert kernel.interrupted
    assert kernel.interrupts == {}


def test_a_run_goes_on_while_a_server_is_busy_and_ends_when_background_work_alone_is_left(kernel: Kernel) -> None:
    left = [3]

    def tick() -> None:
        note(kernel, "tick")
        left[0] -= 1
        kernel.timer("a", 10, tick, True)

    kernel.timer("a", 10, tick, True)
    kernel.run(100, lambda: left[0] > 0)
    assert kernel.now == 30


def test_a_task_that_waits_for_what_never_comes_is_named(kernel: Kernel) -> None:
    never: Any = kernel.promise()

    async def wait() -> None:
        await never

    kernel.drive("b", wait(), main=True)
    with pytest.raises(StuckError, match=r"^b still waits"):
        kernel.run(10, idle)


def test_a_run_after_one_that_ended_with_frames_in_flight_does_what_is_new(kernel: Kernel) -> None:
    def again() -> None:
        kernel.timer("a", 1, again)

    async def work() -> str:
        note(kernel, "work")
        return "done"

    again()
    kernel.run(IDLE_ENTRIES + 10, idle)
    done = kernel.drive("b", work(), main=True)
    kernel.run(IDLE_ENTRIES + 10, idle)
    assert done.result() == "done"


def test_a_run_after_idle_time_waits_as_long_for_servers_as_the_first(kernel: Kernel) -> None:
    left = [3]

    def tick() -> None:
        left[0] -= 1
        kernel.timer("a", 10, tick, True)

    kernel.timer("a", IDLE_MS + 20, tick, True)
    kernel.run_for(IDLE_MS + 10, 100, "b")
    kernel.run(100, lambda: left[0] > 0)
    assert left == [0]


def test_the_steps_of_a_run_are_limited(kernel: Kernel) -> None:
    def again() -> None:
        kernel.timer("a", 1, again)

    again()
    with pytest.raises(RunawayError, match="did not end within 7 steps"):
        kernel.run(7, idle)
    with pytest.raises(RunawayError, match="more than 7 steps in 100 ms"):
        kernel.run_for(100, 7, "b")


def test_a_coroutine_of_a_dead_node_is_closed_and_never_runs(kernel: Kernel) -> None:
    async def say() -> None:
        note(kernel, "alive")

    kernel.nodes["a"].alive = False
    kernel.drive("a", say())
    kernel.run(10, idle)
    assert names(kernel) == []


@pytest.mark.parametrize("before", [(700, 10, 10), (50_000, 10, 10), (0, 10, 10)])
def test_the_threshold_of_the_garbage_collector_is_raised_during_a_run_only(
    kernel: Kernel, before: tuple[int, int, int]
) -> None:
    seen: list[int] = []
    kernel.timer("a", 1, lambda: seen.append(gc.get_threshold()[0]))
    usual = gc.get_threshold()
    gc.set_threshold(*before)
    try:
        kernel.run(10, idle)
        assert gc.get_threshold()[:2] == before[:2]  # the third is always 0 in Python 3.14
    finally:
        gc.set_threshold(*usual)
    assert seen == [max(before[0], OBJECTS) if before[0] else 0]


# crashes in the middle of something


def test_a_frame_whose_sender_dies_in_the_moment_of_sending_never_leaves() -> None:
    frame = Cluster(lab03()).run()
    sent = next(f for f in frame.frames.values() if f.name == "EndTxn")
    cluster = Cluster(lab03().with_faults(Crash(sent.sender, at_step=sent.sent_step)))
    trace = cluster.run()
    assert trace.frames["EndTxn#1"].fate == "lost"
    assert trace.frames["EndTxn#1"].received_step == -1
    assert cluster.kernel.interrupted


def test_a_request_whose_receiver_dies_in_the_moment_of_arrival_is_not_handled() -> None:
    received = Cluster(lab03()).run().frames["EndTxn#1"]
    trace = Cluster(lab03().with_faults(Crash(received.receiver, at_step=received.received_step))).run()
    caused = [e for e in trace.events if e.cause == received.received_step]
    assert [e.kind for e in caused] == ["crash"]


def alive_at(cluster: Cluster, broker: str) -> list[tuple[int, bool]]:
    """Each change of whether the controller holds the broker alive, with its time."""
    seen = [(0, True)]
    for event in cluster.trace.of("state", "metadata"):
        alive = broker in event.data["alive"]
        if alive != seen[-1][1]:
            seen.append((event.at_ms, alive))
    return seen


def test_a_broker_that_restarts_within_its_session_is_not_fenced_when_the_previous_session_expires() -> None:
    faults = (Crash("b1", at_ms=1_000), Restart("b1", at_ms=2_000), Crash("b1", at_ms=20_000))
    cluster = Cluster(Scenario(topics={"out": 1}).with_faults(*faults))
    cluster.run_for(40_000)
    changes = [(at_ms // 1_000, alive) for at_ms, alive in alive_at(cluster, "b1") if at_ms > 2_100]
    assert changes == [(29, False)]


def test_a_broker_that_is_paused_for_longer_than_its_session_is_fenced_and_let_in_again() -> None:
    faults = (Pause("b1", at_ms=1_000), Resume("b1", at_ms=15_000))
    cluster = Cluster(Scenario(topics={"out": 1}).with_faults(*faults))
    cluster.run_for(30_000)
    assert [(at_ms // 1_000, alive) for at_ms, alive in alive_at(cluster, "b1")] == [(0, True), (10, False), (15, True)]


async def at_once() -> None:
    """End."""


def test_servers_that_repeat_the_same_for_ever_do_not_keep_a_run_from_ending(kernel: Kernel) -> None:
    def again() -> None:
        note(kernel, "marker appended, and not replicated")
        kernel.timer("b", 5_000, again)

    kernel.drive("a", at_once(), main=True)
    again()
    kernel.run(3 * IDLE_ENTRIES, lambda: True)
    assert IDLE_ENTRIES < kernel.trace.steps <= 2 * IDLE_ENTRIES + 1
    assert kernel.now > IDLE_MS


def test_a_program_that_does_not_end_is_named(kernel: Kernel) -> None:
    async def waits() -> None:
        await kernel.promise()

    def again() -> None:
        note(kernel, "still here")
        kernel.timer("b", 5_000, again)

    for node in ("a", "b"):
        kernel.drive(node, waits(), main=True)
    again()
    with pytest.raises(RunawayError, match=r"^the run did not end within 60000 steps: a, b go on; the last events:\n"):
        kernel.run(3 * IDLE_ENTRIES, lambda: True)
    kernel.close()
