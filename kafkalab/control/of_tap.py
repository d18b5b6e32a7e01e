"""The operations of `kafkalab tap --control`: frames before a running Kafka are held, lost or delayed, and looked at.

Clocks, brokers, topics and records are the running Kafka's own: it has its tools for them.
"""

from __future__ import annotations

import time
from typing import Any

from kafkalab.control.of_lab import DONE, WAIT, WATCHING
from kafkalab.control.operations import GET, POST, Operation, Parameter
from kafkalab.live.tap import Tap
from kafkalab.wire.tap.gate import EXAMPLES, fault_of

LOOK_S = 0.02


def get_status(tap: Tap) -> dict[str, Any]:
    trace = tap.run.trace
    after = f"recording has stopped after {trace.stopped_after}" if trace.stopped_after else ""
    return {"bootstrap_servers": tap.bootstrap_servers, "events": trace.steps, "recording_stopped": after}


def post_fault(tap: Tap, fault: str) -> dict[str, Any]:
    planned = fault_of(fault)
    tap.strike(planned)
    return {"fault": repr(planned)}


def post_hold(tap: Tap, names: list[str]) -> dict[str, Any]:
    for name in names or [""]:
        tap.hold(name)
    return DONE


def post_release(tap: Tap, frame: str) -> dict[str, Any]:
    if frame:
        tap.let_go(frame)
        return DONE

    def act() -> None:
        tap.gate.names.clear()
        for held in list(tap.gate.held):
            tap.gate.let_go(held)

    tap.do(act)
    return DONE


def post_step(tap: Tap, timeout_s: float) -> dict[str, Any]:
    def act() -> str:
        name = next(iter(tap.gate.held), "")
        if name:
            tap.gate.let_go(name)
        return name

    end_s = time.monotonic() + timeout_s
    while not (name := tap.do(act)) and time.monotonic() < end_s:
        time.sleep(LOOK_S)
    return {"frame": name}


OPERATIONS = (
    Operation(
        method=GET, path="/status", about="Say where the tap's doors are, and what is recorded",
        answer=get_status, returns={"bootstrap_servers": "", "events": 0, "recording_stopped": ""},
    ),
    Operation(
        method=POST, path="/faults", about="Strike with a fault when the frame that it names is sent",
        parameters=(Parameter("fault", "string", EXAMPLES),),
        answer=post_fault, returns={"fault": "Drop('EndTxnResponse#1')"},
    ),
    Operation(
        method=GET, path="/faults", about="List the faults whose frames have not been sent yet",
        answer=lambda tap: {"unused": list(map(repr, tap.unused_faults))},
        returns={"unused": [""]},
    ),
    Operation(
        method=POST, path="/hold", about="Let frames wait from now on",
        parameters=(Parameter("names", "array", "APIs, answers, client ids, brokers; without any all frames", ()),),
        answer=post_hold, returns=DONE,
    ),
    Operation(
        method=GET, path="/held", about="List the frames that wait",
        answer=lambda tap: {"held": tap.held}, returns={"held": ["EndTxn#1"]},
    ),
    Operation(
        method=POST, path="/step", about="Let the frame go that has waited longest; an empty name if none has come",
        parameters=(WAIT,), answer=post_step, returns={"frame": ""},
    ),
    Operation(
        method=POST, path="/release", about="Let this frame go; without one hold nothing any more",
        parameters=(Parameter("frame", "string", "a frame that waits: EndTxn#1", ""),),
        answer=post_release, returns=DONE,
    ),
    *WATCHING,
)  # fmt: skip
