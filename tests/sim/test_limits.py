"""Files and codes have limits that their errors name, and what a scenario says is checked when it is made."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.frame import Delay
from kafkalab.faults.link import Cut
from kafkalab.faults.node import Crash
from kafkalab.faults.registry import fault_from_json
from kafkalab.limits import LIMITS, MESSAGE, NAMES, QUOTE, RUN, list_names, quote, truncate, whole_number
from kafkalab.programs.steps import init, produce
from kafkalab.protocol.acls import Deny, is_server
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.codec import SCENARIO, encode, scenario_of_code
from kafkalab.sim.run_errors import RunawayError
from kafkalab.sim.scenario import Program, Scenario

ROOT = Path(__file__).parents[2]


def text_of(**changes: Any) -> str:
    return json.dumps({**lab03().to_json(), **changes})


def refusal(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r".") as caught:
        Scenario.load(path)
    message = str(caught.value)
    assert len(message) <= MESSAGE
    assert "\n" not in message
    return message


DEEP = "[" * 30 + "]" * 30
TOO_MUCH = {
    "the limit is 1,000,000": " " * 1_000_001,
    "too many levels of nesting; the limit is 20": "[" * 100_000,
    "21 levels of nesting; the limit is 20": '{"format": "kafkalab-scenario", "version": 1, "config": ' + DEEP + "}",
    "10,001 characters in one text; the limit is 10,000": text_of(title="x" * 10_001),
    "50,000": text_of(rules_off=[1] * 50_000),
    "101 topics; the limit is 100": text_of(topics={f"t{i}": 1 for i in range(101)}),
    "1,001 partitions of all topics together; the limit is 1,000": text_of(records={}, topics={"t": 1_001}),
    "10,001 records before the run": text_of(records={"transfers-0": ["x"] * 10_001}),
    "51 programs": text_of(programs=[{"node": f"n{i}", "run": "kitchen"} for i in range(51)]),
    "1,001 faults": text_of(faults=[{"fault": "Drop", "frame": "EndTxn#1"}] * 1_001),
    "1,001 denials": text_of(acls=[{"principal": "*", "operation": "READ", "resource": "Cluster"}] * 1_001),
    "101 transactional ids with an epoch": text_of(producer_epochs={f"t{i}": 1 for i in range(101)}),
    "250 characters in a name; the limit is 249": text_of(programs=[{"node": "n" * 250, "run": "kitchen"}]),
    "the limit is 9,223,372,036,854,775,807": text_of(seed=2**63),
    "it is no JSON": text_of().replace('"seed": 1', '"seed": ' + "9" * 5_000),
    "a number that is too large": text_of().replace('"seed": 1', '"seed": 1e999'),
    "half of a surrogate pair is no character": text_of(title="\ud800"),
}


@pytest.mark.parametrize("says", TOO_MUCH)
def test_a_file_beyond_a_limit_is_refused_with_the_limit(tmp_path: Path, says: str) -> None:
    assert says in refusal(tmp_path / "x.klab", TOO_MUCH[says])


def test_a_folder_a_device_and_a_pipe_are_no_scenario(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path, "a folder"), (Path("/dev/zero"), "a device"), (tmp_path / "pipe", "a pipe")):
        with pytest.raises(ValueError, match=f"{what}.*a regular file is needed"):
            Scenario.load(path)


def program(run: str, **args: Any) -> dict[str, Any]:
    return {"programs": [{"node": "p", "run": run, "args": args}], "topics": {"out": 2}, "records": {}}


def raw(**step: Any) -> dict[str, Any]:
    return program("raw_requests", steps=[{**init("a"), **step}])


def make_produce(**batch: Any) -> dict[str, Any]:
    step = produce("a", "out-0", 0, "x")
    step["with"]["batches"]["out-0"].update(batch)
    return program("raw_requests", steps=[init("a"), step])


WRONG_TYPES = {
    "faults": (text_of(faults=5), "is damaged"),
    "topics": (text_of(topics={"out": "2"}), "topics['out'] is a whole number, not '2'"),
    "true": (text_of(topics={"out": True}, records={}), "topics['out'] is a whole number, not True"),
    "records": (text_of(records={"transfers-0": [1]}), "is text, not 1"),
    "title": (text_of(title=["x"]), "title is text, not ['x']"),
    "topic name": (text_of(topics={"a/b": 1}, records={}), "'a/b' is no name of a topic"),
    "internal": (text_of(topics={"__transaction_state": 1}, records={}), "is an internal topic"),
    "no partition": (text_of(topics={"out": 0}, records={}), "topic 'out' has 1 partition or more, not 0"),
    "node": (text_of(programs=[{"node": ["x"], "run": "kitchen"}]), "programs[0].node is text, not ['x']"),
    "run": (text_of(programs=[{"node": "p", "run": 5}]), "programs[0].run is text, not 5"),
    "args": (text_of(programs=[{"node": "p", "run": "kitchen", "args": [1]}]), "programs[0].args is an object"),
    "count": (text_of(**program("transactions", transactional_id="a", count=10**12)), "a number from 0 to 10,000, not"),
    "unknown": (text_of(**program("kitchen", colour=1)), "has no argument 'colour'; its arguments are wait_ms"),
    "missing": (text_of(**program("read_all")), "needs partitions; its arguments are partitions, isolation_level"),
    "partitions": (text_of(**program("read_all", partitions="out-0")), "is a list, not 'out-0'"),
    "partition": (text_of(**program("read_all", partitions=["out-²"])), "is named like \"out-0\", not 'out-²'"),
    "index": (text_of(**program("idempotent_writer", topic="out", partitions=[-1])), "is a number from 0 to"),
    "plan": (text_of(**program("writer", transactional_id="a", topic="out", plan=[["end", 0]])), "begins with commit"),
    "value": (text_of(**program("operations", steps=[["send", "out", {"a": 1}]])), "argument value of send is text"),
    "many": (text_of(**program("operations", steps=[["flush", 1]])), "flush takes 0 arguments, not 1"),
    "operation": (text_of(**program("operations", steps=[["close"]])), "no operation 'close'; there are init_trans"),
    "step": (text_of(**program("raw_requests", steps=["x"])), "steps of program 'p'[0] is an object, not 'x'"),
    "with": (text_of(**raw(**{"with": 5})), "InitProducerId is an object with fields, not 5"),
    "field": (text_of(**raw(**{"with": {"transactional_id": {"a": 1}, "transaction_timeout_ms": 1}})), "is text, not"),
    "to": (text_of(**raw(to=5)), '"to" is "b1", "leader of out-0"'),
    "leader": (text_of(**raw(to="leader of out")), "'out' is no partition"),
    "version": (text_of(**raw(version="x")), "version is a number from"),
    "values": (text_of(**make_produce(values=[1])), "it has values, a list of texts"),
    "batch": (text_of(**make_produce(base_sequence="x")), "base_sequence is a whole number, not 'x'"),
    "sleep": (text_of(**program("raw_requests", steps=[{"sleep": -1}])), "sleep is a number from 0 to"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_TYPES)
def test_a_wrong_type_is_found_when_the_scenario_is_made(tmp_path: Path, what: str) -> None:
    text, says = WRONG_TYPES[what]
    assert says in refusal(tmp_path / "x.klab", text)


def test_only_ascii_digits_are_digits() -> None:
    assert [whole_number(text) for text in ("0", "10", "²", "٣", "01", "", "-1", "9" * 20)] == [0, 10, *[-1] * 6]
    assert [is_server(name) for name in ("b1", "b²", "b", "controller")] == [True, False, False, True]
    for partition in ("transfers-²", "transfers-00"):
        with pytest.raises(ValueError, match="records for"):
            Scenario(topics={"transfers": 1}, records={partition: ("1",)})


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Delay("EndTxn#1", 10**13), "the limit is 1,000,000,000,000"),
        (AdvanceClock(10**13, at_ms=1), "the limit is 1,000,000,000,000"),
        (Crash("app", at_ms=10**18), "is too late"),
        (Crash("app", at_step="4"), "at_step is a whole number"),  # type: ignore[arg-type]
        (Cut(5, "b1", at_ms=1), "a is text, not 5"),  # type: ignore[arg-type]
        (Crash("app", at_ms=True), "at_ms is a whole number, not True"),
    ],
    ids=str,
)
def test_a_fault_has_numbers_within_limits(fault: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        lab03().with_faults(fault)


@pytest.mark.parametrize("row", [{"fault": []}, {"fault": {}}, {"fault": None}, {}, [], "Drop"])
def test_what_is_no_fault_is_refused(row: Any) -> None:
    with pytest.raises(ValueError, match="is not a fault; there are"):
        fault_from_json(row)


@pytest.mark.parametrize("row", [[["lab03"]], ["lab03", ["x"]], ["lab03", "4.x/TV2", 1, [], [[[], "a"]]], [1], "x"])
def test_a_code_of_wrong_types_is_refused(row: Any) -> None:
    with pytest.raises(ValueError, match="this code holds a scenario that this kafkalab does not know"):
        scenario_of_code(encode(SCENARIO, row))


def test_messages_are_short_and_quote_little() -> None:
    for value in ("x" * 10**6, 10**5_000, [[[[[[["x" * 100] * 100]]]]]], {"a" * 1_000: "b" * 1_000}, object()):
        assert len(quote(value)) <= QUOTE
    assert len(truncate("x" * 10**6)) == MESSAGE
    assert truncate("one\ntwo") == "one"
    assert list_names(["a", "b"]) == "a, b"
    assert list_names(range(1_000)).endswith(" more")
    assert len(list_names(["x" * 300] * 9)) < NAMES + 20
    for making in (
        lambda: Scenario(profile="x" * 10**5),
        lambda: Scenario(rules_off=("gravity" * 1_000,)),
        lambda: Deny("app", "x" * 10**5, "Cluster"),
        lambda: Scenario(programs=(Program("app", "x" * 10**5),)).programs[0].function(),
    ):
        with pytest.raises(ValueError, match="there are") as caught:
            making()
        assert len(str(caught.value)) <= MESSAGE


def test_a_run_that_never_ends_is_stopped_within_two_seconds_if_it_came_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.klab"
    path.write_text(text_of(**program("transactions", transactional_id="a", count=10_000)), encoding="utf-8")
    began = time.process_time()
    with pytest.raises(RunawayError, match=f"did not end within {RUN.most} steps"):
        Cluster(Scenario.load(path)).run(RUN.most)
    assert time.process_time() - began < 4  # two on a machine that does nothing else


def test_every_limit_is_on_its_page() -> None:
    page = (ROOT / "docs/limits.md").read_text("utf-8")
    assert [limit for limit in LIMITS if f"| {limit.most:,} |" not in page] == []
