"""kafkalab's producer and consumer against the recorded ones of Java: outcomes, requests, back-offs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.end_txn import EndTxn
from tests.kafka.clients.compare import compare, differences, explains, read_explained, read_recorded
from tests.kafka.clients.outcome import name_wait, quickest
from tests.kafka.clients.script import Script, scripts
from tests.kafka.clients.scripted_broker import ScriptedBroker
from tests.kafka.clients.simulated import Simulated

SCRIPTS = {script.name: script for script in scripts()}
JAVA = read_recorded()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_client_does_what_javas_does(name: str) -> None:
    found = compare(SCRIPTS[name], JAVA[name])
    assert not found, "\n".join([f"{name}: {SCRIPTS[name].why}", *found])


def test_every_script_is_recorded_and_nothing_else() -> None:
    assert list(JAVA) == list(SCRIPTS)
    assert len(SCRIPTS) >= 60


def test_every_explanation_is_of_a_difference_that_there_is() -> None:
    lines = [(s.name, line) for s in SCRIPTS.values() for line in differences(s, JAVA[s.name], Simulated(s).run())]
    assert [row for row in read_explained() if not any(explains(row, *line) for line in lines)] == []
    assert [row for row in read_explained() if len(row["reason"].split()) < 8] == []


def test_a_difference_is_one_readable_line() -> None:
    script = SCRIPTS["one transaction TV2"]
    java = JAVA[script.name]
    lab = json.loads(json.dumps(java))
    lab["calls"][3] = {"exception": "TimeoutException", "message": "late"}
    lab["requests"].pop()
    assert differences(script, java, lab) == [
        '["commitTransaction"]: Java "ok", kafkalab {"exception": "TimeoutException", "message": "late"}',
        "only Java: v5 EndTxn t 1000/0 commit",
    ]


def test_a_simulated_run_is_the_same_again() -> None:
    script = SCRIPTS["Produce OUT_OF_ORDER_SEQUENCE_NUMBER TV1"]
    assert Simulated(script).run() == Simulated(script).run()


# the scripted broker


def broker(*answers: dict[str, Any]) -> ScriptedBroker:
    return ScriptedBroker(Script(name="x", why="", client="producer", calls=[], answers=list(answers)))


END = EndTxn(transactional_id="t", producer_id=1000, producer_epoch=3, committed=True)


def test_the_nth_request_is_answered_as_the_script_says() -> None:
    scripted = broker({"api": "EndTxn", "nth": 2, "error": "NOT_COORDINATOR"})
    errors = [scripted.answer("EndTxn", 5, END, 0).response.error for _ in range(3)]
    assert errors == [Error.NONE, Error.NOT_COORDINATOR, Error.NONE]


def test_an_answer_can_be_lost_and_a_connection_closed() -> None:
    scripted = broker({"api": "EndTxn", "do": "drop"}, {"api": "EndTxn", "nth": 2, "do": "close"})
    first, second = (scripted.answer("EndTxn", 5, END, 0) for _ in range(2))
    assert (first.response, first.closes, second.response, second.closes) == (None, False, None, True)


def test_a_refused_request_changes_nothing() -> None:
    scripted = broker({"api": "EndTxn", "error": "CONCURRENT_TRANSACTIONS"})
    scripted.answer("EndTxn", 5, END, 0)
    assert scripted.answer("EndTxn", 5, END, 0).response.producer_epoch == 4


def test_the_time_since_a_refusal_is_kept_up_to_the_retry() -> None:
    scripted = broker({"api": "EndTxn", "error": "CONCURRENT_TRANSACTIONS"})
    for now_ms in (0, 120, 240):
        scripted.answer("EndTxn", 5, END, now_ms)
    assert [row.get("after_ms") for row in scripted.log] == [None, 120, None]


@pytest.mark.parametrize(
    ("after_ms", "request_line", "around", "name"),
    [
        (3, "EndTxn t", False, "at once"),
        (22, "EndTxn t", False, "at once"),
        (22, "AddPartitionsToTxn t", False, "20 ms"),
        (80, "EndTxn t", False, "100 ms"),
        (240, "EndTxn t", False, "200 ms"),
        (480, "EndTxn t", False, "400 ms"),
        (1200, "EndTxn t", False, "1 s"),
        (240, "FindCoordinator t", True, "later"),
        (2, "FindCoordinator t", True, "at once"),
    ],
)
def test_a_back_off_has_a_name(after_ms: float, request_line: str, around: bool, name: str) -> None:
    assert name_wait({"after_ms": after_ms, "request": request_line, "around_look_up": around}) == name


def test_of_several_recordings_the_quickest_counts() -> None:
    logs: list[list[dict[str, Any]]] = [[{"request": "a"}, {"request": "b", "after_ms": ms}] for ms in (130, 104)]
    assert quickest(logs) == [{"request": "a"}, {"request": "b", "after_ms": 104}]
