"""A button is enabled exactly when pressing it makes another run; a disabled one gives the press's reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.frame import Delay, Hold, Release
from kafkalab.faults.node import Crash, Pause, Restart
from kafkalab.faults.registry import BY_PRESS
from kafkalab.programs.groups import two_members
from kafkalab.programs.raw_requests import raw_requests
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, topic_of
from kafkalab.protocol.rules import CLEAN_ELECTION, DEDUPLICATION, EPOCH_PER_TRANSACTION, REGISTRY
from kafkalab.run.again import agreement, run_scenario
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model import presses
from kafkalab.widgets.model.journey import Journey
from tests.widgets.every_press import presses as presses_of

DATA = Path(__file__).parents[2] / "data"
ALL = ("transaction", "verification", "replication", "metadata")


def scenarios() -> dict[str, Scenario]:
    return {
        "lab 03": lab03(),
        "lab 03 before transaction version 2": lab03("1.0"),
        "a group": two_members(),
        "a fresh cluster": replace(lab03(), fresh=True),
        "anyone may lead": Scenario.load(DATA / "rules" / "clean_election.klab"),
        "compaction": Scenario.load(DATA / "rules" / "last_batch_stays.klab"),
        "a leader lost": Scenario.load(DATA / "rules" / "leader_epoch.klab"),
    }


def check_a_state(journey: Journey, random: Random, count: int) -> list[str]:
    """Presses some buttons at the cursor; the actions that were enabled. The journey stays at the same run."""
    enabled, place, step, before = [], journey.place, journey.step, journey.cluster.trace
    every = list(presses_of(journey.payload, random))
    for action, target, details in random.sample(every, min(count, len(every))):
        reason = journey.possible(action, target, **details)
        if reason:
            with pytest.raises(ValueError, match=r".") as refused:
                journey.press(action, target, **details)
            assert str(refused.value) == reason
            assert (journey.place, journey.step) == (place, step)
            continue
        enabled.append(action)
        journey.press(action, target, **details)
        after = journey.cluster.trace
        same = agreement(before, after)
        assert not same == before.steps == after.steps, f"{action} {target} {details} at {step} changes nothing"
        shown = step + 1 if not presses.is_frame_fault(action) else journey.tree[-1]["at"] + 1
        assert same >= shown or step < journey.payload["actions"]["start"], f"{action} {target} {details} at {step}"
        journey.press("goto", str(place))
        journey.step = step
    return enabled


@pytest.mark.campaign
@pytest.mark.parametrize("name", scenarios())
def test_an_enabled_press_makes_another_run_and_a_disabled_one_gives_its_reason(name: str) -> None:
    random = Random(name)
    for _ in range(2):
        journey = Journey(scenarios()[name], groups=ALL)
        for _ in range(2):
            journey.step = random.randrange(len(journey.payload["events"]))
            assert check_a_state(journey, random, 10)
            action, target, details = random.choice(list(presses_of(journey.payload, random)))
            if not journey.possible(action, target, **details):
                journey.press(action, target, **details)


def test_each_fault_can_be_pressed() -> None:
    details = {"after": "EndTxn#1", "before": "EndTxn#1", "broker": "b1"}
    for action, kind in BY_PRESS.items():
        fault = kind.of_press("b1|b2", details, ())
        assert type(fault) is kind
        assert fault.key.split(" ")[0] == action


@pytest.mark.parametrize(
    ("action", "target", "details", "first", "reason"),
    [
        ("drop", "EndTxn#1", {}, ("drop", "EndTxn#1"), "EndTxn#1 is dropped already"),
        ("hold", "EndTxn#1", {}, ("hold", "EndTxn#1"), "EndTxn#1 is held already"),
        ("duplicate", "EndTxn#1", {}, ("duplicate", "EndTxn#1"), "EndTxn#1 arrives twice already"),
        ("delay", "EndTxn#1", {}, ("delay", "EndTxn#1"), "EndTxn#1 is 1000 ms late already"),
        ("release", "EndTxn#1", {}, None, "EndTxn#1 is not held at this step"),
        ("crash", "b1", {}, ("crash", "b1"), "b1 is down already"),
        ("pause", "b1", {}, ("crash", "b1"), "b1 is down"),
        ("pause", "b1", {}, ("pause", "b1"), "b1 is paused already"),
        ("restart", "b1", {}, None, "b1 is not down"),
        ("restart", "app", {}, None, "app is a client; only a broker can be restarted"),
        ("resume", "b1", {}, None, "b1 is not paused"),
        ("cut", "b1|b2", {}, ("cut", "b1"), "no frame gets through there already"),
        ("heal", "b1|b2", {}, None, "nothing is cut there"),
        ("cut", "b1|b7", {}, None, "no node 'b7' in this run; there are app, b1, b2, b3, controller"),
        ("advance", "", {"ms": 0}, None, "ms is a number of milliseconds from 1 on, not 0"),
        ("reorder", "EndTxn#1", {"after": "EndTxn"}, None, "reorder needs the frame after which EndTxn#1 arrives"),
        ("compact", "accounts-0", {}, None, "nothing in accounts-0 can be compacted at this step"),
        ("elect", "accounts-0", {"broker": "b9"}, None, "'b9' is no replica of accounts-0; there are b1, b2, b3"),
        ("rule_off", "EPOCH_PER_TRANSACTION", {}, ("rule_off", "EPOCH_PER_TRANSACTION"), "this rule is off already"),
        ("rule_on", DEDUPLICATION.name, {}, None, "this rule is on already"),
        ("rule_off", DEDUPLICATION.name, {}, None, "this run is the same with the rule off"),
        ("goto", "0", {}, None, "this run is shown already"),
        ("name", "", {}, None, "the run has this name already"),
        ("left", "", {}, None, "this is the first step"),
    ],
)
def test_a_disabled_press_says_why(
    action: str, target: str, details: dict[str, Any], first: tuple[str, str] | None, reason: str
) -> None:
    journey = Journey(lab03())
    if first:
        journey.press(*first)
    assert journey.possible(action, target, **details).startswith(reason)


def test_a_frame_is_held_and_let_go_where_the_cursor_stands() -> None:
    journey = Journey(lab03())
    journey.press("hold", "EndTxn#1")
    held = journey.step
    assert journey.payload["events"][held]["name"] == "Hold"
    journey.press("release", "EndTxn#1")
    assert journey.scenario.faults == (Hold("EndTxn#1"), Release("EndTxn#1", at_step=held))
    assert journey.tree[-1]["outcome"] == "committed"
    assert journey.possible("release", "EndTxn#1") == "EndTxn#1 is not held at this step"


def test_a_fault_at_the_step_of_another_finds_what_the_picture_shows_there() -> None:
    journey = Journey(lab03())
    at = journey.step = 60
    journey.press("crash", "b1")
    journey.step = at
    assert journey.possible("crash", "b1") == "this happens right after this step already"
    journey.press("pause", "b1")
    assert list(journey.scenario.faults) == [Pause("b1", at_step=at), Crash("b1", at_step=at)]
    assert [e["name"] for e in journey.payload["events"][at + 1 : at + 3]] == ["Pause", "b1"]
    journey.press("advance", ms=5)
    journey.step = at
    journey.press("advance", ms=5)
    assert AdvanceClock(5, at_step=at) in journey.scenario.faults


def test_a_fault_during_the_set_up_strikes_at_its_end() -> None:
    journey = Journey(lab03(), step=2)
    journey.press("crash", "b1")
    start = journey.payload["actions"]["start"]
    assert list(journey.scenario.faults) == [Crash("b1", at_step=start)]
    assert (journey.step, journey.payload["events"][start + 1]["kind"]) == (start + 1, "crash")
    journey.press("restart", "b1")
    assert journey.scenario.faults[-1] == Restart("b1", at_step=start + 1)


def test_a_program_that_waits_for_ever_is_shown_as_far_as_anything_happens() -> None:
    journey = Journey(lab03(), step=60)
    journey.press("pause", "app")
    assert journey.payload["ending"] == "app still waits, but nothing happens any more"
    assert len(journey.payload["events"]) < 1500
    journey.step += 30
    journey.press("resume", "app")
    assert journey.payload["ending"] == ""
    assert run_scenario(journey.scenario).trace.digest() == journey.cluster.trace.digest()


def test_a_rule_switched_off_makes_a_new_run_with_the_cursor_as_far_as_both_agree() -> None:
    journey = Journey(lab03())
    journey.press("end")
    last = journey.step
    journey.press("rule_off", EPOCH_PER_TRANSACTION.name)
    at = journey.tree[-1]["at"]
    assert journey.scenario.rules_off == (EPOCH_PER_TRANSACTION.name,)
    assert journey.tree[-1]["label"] == f"without: {EPOCH_PER_TRANSACTION.name}"
    assert 0 < journey.step == at < last
    journey.press("rule_on", "EPOCH_PER_TRANSACTION")
    assert list(journey.scenario.rules_off) == []
    assert journey.cluster.trace.digest() == run_scenario(lab03()).trace.digest()
    with pytest.raises(ValueError, match="no rule is called 'dedup'"):
        journey.press("rule_off", "dedup")


def test_an_old_profile_lacks_rules_that_cannot_be_switched() -> None:
    journey = Journey(lab03("0.11"))
    reasons = {rule: journey.possible("rule_off", rule.name) for rule in REGISTRY if not journey.cluster.rules.on(rule)}
    assert set(reasons.values()) == {"profile 0.11 does not have this rule yet"}


def test_a_run_driven_by_hand_cannot_be_forked() -> None:
    cluster = Cluster(lab03())
    cluster.run()
    assert Journey(cluster).possible("drop", "EndTxn#1") == ""
    cluster.spawn("late", raw_requests, steps=[])
    cluster.run_for(10)
    cluster.record("late", "invoke", "again", -1, {})
    assert Journey(cluster).possible("drop", "EndTxn#1").startswith("this run was driven by hand")


def test_a_delayed_frame_may_be_delayed_otherwise() -> None:
    journey = Journey(lab03())
    journey.press("delay", "EndTxn#1", delay_ms=40)
    journey.press("delay", "EndTxn#1", delay_ms=50)
    assert journey.scenario.faults == (Delay("EndTxn#1", 40), Delay("EndTxn#1", 50))


def test_no_replica_of_the_transaction_log_that_is_out_of_sync_may_be_elected_cleanly_whatever_the_rules_say() -> None:
    unclean = replace(lab03(), rules_off=(CLEAN_ELECTION.name,))
    journey = Journey(unclean.with_faults(Crash("b2", at_step=60), Pause("b3", at_step=62), Restart("b2", at_step=90)))
    seen = set()
    for at in range(90, len(journey.payload["events"]), 5):
        journey.step = at
        for partition in journey.payload["partitions"]:
            for broker in ("b1", "b2", "b3"):
                if journey.possible("elect", partition, broker=broker).endswith("only an unclean election can"):
                    seen.add(topic_of(partition))
    assert seen == {TRANSACTION_TOPIC}


def test_a_rule_press_leaves_the_cursor_where_it_stands_before_the_runs_part() -> None:
    journey = Journey(lab03())
    journey.step = journey.stops()[3]
    before = journey.step
    journey.press("rule_off", EPOCH_PER_TRANSACTION.name)
    assert journey.tree[-1]["at"] > before
    assert journey.step == before
