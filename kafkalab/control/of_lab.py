"""The operations of `kafkalab serve --control`: the verbs of the fixture `kafka_lab`, one row each."""

from __future__ import annotations

import logging
from typing import Any

from kafkalab.control.operations import GET, HTML, LINES, POST, SVG, Operation, Parameter
from kafkalab.faults.fault import Fault, TimedFault
from kafkalab.faults.registry import TYPES, check_fault, fault_from_json, fault_of_words
from kafkalab.testing.kafka_lab import KafkaLab
from kafkalab.wire.live import EXAMPLES

log = logging.getLogger("kafkalab.control")

MOST_FRAMES, MOST_WAIT_S, MOST_MS = 10_000, 60, 10**10
FRAME = {
    "id": "EndTxn#1", "sender": "app", "receiver": "b1", "version": 5, "sent_ms": 0, "error": "", "fate": "delivered"
}  # fmt: skip
RECORD = {"partition": 0, "offset": 0, "encoded": False, "key": None, "value": None}
FINDING = {
    "anomaly": "", "policy": "forbidden", "text": "", "steps": [0], "keys": ["orders-0"], "offsets": [0]
}  # fmt: skip
VERDICT = {
    "holds": True, "message": "", "anomalies": ["exactly-once"], "unused_faults": ["Drop('EndTxn#9')"],
    "findings": [FINDING], "checks": [{"name": "G1a", "verdict": "ok", "examined": 1}],
}  # fmt: skip
BROKER = Parameter("broker", "string", "a broker's name: b1")
GROUP = Parameter("group", "string", "a consumer group's id")
DONE: dict[str, Any] = {}


def fault_in(body: dict[str, Any]) -> Fault:
    """Return the fault that a body describes, by words or by fields. ValueError, with examples, for anything else."""
    if ":" in str(body["fault"]):
        if len(body) > 1:
            raise ValueError(f"a fault is given in words, {EXAMPLES}, or by its fields, not both")
        return fault_of_words(str(body["fault"]), TYPES.values(), EXAMPLES)
    return fault_from_json(body)


def strike(lab: KafkaLab, fault: Fault) -> None:
    """Strike now, or when the fault's frame is sent; a fault of brokers or links with `at_ms` that long after now.

    ValueError if the fault does not fit, or would change nothing.
    """
    if not isinstance(fault, TimedFault) or fault.at_ms <= 0:
        lab.strike(fault)
        return
    check_fault(fault, tuple(lab.cluster.nodes), lab.topics)

    def act() -> None:
        try:
            lab.strike(fault)
        except ValueError as error:
            log.warning("%r: %s", fault, error)

    lab.do(lambda: lab.later(fault.at_ms / 1000, act))


def get_status(lab: KafkaLab) -> dict[str, Any]:
    return {
        "bootstrap_servers": lab.bootstrap_servers,
        "brokers": {name: lab.do(lambda name=name: lab.cluster.nodes[name].alive) for name in lab.cluster.broker_names},  # type: ignore[misc]
        "events": lab.trace.steps,
        "recording_stopped": lab.recording_stopped,
    }


def post_fault(lab: KafkaLab, **body: Any) -> dict[str, Any]:
    fault = fault_in(body)
    strike(lab, fault)
    return {"fault": repr(fault)}


def post_release(lab: KafkaLab, frame: str) -> dict[str, Any]:
    if frame:
        lab.let_go(frame)
    else:
        lab.free_run()
    return DONE


def post_pipeline(lab: KafkaLab, source: str, target: str, effects: int) -> dict[str, Any]:
    lab.pipeline(source, target, effects=effects)
    return DONE


def get_verdict(lab: KafkaLab, check: list[str]) -> dict[str, Any]:
    from kafkalab.control.answers import judge

    return judge(lab, check)


def get_records(lab: KafkaLab, topic: str, isolation_level: str) -> dict[str, Any]:
    from kafkalab.control.answers import describe_record

    return {"records": list(map(describe_record, lab.records(topic, isolation_level)))}


