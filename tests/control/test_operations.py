"""Each operation does what the fixture's verb of that name does; the description follows from the same table."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkalab.control.of_lab import OPERATIONS
from kafkalab.control.of_tap import OPERATIONS as OF_TAP
from kafkalab.control.openapi import describe
from kafkalab.control.operations import GET, JSON, POST
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.testing.kafka_lab import KafkaLab
from tests.control.conftest import Control
from tests.live.conftest import Client

Connect = Callable[..., Client]


def commit_offsets(app: Client, lab: KafkaLab, partition: str, offset: int) -> Error:
    """Commit an offset of the group g in the transaction."""
    asked = TxnOffsetCommit(
        transactional_id=app.tid, producer_id=app.pid, producer_epoch=app.epoch, group_id="g",
        offsets={partition: offset},
    )  # fmt: skip
    found: Error = app.ask(lab.coordinator_of(group="g"), asked, 5).errors[partition]
    return found


def test_a_lost_answer_is_seen_and_judged(control: Control, connect: Connect) -> None:
    assert control.post("/faults", fault="Drop:EndTxnResponse#1") == {"fault": "Drop(frame='EndTxnResponse#1')"}
    assert control.get("/faults") == {"unused": ["Drop(frame='EndTxnResponse#1')"]}
    app = connect()
    assert app.now(app.init) is app.now(lambda: app.send("a")) is Error.NONE
    with pytest.raises(ConnectionError):
        app.now(app.end)
    app.disconnect()
    assert control.get("/faults") == {"unused": []}
    assert control.get("/records", topic="out")["records"] == [
        {"partition": 0, "offset": 0, "encoded": False, "key": "k", "value": "a"}
    ]
    frames = control.get("/frames", count=2)["frames"]
    assert [(f["id"], f["fate"], f["error"]) for f in frames] == [
        ("EndTxn#1", "delivered", ""), ("EndTxnResponse#1", "dropped", "")
    ]  # fmt: skip
    verdict = control.get("/verdict")
    assert (verdict["holds"], verdict["message"], verdict["findings"]) == (True, "", [])
    assert {"name": "G1a", "verdict": "ok", "examined": 1} in verdict["checks"]


def test_a_fault_that_never_struck_makes_the_verdict_false(control: Control, connect: Connect) -> None:
    control.post("/faults", fault="Drop:EndTxnResponse#9")
    app = connect()
    assert app.now(app.init) is app.now(lambda: app.send("a")) is app.now(app.end) is Error.NONE
    verdict = control.get("/verdict")
    assert not verdict["holds"]
    assert verdict["unused_faults"] == ["Drop(frame='EndTxnResponse#9')"]
    assert "EndTxnResponse#9" in verdict["message"]


def test_a_broken_promise_is_a_verdict_with_findings(control: Control, lab: KafkaLab, connect: Connect) -> None:
    control.post("/pipeline", source="in", target="out")
    app = connect()
    assert app.now(app.init) is Error.NONE
    app.now(lambda: app.send("order", "in-0"))
    app.now(app.end)
    for _ in range(2):
        app.now(lambda: app.send("paid"))
        assert app.now(lambda: commit_offsets(app, lab, "in-0", 1)) is Error.NONE
        assert app.now(app.end) is Error.NONE
    verdict = control.get("/verdict", check="exactly-once")
    assert not verdict["holds"]
    assert verdict["anomalies"] == ["exactly-once"]
    assert "is duplicated" in verdict["findings"][0]["text"]
    assert verdict["message"].startswith("exactly-once: ")
    assert control.get("/offsets", group="g") == {"offsets": {"in-0": 1}}
    assert control.refusal("GET", "/verdict?check=exacty-once").endswith("did you mean exactly-once?")


def test_frames_wait_step_and_are_released(control: Control, connect: Connect) -> None:
    app = connect()
    assert app.now(app.init) is app.now(lambda: app.send("a")) is Error.NONE
    control.post("/hold", names=["EndTxn"])
    assert control.refusal("POST", "/wait", frame="EndTxn", timeout_s=0.05).startswith("409 no 'EndTxn' has come")
    ended = app.later(app.end)
    assert control.post("/wait", frame="EndTxn") == {"frame": "EndTxn#1"}
    assert control.get("/held") == {"held": ["EndTxn#1"]}
    assert control.post("/step") == {"frame": "EndTxn#1"}
    assert control.post("/wait", frame="EndTxnResponse") == {"frame": "EndTxnResponse#1"}
    assert control.refusal("POST", "/release", frame="EndTxn#1").startswith("400 'EndTxn#1' does not wait")
    control.post("/release", frame="EndTxnResponse#1")
    assert ended.result(10) is Error.NONE
    assert control.get("/next", api="EndTxn") == {"frame": "EndTxn#2"}
    control.post("/release")
    assert app.now(lambda: app.send("b")) is app.now(app.end) is Error.NONE


def test_waiting_does_not_keep_others_waiting(control: Control) -> None:
    waiting = threading.Thread(target=lambda: control.ask("POST", "/step", b'{"timeout_s": 60}', {
        "Content-Type": "application/json"}), daemon=True)  # fmt: skip
    waiting.start()
    assert control.get("/held") == {"held": []}
    assert waiting.is_alive()


def test_brokers_crash_restart_pause_and_resume(control: Control) -> None:
    for verb, alive in {"crash": False, "restart": True}.items():
        control.post(f"/{verb}", broker="b2")
        assert control.get("/status")["brokers"]["b2"] is alive
    control.post("/pause", broker="b1")
    assert control.refusal("POST", "/pause", broker="b1").startswith("400 ")
    control.post("/resume", broker="b1")
    assert control.refusal("POST", "/crash", broker="b9").startswith("400 no node 'b9'")
    assert control.post("/faults", fault="Crash", node="b3", at_ms=0) == {"fault": "Crash('b3', at_ms=0)"}
    assert control.get("/status")["brokers"]["b3"] is False


def test_a_fault_with_a_time_strikes_that_long_after_now(control: Control, lab: KafkaLab) -> None:
    control.post("/faults", fault="Crash:b2:150")
    assert control.get("/status")["brokers"]["b2"] is True
    with lab._arrived:
        assert lab._arrived.wait_for(lambda: not lab.cluster.nodes["b2"].alive, 10)
    assert control.refusal("POST", "/faults", fault="Crash:b9:150").startswith("400 no node 'b9'")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"fault": "Drop"}, "400 "),
        ({"fault": "Drip:EndTxn#1"}, "400 a fault is Drop:EndTxnResponse#1, "),
        ({"fault": "Drop:EndTxn#1", "frame": "EndTxn#2"}, "400 a fault is given in words, "),
        ({"fault": "Crush", "node": "b1"}, "400 "),
        ({"fault": "Drop", "frame": "EndTxn#0"}, "400 "),
        ({"fault": "Drop", "frame": {"a": 1}}, "400 "),
        ({"frame": "EndTxn#1"}, "400 /faults needs fault: "),
        ({"fault": 1}, "400 fault is a string, not 1"),
    ],
)
def test_a_wrong_fault_is_a_sentence(control: Control, body: dict[str, Any], sentence: str) -> None:
    assert control.refusal("POST", "/faults", **body).startswith(sentence)


def test_topics_are_created_and_described(control: Control) -> None:
    control.post("/topics", name="new", partitions=3)
    assert control.get("/topics") == {"topics": {"in": 1, "new": 3, "out": 1}}
    assert control.get("/records", topic="new") == {"records": []}
    assert control.refusal("POST", "/topics", name="new") == "400 topic 'new' with 1 partitions: TOPIC_ALREADY_EXISTS"
    assert "INVALID_TOPIC" in control.refusal("POST", "/topics", name="a b")
    assert control.refusal("POST", "/topics", name="x", partitions=10**9).startswith("400 partitions is from 1 to 1000")
    assert control.get("/leader", partition="new-2")["broker"] in ("b1", "b2", "b3")
    assert control.refusal("GET", "/records?topic=nix").startswith("400 no topic 'nix'")


def test_the_clock_jumps_and_coordinators_have_names(control: Control, lab: KafkaLab, connect: Connect) -> None:
    app = connect()
    assert app.now(app.init) is app.now(lambda: app.send("a")) is Error.NONE
    control.post("/clock", advance_ms=70_000)
    assert control.get("/records", topic="out", isolation_level="read_committed") == {"records": []}
    assert lab.outcome().txn_states["pay"] == "CompleteAbort"
    assert control.get("/coordinator", transactional_id="pay") == {"broker": app.coordinator}
    assert control.refusal("GET", "/coordinator").startswith("400 /coordinator takes either")


def test_pictures_and_the_trace_are_those_of_the_run(control: Control, connect: Connect) -> None:
    app = connect()
    assert app.now(app.init) is app.now(lambda: app.send("<b>&")) is app.now(app.end) is Error.NONE
    svg, page = control.get("/picture.svg"), control.get("/picture.html")
    assert svg.startswith("<svg")
    assert page.startswith("<!doctype html>")
    assert "<b>&" not in svg + page
    lines = list(map(json.loads, control.get("/trace").splitlines()))
    assert lines[0]["format"] == "kafkalab-trace"
    assert len(lines) > 100


def test_bytes_that_are_no_text_are_base64(lab: KafkaLab) -> None:
    from kafkalab.control.answers import describe_record
    from kafkalab.testing.record import TopicRecord

    row = describe_record(TopicRecord("t", 0, 3, None, b"\xff\x00"))
    assert row == {"partition": 0, "offset": 3, "encoded": True, "key": None, "value": "/wA="}


@pytest.mark.parametrize("table", [OPERATIONS, OF_TAP], ids=["serve", "tap"])
def test_the_description_has_every_operation(table: Any) -> None:
    described = describe(table, "kafkalab")
    listed = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert listed == {(operation.method, operation.path) for operation in table}
    assert len(listed) == len(table)
    ids = [one["operationId"] for methods in described["paths"].values() for one in methods.values()]
    assert len(set(ids)) == len(ids)
    for methods in described["paths"].values():
        assert set(methods) <= {"get", "post"}
        assert ("requestBody" in methods.get("post", {})) == ("post" in methods)
    json.dumps(described, allow_nan=False)


def test_answers_have_the_fields_of_the_description(control: Control, connect: Connect) -> None:
    app = connect()
    assert app.now(app.init) is app.now(lambda: app.send("a")) is app.now(app.end) is Error.NONE
    queries = {"/records": {"topic": "out"}, "/offsets": {"group": "g"}, "/leader": {"partition": "out-0"},
               "/coordinator": {"group": "g"}, "/next": {"api": "EndTxn"}}  # fmt: skip
    seen = 0
    for operation in OPERATIONS:
        if operation.method == GET and operation.media == JSON:
            assert operation.returns is not None
            found = control.get(operation.path, **queries.get(operation.path, {}))
            _compare(found, operation.returns, operation.path)
            seen += 1
    assert seen == 11
    assert control.get("/openapi.json") == json.loads(json.dumps(describe(OPERATIONS, "kafkalab serve")))


def _compare(found: Any, example: Any, where: str) -> None:
    if isinstance(example, dict):
        assert isinstance(found, dict), where
        if "*" not in example:
            assert set(found) == set(example), where
        for name, value in found.items():
            _compare(value, example.get("*", example.get(name)), f"{where} {name}")
    elif isinstance(example, list):
        assert isinstance(found, list), where
        for one in found:
            _compare(one, example[0], where)
    else:
        assert example is None or type(found) is type(example), (where, found)


def test_the_page_names_every_path(root: Path) -> None:
    page = (root / "docs/control.md").read_text(encoding="utf-8")
    for operation in OPERATIONS:
        assert f"`{operation.method} {operation.path}`" in page, operation.path
    assert {operation.method for operation in OPERATIONS} == {GET, POST}
