"""Faults of requests, and late frames, over sockets: the broker crashes at a request, or answers it with an error."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from kafkalab.checks.all import check_all
from kafkalab.history.export import history_of
from kafkalab.live.cluster import LiveCluster
from kafkalab.protocol.errors import Error
from tests.live.conftest import Client
from tests.live.test_save import again, commit_values


@pytest.mark.parametrize("handled", [False, True])
def test_a_broker_crashes_at_a_request_and_restarts(
    handled: bool, live: LiveCluster, client: Client, tmp_path: Path
) -> None:
    live.crash_at("app:EndTxn#1", handled, down_ms=300)
    assert client.now(client.init) is Error.NONE
    assert client.now(partial(client.send, "a")) is Error.NONE
    with pytest.raises(ConnectionError):
        client.now(client.end)
    assert live.unused_faults == ()
    states = [e.data["state"] for e in live.trace.of("state", "transaction") if e.data["state"].startswith("Prepare")]
    assert bool(states) is handled
    crash = live.trace.of("crash")[0]
    live._until(lambda: "back" if live.trace.of("recover") else "", 10)
    assert live.trace.of("recover")[0].at_ms - crash.at_ms >= 300
    run = again(live, tmp_path)
    assert [event.node for event in run.trace.of("crash")] == [crash.node]
    assert run.unused_faults == ()


@pytest.mark.parametrize("handled", [False, True])
def test_a_client_gets_an_error(handled: bool, live: LiveCluster, client: Client, tmp_path: Path) -> None:
    live.respond_with("app:EndTxn#1", "COORDINATOR_NOT_AVAILABLE", handled)
    assert client.now(client.init) is Error.NONE
    assert client.now(partial(client.send, "a")) is Error.NONE
    assert client.now(client.end) is Error.COORDINATOR_NOT_AVAILABLE
    assert live.outcome().committed == {"out-0": ("a",) if handled else ()}
    assert live.unused_faults == ()
    assert again(live, tmp_path).outcome().committed == live.outcome().committed


def test_a_late_request_waits_for_one_of_the_same_client(live: LiveCluster, client: Client) -> None:
    other = Client(live, "other", "other")
    live.late("app:InitProducerId#1", before="other:InitProducerId#1")
    asked = client.later(client.init)
    live._until(lambda: "sent" if live.cluster.network.was_sent("app:InitProducerId#1") else "", 10)
    assert [str(fault) for fault in live.unused_faults] != []
    assert other.now(other.init) is Error.NONE
    assert asked.result(10) is Error.NONE
    order = [e.frame for e in live.trace.of("receive", "InitProducerId")]
    assert order == ["InitProducerId#1", "InitProducerId#2"]
    assert live.unused_faults == ()
    other.close()


def test_a_held_request_is_struck_under_its_clients_name(live: LiveCluster, client: Client) -> None:
    live.hold("InitProducerId#1")
    asked = client.later(client.init)
    live.wait_for("InitProducerId#1")
    live.respond_with("app:InitProducerId#1", "CONCURRENT_TRANSACTIONS")
    assert asked.result(10) is Error.CONCURRENT_TRANSACTIONS


def test_what_a_session_with_an_error_shows_is_judged_as_any(live: LiveCluster, client: Client) -> None:
    live.respond_with("app:Produce#2", "NOT_LEADER_OR_FOLLOWER", handled=True)
    commit_values(client, "a")
    assert client.now(partial(client.send, "b")) is Error.NOT_LEADER_OR_FOLLOWER
    assert not [f for f in check_all(history_of(live.cluster)).findings if f.policy == "forbidden"]