def get_coordinator(lab: KafkaLab, transactional_id: str, group: str) -> dict[str, Any]:
    if bool(transactional_id) == bool(group):
        raise ValueError("/coordinator takes either transactional_id or group")
    return {"broker": lab.coordinator_of(transactional_id, group=group)}


def get_frames(source: Any, count: int) -> dict[str, Any]:
    from kafkalab.control.answers import describe_frames

    return {"frames": describe_frames(source, count)}


def get_trace(source: Any) -> str:
    return str(source.do(lambda: "\n".join(source.run.trace.lines()) + "\n"))


def get_picture(source: Any) -> str:
    from kafkalab.control.answers import draw_picture

    return draw_picture(source)


def get_page(source: Any) -> str:
    from kafkalab.control.answers import write_page

    return write_page(source)


def _do(verb: str, *names: str) -> Any:
    """Return the operation that calls a method of the lab with these parameters and answers {}."""

    def act(lab: KafkaLab, **values: Any) -> dict[str, Any]:
        getattr(lab, verb)(*(values[name] for name in names))
        return DONE

    return act


WAIT = Parameter("timeout_s", "number", "how long to wait for a frame", 1, 0, MOST_WAIT_S)
WATCHING = (
    Operation(
        method=GET, path="/frames", about="List the last frames between clients and brokers, but for metadata",
        parameters=(Parameter("count", "integer", "how many", 30, 1, MOST_FRAMES),),
        answer=get_frames, returns={"frames": [FRAME]},
    ),
    Operation(
        method=GET, path="/trace", about="Return all events and frames as JSON lines", answer=get_trace, media=LINES
    ),
    Operation(method=GET, path="/picture.svg", about="Draw the last steps", answer=get_picture, media=SVG),
    Operation(
        method=GET, path="/picture.html", about="Return the run as a page to step through", answer=get_page, media=HTML
    ),
)  # fmt: skip
"""List the operations that a lab and a tap share: they change nothing."""

