"""For each step of a run: what becomes of it if a node crashes there, or the frame is lost."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest

from kafkalab import lab00, lab01
from kafkalab.explore.what_if import CLIENT, COORDINATOR, FRAME, LEADER, WhatIf, what_if
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.protocol import rules
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario

ONE = Scenario(title="one transaction", topics={"accounts": 1}, programs=(Program("app", "first_transaction"),))


@pytest.fixture(scope="module")
def strips() -> dict[str, list[WhatIf]]:
    return what_if(ONE)


def test_a_client_that_crashes_has_a_point_of_no_return(strips: dict[str, list[WhatIf]]) -> None:
    outcomes = [outcome for outcome, _ in groupby(strips[CLIENT][1:], key=lambda one: one.outcome)]
    assert outcomes == ["nothing", "aborted", "committed"]
    turn = next(one for one in strips[CLIENT][1:] if one.outcome == "committed")
    assert ran(ONE).trace.events[turn.same_as].frame == "EndTxn#1"


def test_with_all_rules_on_no_step_is_red(strips: dict[str, list[WhatIf]]) -> None:
    steps = ran(ONE).trace.steps
    assert [len(strip) for strip in strips.values()] == [steps - strips[FRAME][0].step] * 4
    assert not any(one.broken for strip in strips.values() for one in strip)


@pytest.mark.parametrize("kind", [CLIENT, COORDINATOR])
def test_every_verdict_is_that_of_a_crash_right_there(strips: dict[str, list[WhatIf]], kind: str) -> None:
    checked = 0
    for one in strips[kind][5::20]:
        crash, *restart = one.faults
        assert isinstance(crash, Crash)
        there = ran(ONE.with_faults(replace(crash, at_step=one.step), *restart))
        assert str(there.outcome().verdict) == one.outcome
        checked += 1
    assert checked > 4


def test_a_node_is_crashed_once_for_all_that_it_only_receives(strips: dict[str, list[WhatIf]]) -> None:
    events = ran(ONE).trace.events
    crashed = [events[one.same_as] for one in strips[COORDINATOR] if one.step == one.same_as and one.faults]
    assert {event.kind for event in crashed[1:]} == {"send", "append"}


def test_without_a_rule_the_strip_is_red_where_it_mattered() -> None:
    scenario = replace(ONE, rules_off=(rules.REDRIVE_PREPARE.name,))
    strips = what_if(scenario)
    red = [one.step for one in strips[COORDINATOR] if one.outcome == "open"]
    assert 0 < len(red) < len(strips[COORDINATOR])
    assert len(strips[LEADER]) == len(strips[COORDINATOR])


def test_it_can_be_stopped() -> None:
    runs = iter(range(4))
    strips = what_if(ONE, stop=lambda: next(runs) == 3)
    assert sum(map(len, strips.values())) < 20


def test_without_transactions_a_strip_says_how_often_the_record_is_in_the_log() -> None:
    fates = {one.faults: (one.outcome, one.allowed) for one in what_if(lab00())[FRAME] if one.faults}
    assert fates[(Drop("Produce#1"),)] == ("once", "")
    assert fates[(Drop("ProduceResponse#1"),)] == ("twice", "duplicate")
    assert [run(Drop(f"{name}#1")) for name in ("Produce", "ProduceResponse")] == [["soup"], ["soup", "soup"]]


def test_a_record_is_there_more_than_once_exactly_where_a_duplicate_is_found() -> None:
    strips = what_if(lab00().with_faults(Drop("ProduceResponse#1")))
    told = {(one.outcome, one.allowed) for strip in strips.values() for one in strip if one.faults}
    assert told == {("never", ""), ("once", ""), ("twice", "duplicate"), ("3 times", "duplicate")}


def test_of_several_records_the_strip_says_what_became_of_some() -> None:
    outcomes = [outcome for outcome, _ in groupby(what_if(lab01())[CLIENT][1:], key=lambda one: one.outcome)]
    assert outcomes == ["never", "some never", "once"]


def run(fault: Drop) -> list[str]:
    return list(ran(lab00().with_faults(fault)).outcome().committed["orders-0"])
