"""The payload and its text twin: what they show is what the brokers hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256

import pytest

from kafkalab import lab03, leaderless
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop, Duplicate
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.programs.groups import two_members
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.payload.chapters import chapters_of
from kafkalab.widgets.payload.payload import CATEGORIES, payload_of
from kafkalab.widgets.payload.text import ViewState, batch_outcome, replay, stops, text_at

SHOWN = ("transaction", "verification")
FAULTS: list[tuple[Fault, ...]] = [
    (),
    (Drop("EndTxnResponse#1"),),
    (Duplicate("Produce#1"),),
    (Crash("b3", at_step=150),),
    (Crash("app", at_step=150),),
]


def run_lab(*faults: Fault, profile: str = "4.x/TV2") -> Cluster:
    cluster = Cluster(lab03(profile).with_faults(*faults))
    cluster.run()
    return cluster


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_the_last_picture_shows_what_every_broker_holds(profile: str, faults: tuple[Fault, ...]) -> None:
    cluster = run_lab(*faults, profile=profile)
    payload = payload_of(cluster)
    shown = replay(payload, len(cluster.trace) - 1)
    for name, broker in cluster.brokers.items():
        for partition, log in broker.state.logs.items():
            drawn = shown.logs.get((name, partition), [])
            assert [(b["base"], b["last"]) for b in drawn] == [(b.base_offset, b.last_offset) for b in log.batches]
            if log.batches and cluster.nodes[name].alive:
                assert shown.marks["hw", name, partition] == log.high_watermark
    for tid, state in cluster.outcome().txn_states.items():
        assert shown.transactions[tid]["state"] == state
    for partition in payload["partitions"]:
        assert shown.leaders[partition] == cluster.controller.metadata.leader(partition)


@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_the_last_stable_offset_that_is_drawn_is_the_leaders(faults: tuple[Fault, ...]) -> None:
    cluster = run_lab(*faults)
    payload = payload_of(cluster)
    shown = replay(payload, len(cluster.trace) - 1)
    for partition in ("accounts-0", "accounts-1"):
        log = cluster.log_of(partition)
        _, _, mark, stable = shown.strip(partition)
        if log.batches:
            assert (mark, stable) == (log.high_watermark, log.last_stable_offset)


def test_a_payload_is_json_below_300_kb_and_its_events_are_dense() -> None:
    payload = payload_of(run_lab())
    assert len(json.dumps(payload)) < 300_000
    assert [e["step"] for e in payload["events"]] == list(range(len(payload["events"])))


def test_the_walk_begins_with_the_first_call_and_ends_with_complete_commit() -> None:
    payload = payload_of(run_lab())
    places = stops(payload, SHOWN)
    texts = [payload["events"][s]["text"] for s in places]
    assert texts[:2] == ["app calls init_transactions().", "app sends FindCoordinator#1 to b1."]
    assert texts[-1] == "b3 holds payments-0 in CompleteCommit."
    prepared = texts.index("b3 holds payments-0 in PrepareCommit.")
    assert texts[prepared + 1] == "b3 sends EndTxnResponse#1 to app: NONE."


def test_more_groups_give_more_stops_and_none_hides_a_fault() -> None:
    payload = payload_of(run_lab(Drop("EndTxn#1")))
    assert len(stops(payload, CATEGORIES)) > len(stops(payload, SHOWN)) > len(stops(payload, ()))
    assert [payload["events"][s]["kind"] for s in stops(payload, ())] == ["fault"]


def test_the_text_twin_tells_position_frame_states_and_logs() -> None:
    payload = payload_of(run_lab())
    text = text_at(payload, payload["frames"]["EndTxn#1"]["sent"], SHOWN)
    for part in (
        "app sends EndTxn#1 to b3.",
        "The producer asks for a commit or an abort.",
        "    committed = True",
        "payments-0: Ongoing, producer 2000 epoch 0 {__consumer_offsets-13, accounts-0, accounts-1}",
        "accounts-0 on b1, HW 2, LSO 0: [0-1 -10 -25 p2000 e0 s0 open]",
        "__consumer_offsets-13 on b2, HW 1, LSO 0: [0 offset 2 of transfers-0 for payments p2000 e0 s0 open]",
    ):
        assert part in text


def test_a_crash_greys_the_node_and_its_roles_move() -> None:
    cluster = run_lab(Crash("b3", at_step=150))
    payload = payload_of(cluster)
    shown = replay(payload, len(cluster.trace) - 1)
    assert shown.nodes["b3"] == "down"
    assert "transaction coordinator" in shown.roles["b1"]
    assert "transaction coordinator" not in shown.roles["b3"]


def test_a_batch_is_open_until_the_next_marker_of_its_producer() -> None:
    data = {"kind": "data", "txn": True, "pid": 1}
    other = {"kind": "COMMIT", "txn": True, "pid": 2}
    abort = {"kind": "ABORT", "txn": True, "pid": 1}
    assert batch_outcome([data, other], 0) == "open"
    assert batch_outcome([data, other, abort], 0) == "aborted"
    assert batch_outcome([{**data, "txn": False}, abort], 0) == ""


def test_a_change_that_no_picture_knows_is_an_error() -> None:
    with pytest.raises(AssertionError, match="no picture knows"):
        ViewState().apply(["colour", "red"])


def test_the_payload_is_the_same_whatever_the_hash_seed() -> None:
    def digest(hash_seed: int) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
        command = [sys.executable, "-c", "from tests.widgets.test_payload import print_digest; print_digest()"]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    assert digest(1) == digest(2) != ""


def print_digest() -> None:
    print(sha256(json.dumps(Journey(two_members()).payload).encode()).hexdigest())


def test_a_partition_made_in_the_run_is_shown_and_its_first_leader_is_no_election() -> None:
    payload = payload_of(ran(leaderless()))
    assert payload["partitions"] == ["accounts-0", "audit-0", "__transaction_state-22"]
    text = text_at(payload, len(payload["events"]) - 1, SHOWN)
    assert "audit-0 on b2, HW 2, LSO 2: [0 10 moved p2000 e0 s0 committed] [1 COMMIT e1]" in text
    begun = {chapter["name"]: payload["events"][chapter["step"]]["at"] for chapter in chapters_of(payload)}
    assert begun["election"] > begun["b2 crashes"]


def test_a_jump_of_the_clocks_is_a_chapter_of_no_node() -> None:
    faults = (Pause("app", at_step=60), AdvanceClock(5_000, at_step=61), Resume("app", at_step=62))
    found = [chapter["name"] for chapter in chapters_of(payload_of(ran(replace(lab03(), faults=faults))))]
    assert [name for name in found if "jump" in name or "app" in name] == ["app pauses", "clocks jump", "app resumes"]


def sentence_at(cluster: Cluster, kind: str) -> str:
    """Return the sentence of the last event of this kind."""
    return [str(e["text"]) for e in payload_of(cluster)["events"] if e["kind"] == kind][-1]


@pytest.mark.parametrize(
    ("before", "left_open"), [("Produce#1", False), ("EndTxn#1", True), ("EndTxnResponse#1", False)]
)
def test_a_crashed_client_is_said_to_leave_a_transaction_open_only_if_its_coordinator_holds_it_open(
    before: str, left_open: bool
) -> None:
    crashed = run_lab()
    crashed = crashed.fork(crashed.trace.frames[before].sent_step, Crash("app"))
    said = " It leaves the transaction of payments-0 open." if left_open else ""
    assert sentence_at(crashed, "crash") == f"app crashes. All that it knew is gone.{said}"


def test_the_controller_names_the_new_leaders_and_who_is_alive() -> None:
    crashed = run_lab(Crash("b3", at_step=209))
    said = [str(e["text"]) for e in payload_of(crashed)["events"] if e["name"] == "metadata"]
    assert said[0] == "The controller announces: alive are b1, b2, b3."
    assert said[-1] == "The controller announces: b1 leads __transaction_state-22; alive are b1, b2."