OPERATIONS = (
    Operation(
        method=GET, path="/status", about="Say where the brokers are, which are alive, and what is recorded",
        answer=get_status,
        returns={"bootstrap_servers": "", "brokers": {"*": True}, "events": 0, "recording_stopped": ""},
    ),
    Operation(
        method=POST, path="/faults", about="Strike with a fault now, or when the frame that it names is sent",
        parameters=(Parameter("fault", "string", f"in words, {EXAMPLES}; or a fault's name, with its fields beside"),),
        more='A field of the fault: {"fault": "Crash", "node": "b2"}. With at_ms it strikes that long after now.',
        answer=post_fault, returns={"fault": "Drop('EndTxnResponse#1')"},
    ),
    Operation(
        method=GET, path="/faults", about="List the faults whose frames have not been sent yet",
        answer=lambda lab: {"unused": list(map(repr, lab.unused_faults))}, returns={"unused": [""]},
    ),
    Operation(
        method=POST, path="/hold", about="Let frames wait at the gate from now on",
        parameters=(
            Parameter("names", "array", "APIs, frames, client ids, transactional ids; without any all frames", ()),
        ),
        answer=lambda lab, names: (lab.hold(*names), DONE)[1], returns=DONE,
    ),
    Operation(
        method=GET, path="/held", about="List the frames that wait at the gate",
        answer=lambda lab: {"held": lab.held}, returns={"held": ["EndTxn#1"]},
    ),
    Operation(
        method=POST, path="/wait", about="Wait until a frame of this API or name waits at the gate",
        parameters=(Parameter("frame", "string", "an API or a frame: EndTxn or EndTxn#1"),
                    Parameter("timeout_s", "number", "how long to wait for it", 10, 0, MOST_WAIT_S)),
        answer=lambda lab, frame, timeout_s: {"frame": lab.wait_for(frame, timeout_s)},
        returns={"frame": "EndTxn#1"},
    ),
    Operation(
        method=POST, path="/step", about="Let the frame go that has waited longest; an empty name if none has come",
        parameters=(WAIT,), answer=lambda lab, timeout_s: {"frame": lab.step(timeout_s)}, returns={"frame": ""},
    ),
    Operation(
        method=POST, path="/release", about="Let this frame go; without one hold nothing any more",
        parameters=(Parameter("frame", "string", "a frame that waits: EndTxn#1", ""),),
        answer=post_release, returns=DONE,
    ),
    Operation(
        method=GET, path="/next", about="Name the frame of this API that will be sent next",
        parameters=(Parameter("api", "string", "an API, or its answer: EndTxnResponse"),),
        answer=lambda lab, api: {"frame": lab.next(api)}, returns={"frame": "EndTxnResponse#1"},
    ),
    Operation(
        method=POST, path="/clock", about="Move the brokers' clocks forward: what is due by then expires at once",
        parameters=(Parameter("advance_ms", "integer", "milliseconds", least=1, most=MOST_MS),),
        answer=_do("advance", "advance_ms"), returns=DONE,
    ),
    *(
        Operation(
            method=POST, path=f"/{verb}", about=about, parameters=(BROKER,), answer=_do(verb, "broker"), returns=DONE
        )
        for verb, about in {
            "crash": "End a broker's process: its connections break, its logs stay",
            "restart": "Start a crashed broker again, with its logs",
            "pause": "Stop a broker's process without ending it",
            "resume": "Continue a paused broker",
        }.items()
    ),
    Operation(
        method=GET, path="/topics", about="List the topics, with their numbers of partitions",
        answer=lambda lab: {"topics": lab.do(lambda: lab.topics)}, returns={"topics": {"*": 1}},
    ),
    Operation(
        method=POST, path="/topics", about="Create a topic",
        parameters=(Parameter("name", "string", "its name"),
                    Parameter("partitions", "integer", "how many", 1, 1, 1_000)),
        answer=_do("create_topic", "name", "partitions"), returns=DONE,
    ),
    Operation(
        method=GET, path="/records", about="List what a consumer would be given of a topic now",
        parameters=(Parameter("topic", "string", "its name"),
                    Parameter("isolation_level", "string", "or read_uncommitted", "read_committed")),
        answer=get_records, returns={"records": [RECORD]},
    ),
    Operation(
        method=GET, path="/offsets", about="List a group's committed offsets", parameters=(GROUP,),
        answer=lambda lab, group: {"offsets": lab.committed_offsets(group)}, returns={"offsets": {"*": 1}},
    ),
    Operation(
        method=GET, path="/coordinator", about="Name the broker that coordinates a transactional id or a group",
        parameters=(Parameter("transactional_id", "string", "a producer's", ""),
                    Parameter("group", "string", "a consumer group's id", "")),
        answer=get_coordinator, returns={"broker": "b1"},
    ),
    Operation(
        method=GET, path="/leader", about="Name the broker that leads a partition",
        parameters=(Parameter("partition", "string", "orders-0"),),
        answer=lambda lab, partition: {"broker": lab.leader_of(partition)}, returns={"broker": "b1"},
    ),
    Operation(
        method=POST, path="/pipeline", about="Declare that each record of one topic makes records of another, by key",
        parameters=(Parameter("source", "string", "the topic that is read"),
                    Parameter("target", "string", "the topic that is written"),
                    Parameter("effects", "integer", "how many records each one makes", 1, 0, 1_000)),
        answer=post_pipeline, returns=DONE,
    ),
    Operation(
        method=GET, path="/verdict", about="Judge all that has happened",
        parameters=(Parameter("check", "array", "a check that has to be answered; without any every promise", ()),),
        answer=get_verdict, returns=VERDICT,
    ),
    *WATCHING,
)  # fmt: skip
