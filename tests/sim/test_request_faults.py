"""A broker crashes at a request, or answers it with an error: before it has handled it, or afterwards."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import cast

import pytest

from kafkalab import CrashAt, Journey, RespondWith, lab03
from kafkalab.explore.candidates import sequences_after
from kafkalab.explore.fault_sequence import KINDS
from kafkalab.explore.sampling import Targets
from kafkalab.faults.fault import Fault
from kafkalab.faults.registry import fault_from_json, fault_to_json
from kafkalab.faults.request import DECIDING
from kafkalab.protocol.error_responses import carries_error, error_response
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.registry import ALL, BY_NAME
from kafkalab.run.again import run_scenario
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.codec import fault_of_row, fault_row
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import error_of
from kafkalab.wire.live import fault_of

NAME = lab03().programs[0].node


def events_at(cluster: Cluster, node: str, since: int) -> list[str]:
    """What the node did from that step on, up to its crash."""
    found = []
    for event in cluster.trace.events[since:]:
        if event.node == node:
            found.append(event.kind)
            if event.kind == "crash":
                break
    return found


@pytest.mark.parametrize("handled", [False, True])
def test_a_broker_crashes_at_a_request(handled: bool) -> None:
    cluster = ran(lab03().with_faults(CrashAt("EndTxn#1", handled, 4_000)))
    assert cluster.unused_faults == ()
    frame = cluster.trace.frames["EndTxn#1"]
    did = events_at(cluster, frame.receiver, frame.received_step)
    assert did[0] == "receive"
    assert did[-1] == "crash"
    assert ("append" in did) is handled
    answers = [f.received_ms for f in cluster.trace.frames.values() if f.of == "EndTxn#1" and f.fate == "delivered"]
    assert answers == []
    (crash,), (back,) = cluster.trace.of("crash"), cluster.trace.of("recover")
    assert (crash.node, back.node, back.at_ms - crash.at_ms) == (frame.receiver, frame.receiver, 4_000)
    assert cluster.outcome() == ran(lab03()).outcome()


def test_without_a_time_the_broker_stays_down() -> None:
    trace = ran(lab03().with_faults(CrashAt(f"{NAME}:EndTxn#1"))).trace
    assert (len(trace.of("crash")), len(trace.of("recover"))) == (1, 0)


@pytest.mark.parametrize("handled", [False, True])
@pytest.mark.parametrize("error", ["COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"])
def test_a_client_gets_an_error_instead(error: str, handled: bool) -> None:
    cluster = ran(lab03().with_faults(RespondWith("EndTxn#1", error, handled)))
    assert cluster.unused_faults == ()
    frame = cluster.trace.frames["EndTxn#1"]
    (answer,) = (f for f in cluster.trace.frames.values() if f.of == "EndTxn#1")
    assert (answer.error, answer.fate, answer.sender) == (error, "delivered", frame.receiver)
    between = cluster.trace.events[frame.received_step : answer.sent_step]
    assert any(event.kind == "append" for event in between) is handled
    assert cluster.outcome() == ran(lab03()).outcome()


def test_a_request_that_is_sent_again_may_get_an_error_again() -> None:
    faults = [RespondWith(f"EndTxn#{number}", "NOT_COORDINATOR") for number in (1, 2)]
    cluster = ran(lab03().with_faults(*faults))
    assert [f.error for f in cluster.trace.frames.values() if f.name == "EndTxnResponse"][:2] == ["NOT_COORDINATOR"] * 2


def test_every_api_says_whether_a_response_can_be_an_error() -> None:
    without = {api.name for api in ALL if not carries_error(api)}
    assert not without & {*DECIDING, "FindCoordinator", "Fetch", "ListOffsets", "JoinGroup", "SyncGroup", "Heartbeat"}
    assert {"ApiVersions", "Metadata", "DescribeTransactions"} <= without
    for frame in ran(lab03()).trace.frames.values():
        if frame.kind == "request" and carries_error(BY_NAME[frame.name]):
            answer = error_response(frame.body, Error.NOT_COORDINATOR)
            assert error_of(answer) == "NOT_COORDINATOR"
            assert type(answer) is BY_NAME[frame.name].response


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (RespondWith("Metadata#1", "NOT_COORDINATOR"), "no MetadataResponse says nothing but an error; there are"),
        (RespondWith("EndTxn#1", "NOT_CORDINATOR"), "no error is called 'NOT_CORDINATOR'; did you mean"),
        (RespondWith("ReplicaFetch#1", "NOT_COORDINATOR"), "no client sends ReplicaFetch"),
        (RespondWith("EndTxn#1", "NONE"), "no error is called 'NONE'"),
        (RespondWith("EndTxnResponse#1", "NOT_COORDINATOR"), "EndTxnResponse#1 is a response; choose its request"),
        (CrashAt("app:EndTxnResponse#1"), "is a response; choose its request"),
        (CrashAt("EndTxn#1", down_ms=-1), "down_ms is a number of milliseconds from 0 on"),
        (CrashAt("EndTxn#1", handled=cast("bool", "yes")), "handled is True or False"),
    ],
)
def test_what_cannot_be_is_refused(fault: Fault, why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why):
        lab03().with_faults(fault)


def test_a_request_that_never_comes_leaves_the_fault_unused() -> None:
    for fault in (CrashAt("EndTxn#9"), RespondWith("EndTxn#9", "NOT_COORDINATOR", handled=True)):
        assert ran(lab03().with_faults(fault)).unused_faults == (fault,)


def test_what_servers_ask_each_other_is_answered_as_ever() -> None:
    fault = RespondWith("WriteTxnMarkers#1", "NOT_COORDINATOR")
    cluster = ran(lab03().with_faults(fault))
    assert cluster.unused_faults == (fault,)
    assert cluster.trace.digest() == ran(lab03()).trace.digest()


def test_a_request_that_is_not_received_leaves_the_fault_unused() -> None:
    faults = (CrashAt("EndTxn#1"), *(Journey(lab03()).scenario.faults), fault_of("Drop:EndTxn#1"))
    cluster = ran(lab03().with_faults(*faults))
    assert cluster.unused_faults == (CrashAt("EndTxn#1"),)
    assert CrashAt("EndTxn#1").awaited == "EndTxn#1 has not been received"
    assert CrashAt("EndTxn#1", handled=True).awaited == "EndTxn#1 has not been answered"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("CrashAt:EndTxn#1", CrashAt("EndTxn#1")),
        ("CrashAt:app:EndTxn#1:handled", CrashAt("app:EndTxn#1", handled=True)),
        ("CrashAt:EndTxn#1:3000", CrashAt("EndTxn#1", down_ms=3000)),
        ("CrashAt:EndTxn#1:handled:3000", CrashAt("EndTxn#1", True, 3000)),
        ("RespondWith:app:EndTxn#1:NOT_COORDINATOR", RespondWith("app:EndTxn#1", "NOT_COORDINATOR")),
        ("RespondWith:EndTxn#1:NOT_COORDINATOR:handled", RespondWith("EndTxn#1", "NOT_COORDINATOR", True)),
    ],
)
def test_it_is_words_a_file_and_a_code(text: str, fault: Fault) -> None:
    assert fault_of(text) == fault
    assert fault_from_json(fault_to_json(fault)) == fault
    assert fault_of_row(fault_row(fault)) == fault
    scenario = replace(lab03(), faults=(fault,))
    assert Scenario.from_json(scenario.to_json()) == scenario


@pytest.mark.parametrize("text", ["CrashAt:EndTxn#1:later", "RespondWith:EndTxn#1", "RespondWith:EndTxn#1:A:b"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a fault is Drop:EndTxnResponse#1"):
        fault_of(text)


def test_they_are_buttons_and_words() -> None:
    journey = Journey(lab03())
    assert journey.possible("respond_with", "EndTxnResponse#1") == "EndTxnResponse#1 is a response; choose its request"
    assert journey.possible("crash_at", "EndTxn#1", handled=True) == ""
    assert "no error is called" in journey.possible("respond_with", "EndTxn#1", error="OH")
    journey.press("respond_with", "EndTxn#1", error="NOT_COORDINATOR")
    assert journey.scenario.faults == (RespondWith("EndTxn#1", "NOT_COORDINATOR"),)
    told = journey.payload["events"][journey.tree[-1]["at"] + 1]["text"]
    assert told.endswith("answers EndTxn#1 with NOT_COORDINATOR and does not handle it.")


def test_a_search_tries_them_where_it_is_asked_to() -> None:
    assert not {"error", "crash-at"} & set(KINDS)
    run = run_scenario(lab03())
    found, _ = sequences_after(run, run.start, ("crash-at",))
    assert {CrashAt("EndTxn#1", handled, 20_000) for handled in (False, True)} <= {one.faults[0] for one in found}
    found, _ = sequences_after(run, run.start, ("error",))
    struck = [one.faults[0] for one in found]
    assert RespondWith("EndTxn#1", "COORDINATOR_NOT_AVAILABLE", handled=True) in struck
    assert RespondWith("Produce#1", "NOT_LEADER_OR_FOLLOWER") in struck
    for fault in struck[:4]:
        assert run_scenario(lab03().with_faults(fault)).unused_faults == ()
    for number in range(20):
        (fault,) = Targets.of(run).sequence(("error",), Random(number)).faults
        lab03().with_faults(fault)
