"""How long a frame of a run is: what a server would read and write for it."""

from __future__ import annotations

import pytest

from kafkalab import lab03, lab06, lab13
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario
from kafkalab.wire.codec import request_bytes
from kafkalab.wire.frame_bytes import UNKNOWN, frame_bytes
from kafkalab.wire.names import Names


@pytest.mark.parametrize("scenario", [lab13(), lab13(partitions=8), lab03(profile="4.x/TV1"), lab03(), lab06()])
def test_every_frame_has_a_length_but_what_brokers_copy(scenario: Scenario) -> None:
    run = ran(scenario)
    for frame in run.trace.frames.values():
        size = frame_bytes(run, frame)
        assert (size == UNKNOWN) == (frame.category == "replication"), frame.id
        assert size == UNKNOWN or size > 10


def test_a_request_is_as_long_as_what_a_client_sends() -> None:
    run = ran(lab13())
    frame = run.trace.frames["EndTxn#1"]
    names = Names({name: (name, 9092) for name in run.broker_names})
    sent = request_bytes("EndTxn", frame.version, frame.correlation_id, "app", frame.body, names)
    assert frame_bytes(run, frame) == len(sent) == 4 + int.from_bytes(sent[:4], "big")


def test_a_verification_is_as_long_as_its_parts() -> None:
    run = ran(lab13())
    request, response = (run.trace.frames[f"AddPartitionsToTxn{kind}#1"] for kind in ("", "Response"))
    body = len(b"bills-0") + 1 + 8 + 2 + 1 + len(b"bills") + 1 + 4 + 6  # three arrays and three empty sets of tags
    header = 4 + 2 + 2 + 4 + 2 + len(request.sender) + 1
    assert frame_bytes(run, request) == header + body
    assert frame_bytes(run, response) > frame_bytes(run, run.trace.frames["EndTxn#1"]) - 10
    assert request.version in BY_NAME["AddPartitionsToTxn"].versions


def test_sixty_records_are_longer_than_one_by_their_own_bytes() -> None:
    sizes = [
        frame_bytes(run := ran(lab13(records=n, size=n, work_ms=0)), run.trace.frames["Produce#1"]) for n in (1, 60)
    ]
    assert 59 * 7 < sizes[1] - sizes[0] < 59 * 16
