"""A live cluster: frames that wait at the gate, faults, and calls from other threads."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kafkalab import ClientView, Verdict
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.frame import Drop, Hold, Release
from kafkalab.live.cluster import LiveCluster
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersions
from tests.live.conftest import CALL_S, Client
from tests.wire.connection import Connection


def test_every_frame_waits_until_it_is_let_go(live: LiveCluster, client: Client) -> None:
    live.hold()
    asked = client.later(client.init)
    assert live.step() == "InitProducerId#1"
    assert live.trace.frames["InitProducerId#1"].fate == "delivered"
    assert live.wait_for("InitProducerIdResponse") == "InitProducerIdResponse#1"
    assert not asked.done()
    assert live.held == ["InitProducerIdResponse#1"]
    assert live.step() == "InitProducerIdResponse#1"
    assert asked.result(CALL_S) is Error.NONE
    assert live.step(timeout_s=0) == ""


@pytest.mark.parametrize("what", ["EndTxn", "EndTxn#1", "app", "pay"])
def test_frames_are_held_by_api_name_client_and_transactional_id(what: str, live: LiveCluster, client: Client) -> None:
    assert client.now(client.init) is Error.NONE
    assert client.now(lambda: client.send("a")) is Error.NONE
    live.hold(what)
    asked = client.later(client.end)
    assert live.wait_for("EndTxn") == "EndTxn#1"
    live.free_run()
    assert asked.result(CALL_S) is Error.NONE
    assert live.cluster.outcome().verdict == "committed"


def test_what_is_not_named_passes(live: LiveCluster, client: Client) -> None:
    live.hold("EndTxnResponse", "somebody")
    assert client.now(client.init) is Error.NONE
    assert client.now(lambda: client.send("a")) is Error.NONE
    asked = client.later(client.end)
    assert live.wait_for("EndTxnResponse#1") == "EndTxnResponse#1"
    assert live.trace.frames["EndTxn#1"].fate == "delivered"
    live.let_go("EndTxnResponse#1")
    assert asked.result(CALL_S) is Error.NONE


def test_a_dropped_answer_breaks_the_connection_and_leaves_the_simulators_event(
    live: LiveCluster, client: Client
) -> None:
    live.hold("InitProducerIdResponse")
    asked = client.later(client.init)
    live.drop(live.wait_for("InitProducerIdResponse"))
    with pytest.raises(ConnectionError):
        asked.result(CALL_S)
    (fault,) = live.trace.of("fault")
    assert (fault.name, fault.frame, fault.data) == (
        "Drop", "InitProducerIdResponse#1", {"fault": "Drop(frame='InitProducerIdResponse#1')"},
    )  # fmt: skip
    assert live.trace.frames["InitProducerIdResponse#1"].fate == "dropped"


def test_a_fault_can_be_planned_for_a_frame_that_is_not_sent_yet(live: LiveCluster, client: Client) -> None:
    live.strike(Drop("InitProducerId#1"))
    with pytest.raises(ConnectionError):
        client.now(client.init)
    with pytest.raises(ValueError, match=r"InitProducerId#1 has passed the gate: hold it before it is sent"):
        live.drop("InitProducerId#1")


def test_a_doubled_end_is_refused_the_second_time(live: LiveCluster, client: Client) -> None:
    client.now(client.init)
    client.now(lambda: client.send("a"))
    live.hold("EndTxn#1")
    asked = client.later(client.end)
    live.duplicate(live.wait_for("EndTxn"))
    assert asked.result(CALL_S) is Error.NONE
    live.loop.call(lambda: None)
    assert {"EndTxn#1", "EndTxn#1~copy"} <= set(live.trace.frames)


def test_a_held_frame_stays_when_others_are_stepped(live: LiveCluster, client: Client) -> None:
    live.hold()
    asked = client.later(client.init)
    first = live.wait_for("InitProducerId")
    live.strike(Hold(first))
    assert live.step(timeout_s=0) == ""
    other = Client(live, "other", "app2")
    waits = other.later(other.init)
    assert live.step() == "InitProducerId#2"
    with pytest.raises(ValueError, match="is held already"):
        live.strike(Hold(first))
    live.strike(Release(first))
    assert [e.name for e in live.trace.of("fault")] == ["Hold", "Release"]
    live.free_run()
    assert (asked.result(CALL_S), waits.result(CALL_S)) == (Error.NONE, Error.NONE)
    other.close()


def test_a_crashed_broker_breaks_its_connections_and_comes_back_with_its_logs(
    live: LiveCluster, client: Client
) -> None:
    client.now(client.init)
    broker = client.coordinator
    live.crash(broker)
    with pytest.raises(ConnectionError):
        client.now(client.end)
    with pytest.raises(ValueError, match=rf"{broker} is down already"):
        live.crash(broker)
    with pytest.raises(ConnectionError), Connection(live.bootstrap_servers, int(broker[1:])) as refused:
        refused.answer()
    live.restart(broker)
    assert [e.kind for e in live.trace.events if e.kind in ("crash", "recover")] == ["crash", "recover"]


def test_a_crash_breaks_connections_on_which_nothing_is_asked(live: LiveCluster) -> None:
    with Connection(live.bootstrap_servers, 2) as idle:
        idle.ask(ApiVersions(), 3)
        live.crash("b2")
        with pytest.raises(ConnectionError):
            idle.answer()


def test_a_jump_of_the_clock_lets_a_transaction_time_out(live: LiveCluster, client: Client) -> None:
    client.now(client.init)
    client.now(lambda: client.send("a"))
    live.strike(AdvanceClock(120_000))
    assert live.cluster.outcome().verdict == "aborted"


def test_clients_end_where_they_run(live: LiveCluster, client: Client) -> None:
    client.now(client.init)
    with pytest.raises(ValueError, match="app runs outside the cluster"):
        live.crash("app")


@pytest.mark.parametrize("wrong", ["Nothing#1", 7, ""])
def test_hold_refuses_what_names_nothing(wrong: object, live: LiveCluster) -> None:
    with pytest.raises((ValueError, TypeError)):
        live.hold(wrong)  # type: ignore[arg-type]


def test_waiting_ends_when_nothing_comes_and_when_the_cluster_closes(live: LiveCluster) -> None:
    with pytest.raises(TimeoutError, match="no 'EndTxn' has come to the gate"):
        live.wait_for("EndTxn", timeout_s=0.05)
    threading.Timer(0.05, live.close).start()
    assert live.step(timeout_s=CALL_S) == ""
    assert not live.running
    assert repr(live).endswith(f"is closed, {live.trace.steps} events, 0 frames wait>")
    assert not any(t.name == "kafkalab live" for t in threading.enumerate())


def test_recording_stops_at_its_limit_and_clients_are_served_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING"), LiveCluster(topics={"out": 1}, most_events=300) as live:
        client = Client(live)
        while not live.trace.full:
            assert (client.init(), client.send("v"), client.end()) == (Error.NONE,) * 3
        steps, frames = live.trace.steps, len(live.trace.frames)
        assert (client.init(), client.send("last"), client.end()) == (Error.NONE,) * 3
        assert (live.trace.steps, len(live.trace.events), len(live.trace.frames)) == (steps, steps, frames)
        assert "last" in live.outcome().committed["out-0"]
        assert "recording has stopped after 300 events" in repr(live)
        assert max(f.received_step for f in live.trace.frames.values()) < steps
        assert live.trace.events[-1][3:5] == ("state", "recording stopped")
        assert live.journey.step == steps - 1
        assert Verdict(live).report["sentence"].startswith("Recording has stopped after 300 events, and this is about")
        assert ClientView(live).text().endswith(" are served on, but nothing more is shown.")
        client.close()
    assert [r.getMessage().partition(":")[0] for r in caplog.records] == ["recording has stopped after 300 events"]


def test_frames_are_held_and_struck_as_before_when_recording_has_stopped() -> None:
    with LiveCluster(topics={"out": 1}, most_events=1) as live:
        client = Client(live)
        assert live.trace.full
        assert client.init() is Error.NONE
        live.hold("pay")
        asked = client.later(client.init)
        assert live.wait_for("InitProducerId") == "InitProducerId#2"
        live.step()
        assert live.wait_for("InitProducerIdResponse") == "InitProducerIdResponse#2"
        assert "has passed the gate" in live.why_not(Drop("InitProducerId#2"))
        live.drop("InitProducerIdResponse#2")
        with pytest.raises((ConnectionError, OSError)):
            asked.result(20)
        client.close()


def test_no_connection_stays_open_that_is_accepted_as_the_cluster_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    unclosed: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: unclosed.append(repr(found.exc_value)))
    clients = []
    for _ in range(10):
        live = LiveCluster(brokers=1)
        host, port = live.bootstrap_servers.split(":")
        clients += [socket.create_connection((host, int(port))) for _ in range(3)]
        live.close()
        del live
        gc.collect()
    for client in clients:
        client.close()
    assert unclosed == []


def test_no_compiled_library_is_needed(root: Path) -> None:
    code = """
import sys
sys.modules.update(dict.fromkeys(("cramjam", "crc32c", "kio")))
from kafkalab import LiveCluster
with LiveCluster() as live:
    print(live.bootstrap_servers)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert run.stdout.startswith("127.0.0.1:"), run.stderr
