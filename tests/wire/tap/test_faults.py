"""Holding, dropping and delaying frames before a running Kafka: only where it was allowed."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Late, Release
from kafkalab.faults.request import RespondWith
from kafkalab.limits import place_of
from kafkalab.live.tap import Tap
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.find_coordinator import TRANSACTION, FindCoordinator
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.wire.blocking_client import BlockingClient
from kafkalab.wire.codec import request_bytes
from kafkalab.wire.learned_names import LearnedNames
from kafkalab.wire.tap.gate import fault_of
from kafkalab.wire.tap.session import load_tap
from tests.wire.tap.behind import asker, start_tap, until


def send(client: BlockingClient, body: object, version: int) -> None:
    """Send a request and do not wait for its response."""
    client.socket.sendall(request_bytes(type(body).__name__, version, 1, client.client_id, body, client.names))


def coordinator_of(tap: Tap, transactional_id: str) -> int:
    found = asker(tap).ask(FindCoordinator(key=transactional_id, key_type=TRANSACTION), 2)
    return int(found.node_id[1:])


def test_a_tap_only_reads_unless_faults_are_allowed(servers: str) -> None:
    with start_tap(servers) as tap:
        acts: tuple[Callable[[], object], ...]
        acts = (lambda: tap.drop("EndTxn#1"), lambda: tap.delay("EndTxn#1", 5), lambda: tap.hold("EndTxn"))
        for act in acts:
            with pytest.raises(ValueError, match=r"this tap only reads; `Tap\(\.\.\., faults=True\)`"):
                act()
        asker(tap).ask(ApiVersions(), 3)


@pytest.mark.parametrize(("frame", "fate"), [("ApiVersions#2", "dropped"), ("ApiVersionsResponse#2", "dropped")])
def test_a_dropped_frame_breaks_its_connection(frame: str, fate: str, servers: str) -> None:
    with start_tap(servers, faults=True) as tap:
        tap.drop(frame)
        one = asker(tap)
        one.ask(ApiVersions(), 3)
        with pytest.raises((EOFError, OSError)):
            one.ask(ApiVersions(), 3)
        asker(tap).ask(ApiVersions(), 3)
        trace = tap.recording().trace
    assert trace.frames[frame].fate == fate
    assert [(e.name, e.frame, e.data["fault"]) for e in trace.of("fault")] == [("Drop", frame, repr(Drop(frame)))]
    assert trace.frames["ApiVersions#3"].fate == "delivered"


def test_a_delayed_frame_comes_later(servers: str) -> None:
    with start_tap(servers, faults=True) as tap:
        tap.delay("ApiVersionsResponse#1", 300)
        began = time.monotonic()
        asker(tap).ask(ApiVersions(), 3)
        assert time.monotonic() - began >= 0.3
        frame = tap.recording().trace.frames["ApiVersionsResponse#1"]
    assert frame.received_ms - frame.sent_ms >= 299


def test_a_held_frame_waits_until_it_is_let_go(servers: str, tmp_path: Path) -> None:
    with start_tap(servers, faults=True, save=tmp_path / "x.tap") as tap:
        tap.hold("ApiVersionsResponse")
        done: list[object] = []
        thread = threading.Thread(target=lambda: done.append(asker(tap).ask(ApiVersions(), 3)))
        thread.start()
        until(lambda: tap.held == ["ApiVersionsResponse#1"])
        assert done == []
        with pytest.raises(ValueError, match="held are ApiVersionsResponse#1"):
            tap.let_go("EndTxn#1")
        tap.free("ApiVersionsResponse")
        tap.let_go("ApiVersionsResponse#1")
        thread.join(30)
        assert len(done) == 1
        assert [e.name for e in tap.recording().trace.of("fault")] == ["Hold", "Release"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Drop:EndTxnResponse#1", Drop("EndTxnResponse#1")),
        ("Delay:Produce#2:500", Delay("Produce#2", 500)),
        ("Hold:EndTxn#1", Hold("EndTxn#1")),
        ("Duplicate:my:app:Produce#2", Duplicate("my:app:Produce#2")),
        ("Release:app:EndTxn#1:300", Release("app:EndTxn#1", at_ms=300)),
        ("Late:TxnOffsetCommit#1:app:EndTxn#2", Late("TxnOffsetCommit#1", "app:EndTxn#2")),
        ("RespondWith:EndTxn#1:NOT_COORDINATOR:handled", RespondWith("EndTxn#1", "NOT_COORDINATOR", True)),
    ],
)
def test_a_fault_in_words(text: str, fault: object) -> None:
    assert fault_of(text) == fault


@pytest.mark.parametrize("text", ["", "Drop", "Drop:EndTxn", "Duplicate:EndTxn", "Delay:EndTxn#1", "Drop:EndTnx#1"])
def test_what_is_no_fault_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="a fault is Drop:EndTxnResponse#1"):
        fault_of(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("CrashAt:EndTxn#1", "a tap cannot do CrashAt to a running Kafka"),
        ("Crash:b1", "a tap cannot do Crash to a running Kafka"),
        ("Duplicate:EndTxnResponse#1", "EndTxnResponse#1 is a response: a second one would end its connection"),
        ("RespondWith:Metadata#1:NOT_COORDINATOR", "no MetadataResponse says nothing but an error"),
        ("Late:EndTxn#1:EndTxn#1", "cannot arrive before itself"),
    ],
)
def test_what_no_tap_can_do_is_told(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        fault_of(text)


def test_a_client_has_its_own_names_of_frames(servers: str) -> None:
    with start_tap(servers, faults=True) as tap:
        tap.drop("second:ApiVersions#1")
        asker(tap, client_id="first").ask(ApiVersions(), 3)
        with pytest.raises((EOFError, OSError)):
            asker(tap, client_id="second").ask(ApiVersions(), 3)
        with pytest.raises(ValueError, match="first:ApiVersions#1 has been sent already"):
            tap.delay("first:ApiVersions#1", 5)
        trace = tap.recording().trace
    assert trace.frames["ApiVersions#2"].fate == "dropped"
    assert trace.find_frame("first:ApiVersionsResponse#1") is trace.frames["ApiVersionsResponse#1"]


def test_a_doubled_request_reaches_the_broker_twice_and_is_answered_once(servers: str) -> None:
    ids = []
    with start_tap(servers, faults=True) as tap:
        tap.strike(Duplicate("app:InitProducerId#2"))
        one = asker(tap)
        for _ in range(4):
            ids.append(one.ask(InitProducerId(transactional_id=None), 4).producer_id)
        assert tap.unused_faults == ()
    assert [later - earlier for earlier, later in pairwise(ids)] == [1, 2, 1]


def test_a_held_frame_is_released_by_its_name(servers: str) -> None:
    with start_tap(servers, faults=True) as tap:
        tap.hold("app:ApiVersions#1")
        done: list[object] = []
        thread = threading.Thread(target=lambda: done.append(asker(tap).ask(ApiVersions(), 3)))
        thread.start()
        until(lambda: tap.held == ["ApiVersions#1"])
        tap.strike(Release("app:ApiVersions#1"))
        thread.join(30)
        assert len(done) == 1


def test_a_late_request_goes_on_just_before_the_other_one_although_its_client_has_given_it_up(
    servers: str, tmp_path: Path
) -> None:
    """The producer ids show in which order the broker has handled the two."""
    saved = tmp_path / "x.tap"
    with start_tap(servers, faults=True, save=saved) as tap:
        struck: list[object] = []
        tap.gate.when_struck = struck.append
        tap.late("app:InitProducerId#1", before="app:InitProducerId#2")
        broker = coordinator_of(tap, "late")
        first = asker(tap, broker)
        send(first, InitProducerId(transactional_id="late"), 4)
        until(lambda: tap.held == ["InitProducerId#1"])
        assert [type(fault) for fault in tap.unused_faults] == [Late]
        first.close()
        second = asker(tap, broker).ask(InitProducerId(transactional_id="late"), 4)
        assert (struck, tap.unused_faults) == ([Late("app:InitProducerId#1", "app:InitProducerId#2")], ())
        trace = tap.recording().trace
    assert second.producer_epoch == 1
    order = [e.frame for e in trace.events if e.kind == "receive" and e.name == "InitProducerId"]
    assert order == ["InitProducerId#1", "InitProducerId#2"]
    assert trace.frames["InitProducerIdResponse#1"].of == "InitProducerId#1", "the broker's answer was waited for"
    again = load_tap(saved).recording().trace
    assert [(e.name, e.frame) for e in again.of("fault")] == [(e.name, e.frame) for e in trace.of("fault")]
    assert [e.name for e in again.of("fault")] == ["Late", "Release"]


def test_a_late_frame_whose_other_one_never_comes_is_unused(servers: str) -> None:
    with start_tap(servers, faults=True) as tap:
        tap.late("ApiVersions#1", before="EndTxn#9")
        first = asker(tap)
        send(first, ApiVersions(), 3)
        until(lambda: tap.held)
        (never,) = tap.do(tap.gate.describe_unused)
    assert never.endswith("never struck: EndTxn#9 was not sent after it")


@pytest.mark.parametrize("handled", [False, True])
def test_a_client_gets_an_error_and_the_broker_has_handled_the_request_or_not(handled: bool, servers: str) -> None:
    with start_tap(servers, faults=True) as tap:
        name = f"errors-{handled}"
        tap.strike(RespondWith("app:InitProducerId#1", "CONCURRENT_TRANSACTIONS", handled))
        one = asker(tap, coordinator_of(tap, name))
        assert one.ask(InitProducerId(transactional_id=name), 4).error is Error.CONCURRENT_TRANSACTIONS
        again = one.ask(InitProducerId(transactional_id=name), 4)
        trace = tap.recording().trace
    assert (again.error, again.producer_epoch) == (Error.NONE, 1 if handled else 0)
    assert trace.frames["InitProducerIdResponse#1"].error == "CONCURRENT_TRANSACTIONS"


def test_the_command_tells_of_each_fault(servers: str) -> None:
    command = [sys.executable, "-m", "kafkalab.cli.main", "tap", servers.split(",")[0], "--port", "0", "--quiet"]
    command += ["--faults", "Hold:app:ApiVersions#1", "--faults", "Drop:EndTxn#9"]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    running: Any = subprocess.Popen(command, text=True, **pipes)
    door = running.stdout.readline().removeprefix("ready: ").strip().split(",")[0]
    client = BlockingClient(place_of(door), LearnedNames(), "app")
    send(client, ApiVersions(), 3)
    assert running.stdout.readline() == "struck: Hold(frame='app:ApiVersions#1')\n"
    running.stdin.write("nonsense\nRelease:app:ApiVersions#1\n")
    running.stdin.flush()
    assert running.stdout.readline() == "struck: Release('app:ApiVersions#1', at_ms=0)\n"
    client.close()
    running.terminate()
    out, errors = running.communicate(timeout=60)
    assert out == "unknown: the fault Drop(frame='EndTxn#9') never struck: EndTxn#9 has not been sent\n"
    assert "a fault is Drop:EndTxnResponse#1" in errors
