"""Views of a live cluster: they grow as the run does, and what is pressed strikes frames that wait."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kafkalab.live import growing
from kafkalab.live.cluster import NOT_UNDONE, LiveCluster
from kafkalab.live.journey import NOTHING_WAITS, LiveJourney
from kafkalab.protocol.errors import Error
from kafkalab.widgets.payload.growing import GrowingPayload
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import replay
from kafkalab.widgets.payload.tour import AT_MOST, LISTS, with_walk
from kafkalab.widgets.views.client_view import ClientView
from kafkalab.widgets.views.cluster_map import ClusterMap
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.share import Share
from kafkalab.widgets.views.state_chart import StateChart
from kafkalab.widgets.views.verdict import Verdict
from tests.live.conftest import CALL_S, Client

TIMES = ("at", "received_at")
CAME_LATER = 2


def drop_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in TIMES} for row in rows]


def soon(true: Callable[[], bool]) -> None:
    end = time.monotonic() + CALL_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_payload_that_has_grown_is_that_of_the_whole_run(live: LiveCluster, client: Client) -> None:
    grown_payload = live.do(lambda: GrowingPayload(live.run, live.began_ms))
    parts = [grown_payload.since(0)]
    for call in (client.init, lambda: client.send("a"), client.end, lambda: client.send("b"), client.end):
        assert client.now(call) is Error.NONE
        parts.append(live.do(lambda: grown_payload.more(live.run)))
    live.hold("Produce")
    asked = client.later(lambda: client.send("c"))
    for name in ("Produce#3", "ProduceResponse#3"):
        live.wait_for(name)
        parts.append(live.do(lambda: grown_payload.more(live.run)))
        live.let_go(name)
    assert asked.result(CALL_S) is Error.NONE
    live.crash("b1")
    parts.append(live.do(lambda: grown_payload.more(live.run)))
    newest, whole = live.do(lambda: (grown_payload.more(live.run), payload_of(live.cluster)))
    parts.append(newest)
    assert list(grown_payload.whole["frames"]) == list(whole["frames"])
    assert drop_times(grown_payload.whole["frames"].values()) == drop_times(whole["frames"].values())
    rows, made = drop_times(grown_payload.whole["events"]), drop_times(whole["events"])
    differ = [a["step"] for a, b in zip(rows, made, strict=True) if a != b]
    assert len(differ) <= CAME_LATER  # where partitions and roles are told as soon as they are there, not before
    assert all({**a, "patch": 0} == {**b, "patch": 0} for a, b in zip(rows, made, strict=True))
    walked = with_walk({**grown_payload.whole, "initial": []})
    assert [grown_payload.whole[name] for name in LISTS] == [walked[name] for name in LISTS]
    assert [c["name"] for c in walked["chapters"] if c["name"].startswith("begin")] == ["begin", "begin 2", "begin 3"]
    for name in LISTS:
        joined: list[Any] = []
        for part in parts:
            joined[part["tails"][name] :] = part[name]
        assert joined == grown_payload.whole[name]
    last = len(rows) - 1
    assert replay(grown_payload.whole, last) == replay(whole, last)
    assert [part["from"] for part in parts] == sorted(part["from"] for part in parts)
    assert all(event["at"] < CALL_S * 1000 for event in grown_payload.whole["events"])


def test_right_at_the_end_lets_the_next_frame_go(live: LiveCluster, client: Client) -> None:
    view = Sequence(live)
    live.hold()
    asked = client.later(client.init)
    live.wait_for("InitProducerId")
    assert view.journey.possible("right") == ""
    view.press("right")
    assert live.trace.frames["InitProducerId#1"].fate == "delivered"
    assert view.payload["events"][view.step]["text"] == "b3 sends InitProducerIdResponse#1 to app: NONE."
    view.press("right")
    assert asked.result(CALL_S) is Error.NONE
    assert view.payload["events"][view.step]["text"] == "app receives InitProducerIdResponse#1."
    assert view.journey.possible("right") == NOTHING_WAITS
    with pytest.raises(ValueError, match="no frame waits at the gate"):
        view.press("right")


def test_the_cursor_follows_unless_it_has_been_moved_away(live: LiveCluster, client: Client) -> None:
    view = Sequence(live)
    client.now(client.init)
    soon(lambda: view.payload["events"][view.step]["text"].startswith("app receives InitProducerIdResponse#1"))
    view.press("home")
    there = view.step
    client.now(lambda: client.send("a"))
    soon(lambda: live.do(lambda: "ProduceResponse#1" in view.payload["frames"]))
    assert view.step == there
    view.press("end")
    assert view.step > there


def test_all_views_show_the_run_so_far(live: LiveCluster, client: Client) -> None:
    kinds = (Sequence, LogTape, StateChart, ClusterMap, ClientView, Verdict)
    client.now(client.init)
    views = [kind(live) for kind in kinds]
    assert all(view.journey is live.journey for view in views)
    for call in (lambda: client.send("a"), client.end):
        client.now(call)
    soon(lambda: "[0 a p2000 e0 s0 committed] [1 COMMIT e1]" in views[0].text())  # the markers come after the answer
    soon(lambda: "\n__transaction_state-10 on b3, HW 4" in views[0].text())
    soon(lambda: "read_committed gets 0" in views[1].text())
    soon(lambda: "CompleteCommit" in views[2].text())
    for view in views:
        assert view.svg().startswith("<svg")


def test_a_view_that_needs_a_topic_or_a_client_says_so() -> None:
    with LiveCluster() as empty:
        assert Sequence(empty).text().startswith("live · 4.x/TV2")
        with pytest.raises(ValueError, match="there is no partition yet"):
            LogTape(empty)
        with pytest.raises(ValueError, match="no client takes part in this run"):
            ClientView(empty)


def test_only_what_is_new_is_sent(
    live: LiveCluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = live.journey
    sent: list[dict[str, Any]] = []
    states: list[Any] = []
    monkeypatch.setattr(journey, "send", lambda content, buffers=None: sent.append(content))
    monkeypatch.setattr(journey, "send_state", lambda key=None: states.append(key))
    client.now(client.init)
    soon(lambda: any("InitProducerIdResponse#1" in m["text"] for m in sent))
    parts = [m for m in sent if m["kind"] == "more"]
    counts = [len(json.loads(m["text"])["events"]["at"]) for m in parts]
    assert [m["from"] for m in parts] == [13 + sum(counts[:i]) for i in range(len(parts))]
    assert "payload" not in states
    sent.clear()
    journey._send_since({"have": 0})
    (whole,) = sent
    assert (whole["from"], len(json.loads(whole["text"])["events"]["at"])) == (0, live.trace.steps)


@pytest.mark.parametrize(
    ("action", "target", "reason"),
    [
        ("undo", "", NOT_UNDONE),
        ("rule_off", "deduplication", NOT_UNDONE),
        ("drop", "InitProducerId#1", "does not wait at the gate"),
        ("reorder", "InitProducerId#1", NOT_UNDONE),
        ("crash", "app", "runs outside the cluster"),
        ("restart", "b1", "b1 is not down"),
        ("next", "InitProducerId#1", "does not wait at the gate"),
    ],
)
def test_what_a_live_cluster_cannot_do_is_said_in_a_sentence(
    action: str, target: str, reason: str, live: LiveCluster, client: Client
) -> None:
    client.now(client.init)
    view, steps = Sequence(live), live.trace.steps
    assert reason.partition(";")[0] in view.journey.possible(action, target)
    with pytest.raises(ValueError, match=reason.partition(";")[0]):
        view.press(action, target)
    assert live.trace.steps == steps


def test_presses_strike_frames_that_wait_and_brokers(live: LiveCluster, client: Client) -> None:
    journey = live.journey
    assert isinstance(journey, LiveJourney)
    live.hold()
    asked = client.later(client.init)
    first = live.wait_for("InitProducerId")
    journey._grow()
    assert {action: journey.possible(action, first) for action in ("drop", "delay", "duplicate", "hold")} == {
        "drop": "", "delay": "", "duplicate": "", "hold": "",
    }  # fmt: skip
    assert journey.possible("reorder", first) == NOT_UNDONE
    assert f"cannot be shared: {NOT_UNDONE}" in Share(live).text()
    journey.press("hold", first)
    assert journey.payload["events"][journey.step]["name"] == "Hold"
    journey.press("release", first)
    live.wait_for("InitProducerIdResponse")
    journey.press("delay", "InitProducerIdResponse#1", delay_ms=20)
    assert asked.result(CALL_S) is Error.NONE
    asked = client.later(lambda: client.send("a"))
    journey.press("next", live.wait_for("Produce"))
    journey.press("drop", live.wait_for("ProduceResponse"))
    with pytest.raises(ConnectionError):
        asked.result(CALL_S)
    journey.press("crash", "b1")
    assert not live.cluster.nodes["b1"].alive
    journey.press("restart", "b1")
    assert [e.name for e in live.trace.of("fault")] == ["Hold", "Release", "Delay", "Drop"]


def test_a_long_run_is_checked_in_the_background_while_it_goes_on(
    live: LiveCluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey, seen = live.journey, list[threading.Thread]()
    monkeypatch.setattr(growing, "CHECK_S", 0.05)
    monkeypatch.setattr(growing, "CHECKED_AT_ONCE", 5)

    def report_of(cluster: object) -> dict[str, object]:
        seen.append(threading.current_thread())
        return {}

    monkeypatch.setattr(growing, "report_of", report_of)
    client.now(client.init)
    soon(lambda: live.do(lambda: "InitProducerIdResponse#1" in journey.payload["frames"]))
    assert journey.known_report() == {}
    journey._check({})
    soon(lambda: journey.verdict.get("steps") == len(journey.payload["events"]) == live.trace.steps)
    assert client.now(lambda: client.send("a")) is Error.NONE
    soon(lambda: journey.verdict["steps"] == live.trace.steps)
    assert {thread.name for thread in seen} == {"kafkalab checks"}
    soon(lambda: journey.known_report() == {"place": 0, "steps": live.trace.steps})
    live.do(journey._plan_check)
    assert not journey._check_planned


def test_the_background_checks_find_what_a_simulated_run_shows(live: LiveCluster, client: Client) -> None:
    verdict, journey = Verdict(live), live.journey
    for call in (client.init, lambda: client.send("a"), client.end):
        client.now(call)
    journey._check({})
    soon(lambda: verdict.told.get("steps") == live.trace.steps)
    assert verdict.told["sentence"].startswith("No promise is broken.")
    assert "no promise is broken so far" in Sequence(live).text()


def test_chapters_and_folds_come_while_frames_come_and_the_latest_stops_stay(
    live: LiveCluster, client: Client
) -> None:
    view = Sequence(live)
    client.now(client.init)
    for value in range(12):
        client.now(partial(client.send, str(value)))
        client.now(client.end)
    soon(lambda: live.do(lambda: "EndTxnResponse#12" in view.payload["frames"]))
    names = [chapter["name"] for chapter in view.payload["chapters"]]
    assert names[:3] == ["init", "begin", "commit"]
    assert names[-1] == "begin 12"
    every, kept = view.journey.every_stop(), view.journey.stops()
    assert kept[-AT_MOST:] == every[-AT_MOST:]
    assert len(kept) < len(every) / 2
    view.press("find", "chapter:begin-12")
    assert view.payload["events"][view.step]["frame"] == "Produce#12"
    assert "chapter: begin 12; by stop: init (1)" in view.text()
