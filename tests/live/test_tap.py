"""Views of a tap grow while frames pass; → lets a frame that it holds go on."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from kafkalab.live.cluster import LiveCluster
from kafkalab.live.tap import Tap
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.widgets.model.futures import payload_with_actions
from kafkalab.widgets.payload.text import replay
from kafkalab.widgets.views.sequence import Sequence
from tests.live.conftest import CALL_S, Client
from tests.live.test_journey import soon
from tests.wire.connection import Connection


@pytest.fixture
def tap(live: LiveCluster) -> Iterator[Tap]:
    """A tap, which may hold frames, before a live cluster."""
    with Tap(live.bootstrap_servers.split(",")[0], faults=True) as made:
        yield made


@pytest.fixture
def app(live: LiveCluster, tap: Tap) -> Iterator[Client]:
    """A client whose frames pass the tap."""
    made = Client(live)
    made.servers = tap.bootstrap_servers
    yield made
    made.close()


def test_a_view_grows_as_a_recording_of_the_whole_would_be(tap: Tap, app: Client) -> None:
    with pytest.raises(ValueError, match="no frame has passed yet"):
        Sequence(tap)
    assert app.now(app.init) is Error.NONE
    view = Sequence(tap)
    for call in (lambda: app.send("a"), app.end, lambda: app.send("b"), app.end):
        assert app.now(call) is Error.NONE
    soon(lambda: "EndTxnResponse#2" in view.payload["frames"])
    soon(lambda: view.payload["events"][view.step]["text"] == "app receives EndTxnResponse#2.")
    whole = payload_with_actions(tap.recording())
    assert view.payload["frames"] == whole["frames"]
    last = len(whole["events"]) - 1
    assert replay(view.payload, last) == replay(whole, last)
    for name in ("nodes", "partitions", "transactions", "chapters", "ranks", "marks", "profile"):
        assert view.payload[name] == whole[name], name
    assert "begin 2" in view.text()
    assert "no promise is broken so far" in view.text()


def test_right_lets_a_frame_go_on_and_all_else_says_why_not(tap: Tap, app: Client) -> None:
    assert app.now(app.init) is Error.NONE
    view = Sequence(tap)
    view.press("end")
    with pytest.raises(ValueError, match="no frame waits"):
        view.press("right")
    tap.hold("Produce")
    asked = app.later(lambda: app.send("a"))
    soon(lambda: tap.held == ["Produce#1"])
    soon(lambda: "Produce#1" in view.payload["frames"])
    view.press("end")
    view.press("right")
    assert asked.result(CALL_S) is Error.NONE
    soon(lambda: "ProduceResponse#1" in view.payload["frames"])
    for action, target in (("drop", "Produce#1"), ("undo", ""), ("rule_off", "deduplication")):
        with pytest.raises(ValueError, match="recorded before a running Kafka"):
            view.press(action, target)
    with pytest.raises(ValueError, match="Produce#1 does not wait"):
        view.press("next", "Produce#1")
    view.press("home")
    assert view.step < view.journey.stops()[-1]


def test_what_was_recorded_stays_after_the_end(tap: Tap, app: Client) -> None:
    assert app.now(app.init) is Error.NONE
    view = Sequence(tap)
    tap.close()
    assert "InitProducerIdResponse#1" in view.text()
    assert view.journey.run.scenario is None
    with pytest.raises(ValueError, match="recorded before a running Kafka"):
        assert view.cluster


def test_a_tap_refuses_connections_until_it_accepts_them_again(tap: Tap, app: Client) -> None:
    assert app.now(app.init) is Error.NONE
    servers = tap.bootstrap_servers
    tap.refuse()
    for server in servers.split(","):
        host, port = server.split(":")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=CALL_S)
    tap.accept()
    assert tap.bootstrap_servers == servers
    with Connection(tap.bootstrap_servers) as connection:
        assert connection.ask(Metadata(topics=()), 1).metadata.alive
