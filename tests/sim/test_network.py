"""The network: order per connection, faults on frames, broken connections, time-outs."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.client.exceptions import KafkaError, KafkaTimeoutError
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Crash, Pause
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import StuckError
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame


def run(*faults: Fault, seed: int = 1) -> Cluster:
    cluster = Cluster(lab03(seed=seed).with_faults(*faults))
    cluster.run()
    return cluster


@pytest.mark.parametrize("seed", range(10))
def test_frames_on_one_connection_arrive_in_the_order_in_which_they_were_sent(seed: int) -> None:
    arrived: dict[tuple[str, str], list[int]] = {}
    busy = Scenario(
        topics={"out": 1},
        seed=seed,
        programs=tuple(
            Program(f"p{i}", "transactions", {"transactional_id": f"t{i}", "count": 3, "records": 4}) for i in range(4)
        ),
    )
    cluster = Cluster(busy)
    cluster.run()
    for event in cluster.trace.of("receive"):
        frame = event.data
        arrived.setdefault((frame.sender, frame.receiver), []).append(frame.sent_step)
    assert max(map(len, arrived.values())) > 50
    assert all(steps == sorted(steps) for steps in arrived.values())


def test_a_dropped_request_is_sent_again_after_thirty_seconds() -> None:
    frames = run(Drop("EndTxn#1")).trace.frames
    assert (frames["EndTxn#1"].fate, frames["EndTxn#1"].received_step) == ("dropped", -1)
    assert frames["EndTxn#2"].attempt == 2
    assert 30_000 <= frames["EndTxn#2"].sent_ms - frames["EndTxn#1"].sent_ms < 31_000


def test_a_duplicated_request_is_answered_twice_and_counted_once() -> None:
    cluster = run(Duplicate("EndTxn#1"))
    copies = [f for f in cluster.trace.frames.values() if f.copy_of == "EndTxn#1"]
    answers = [f for f in cluster.trace.frames.values() if f.of == "EndTxn#1"]
    assert [c.fate for c in copies] == ["delivered"]
    assert [a.error for a in answers] == ["CONCURRENT_TRANSACTIONS", "NONE"]
    assert cluster.results == {"app": "committed"}


def test_a_trace_that_is_not_kept_holds_no_frame_and_a_full_one_no_more() -> None:
    unkept = Cluster(lab03().with_faults(Duplicate("EndTxn#1")), keep=False)
    unkept.run()
    assert (unkept.results, unkept.trace.frames) == ({"app": "committed"}, {})
    full = Cluster(lab03().with_faults(Duplicate("EndTxn#1")))
    full.trace.full, held = True, list(full.trace.frames)
    full.run()
    assert (full.results, list(full.trace.frames)) == ({"app": "committed"}, held)


def test_what_a_response_answers_is_known_until_it_has_arrived() -> None:
    cluster = Cluster(lab03())
    asked: dict[str, Any] = {}

    def gate(frame: Frame) -> bool:
        if frame.of:
            asked[frame.id] = cluster.network.find_request(frame)
        return False

    cluster.network.gate = gate
    cluster.run()
    response = cluster.trace.frames["EndTxnResponse#1"]
    assert asked[response.id] is cluster.trace.frames[response.of].body
    assert cluster.network.find_request(response) is None


def test_a_delayed_frame_is_overtaken() -> None:
    frames = run(Delay("WriteTxnMarkers#1", 500)).trace.frames
    assert frames["WriteTxnMarkers#1"].received_ms - frames["WriteTxnMarkers#1"].sent_ms > 500
    assert frames["WriteTxnMarkers#2"].received_ms < frames["WriteTxnMarkers#1"].received_ms


def test_peers_of_a_crashed_broker_notice_at_once_and_the_controller_after_nine_seconds() -> None:
    whole = run()
    step = whole.trace.frames["EndTxn#1"].sent_step
    cluster = whole.fork(step, Crash("b3"))
    crash = cluster.trace.of("crash")[0]
    published = next(e for e in cluster.trace.of("state", "metadata") if e.step > crash.step)
    assert cluster.trace.frames["EndTxn#1"].fate == "lost"
    again = next(f for f in cluster.trace.frames.values() if f.sender == "app" and f.sent_step > crash.step)
    assert (again.name, again.sent_ms - crash.at_ms < 200) == ("FindCoordinator", True)
    assert published.at_ms - crash.at_ms == 9_000
    assert published.data["alive"] == ("b1", "b2")


async def init_twice(app: App) -> list[tuple[int, int]]:
    found = []
    for _ in range(3):
        producer = app.producer(transactional_id="a")
        await producer.init_transactions()
        found.append((producer.transaction_manager.producer_id, producer.transaction_manager.producer_epoch))
    return found


def test_every_instance_of_a_transactional_id_gets_the_next_epoch_of_the_same_producer_id() -> None:
    cluster = Cluster(Scenario(programs=(Program("app", init_twice),)))
    cluster.run()
    (producer_id, _), *_ = cluster.results["app"]
    assert cluster.results["app"] == [(producer_id, 0), (producer_id, 1), (producer_id, 2)]


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_the_next_transaction_waits_until_the_markers_of_the_last_one_are_written(profile: str) -> None:
    programs = (Program("app", "transactions", {"transactional_id": "a", "count": 2}),)
    scenario = Scenario(topics={"out": 1}, profile=profile, programs=programs)
    cluster = Cluster(scenario.with_faults(Delay("WriteTxnMarkers#1", 400)))
    cluster.run()
    asked = [f for f in cluster.trace.frames.values() if f.name == "AddPartitionsToTxnResponse"]
    assert "CONCURRENT_TRANSACTIONS" in [f.error for f in asked]
    states = [e.data["state"] for e in cluster.trace.of("state", "transaction") if not e.data["pending"]]
    second = states.index("Ongoing", states.index("PrepareCommit"))
    assert "CompleteCommit" in states[:second]
    assert cluster.outcome().committed["out-0"] == ("a/0/0", "a/1/0")


@pytest.mark.parametrize("moment", ["FindCoordinator#1", "Fetch#1", "Produce#2", "TxnOffsetCommit#1", "EndTxn#1"])
def test_without_any_broker_the_program_gives_up_after_its_time_out_and_the_run_ends(moment: str) -> None:
    step = run().trace.frames[moment].sent_step
    cluster = run(*(Crash(b, at_step=step) for b in ("b1", "b2", "b3")))
    error = cluster.results["app"]
    if moment == "Produce#2":  # the flush ends when its batch expires; the next call gets the stored error, wrapped
        assert str(error).startswith("Cannot execute transactional method because we are in an error state")
    else:
        assert isinstance(error, KafkaTimeoutError)
    assert cluster.now < 1_500_000
    assert cluster.outcome().verdict in ("nothing", "open")


@pytest.mark.parametrize("moment", ["InitProducerId#1", "Produce#2", "EndTxn#1", "WriteTxnMarkers#1"])
def test_with_one_broker_left_the_transaction_log_takes_nothing_and_nothing_is_torn(moment: str) -> None:
    step = run().trace.frames[moment].sent_step
    cluster = run(Crash("b1", at_step=step), Crash("b2", at_step=step))
    assert cluster.outcome().verdict in ("nothing", "open", "committed")


def test_a_node_that_stays_paused_does_not_keep_the_run_going_for_ever() -> None:
    with pytest.raises(StuckError, match="app still waits, but nothing happens any more; the last events"):
        run(Pause("app", at_step=120))


def test_with_one_broker_left_a_client_of_version_1_gives_up_after_its_delivery_timeout() -> None:
    scenario = lab03("4.x/TV1")
    whole = Cluster(scenario)
    whole.run()
    step = whole.trace.frames["AddPartitionsToTxn#1"].sent_step
    cluster = Cluster(scenario.with_faults(Crash("b1", at_step=step), Crash("b2", at_step=step)))
    cluster.run()
    assert isinstance(cluster.results["app"], KafkaError)
    assert cluster.now > 120_000
