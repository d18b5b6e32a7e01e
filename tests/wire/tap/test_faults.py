"""Holding, dropping and delaying frames before a running Kafka: only where it was allowed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalab.faults.frame import Delay, Drop, Hold
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.wire.tap.gate import fault_of
from tests.wire.tap.behind import asker, start_tap, until


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
    ],
)
def test_a_fault_in_words(text: str, fault: object) -> None:
    assert fault_of(text) == fault


@pytest.mark.parametrize("text", ["", "Drop", "Drop:EndTxn", "Duplicate:EndTxn#1", "Delay:EndTxn#1", "Drop:EndTnx#1"])
def test_what_is_no_fault_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="a fault is Drop:EndTxnResponse#1"):
        fault_of(text)
