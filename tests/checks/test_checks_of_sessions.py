"""Checks that ask who a record belongs to: joined transactions, forgotten producers, records that never were."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.checks.all import check_all
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash, Restart
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.storage import Compact
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.history.schema import FrameRow, Operation
from kafkalab.log.producer_state.state import EXPIRATION_MS
from kafkalab.programs.steps import add, commit, init, produce, sleep
from kafkalab.protocol.rules import LAST_BATCH_STAYS, OLD_BATCHES
from kafkalab.protocol.transaction_metadata import TWO_PHASE_TIMEOUT_MS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.checks.verdicts import OK, UNKNOWN, VIOLATED, Build, build_history, verdict

K, OFFSETS = "out-0", "__consumer_offsets-1"
DAY = EXPIRATION_MS


def join(m: HistoryBuilder, decisions: int, control: str = "COMMIT", client: str = "b") -> None:
    """Two transactions of one producer id, ended by one decision or by one each."""
    m.send("a", K, "x", n=1)
    if decisions > 1:
        m.entry(f"Prepare{control.title()}", K)
        m.marker(K, control)
    if client:
        m.send(client, K, "y", seq=1, n=1)
    else:
        m.log(K, "y", pid=1, epoch=0, seq=1, txn=True)
    m.entry(f"Prepare{control.title()}", K)
    m.marker(K, control)


def without_a_timeout(m: HistoryBuilder, end_ms: int) -> None:
    m.entry("Ongoing", K, timeout_ms=TWO_PHASE_TIMEOUT_MS)
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.label("end_ms", end_ms)


def first_of_its_transaction(m: HistoryBuilder, sequence: int, version: int = 12, offset: int = 0) -> None:
    """The client sent it with this version of Produce; the log begins at the offset."""
    m.send("p", K, "x", seq=sequence, n=1, offset=offset)
    row = next(o for o in m.rows["operations"] if o.function == "send")
    m.add(FrameRow(id="Produce#1", name="Produce", kind="request", sender="p", version=version, sent_step=row.step))


def after_a_pause(m: HistoryBuilder, pause_ms: int, config: str = "", open_transaction: bool = False) -> None:
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=open_transaction)
    first = m.rows["log"][-1]
    m.log(K, "z", pid=1, epoch=0, seq=5, txn=open_transaction)
    late = m.rows["log"].pop()
    m.rows["log"].append(late._replace(at_ms=first.at_ms + pause_ms))
    if config:
        m.label("config", config)


def vouched_for(m: HistoryBuilder, logged: bool = False, read: int = 1, pid: int = 1) -> None:
    """A send that was acknowledged without an offset, between two that have one."""
    m.send("p", K, "w", pid=pid, seq=0)
    m.send("p", K, "x", pid=pid, seq=1, logged=logged, told=False)
    m.send("p", K, "y", pid=pid, seq=2)
    m.poll("r", K, *[(r.offset, r.value) for r in m.rows["log"][: read + 1]], start=0, end=read + 1, moved="assign")


CASES: list[tuple[str, Build, tuple[str, list[str]]]] = [
    ("torn transaction", lambda m: join(m, 1), VIOLATED),
    ("torn transaction", lambda m: join(m, 2), OK),
    ("torn transaction", lambda m: join(m, 1, "ABORT"), OK),
    ("torn transaction", lambda m: join(m, 1, client=""), OK),
    ("hanging transaction", lambda m: without_a_timeout(m, 800_000), OK),
    ("hanging transaction", lambda m: without_a_timeout(m, 1_000_000), VIOLATED),
    ("sequence gap", lambda m: first_of_its_transaction(m, 0), OK),
    ("sequence gap", lambda m: first_of_its_transaction(m, 1), VIOLATED),
    ("sequence gap", lambda m: first_of_its_transaction(m, 1, version=11), OK),
    ("sequence gap", lambda m: first_of_its_transaction(m, 1, offset=7), OK),
    ("sequence gap", lambda m: after_a_pause(m, DAY - 1), VIOLATED),
    ("sequence gap", lambda m: after_a_pause(m, DAY), OK),
    ("sequence gap", lambda m: after_a_pause(m, DAY, open_transaction=True), VIOLATED),
    ("sequence gap", lambda m: after_a_pause(m, 5_000, "producer_id_expiration_ms=5000"), OK),
    ("sequence gap", lambda m: after_a_pause(m, 5_000, "producer_id_expiration_check_interval_ms=5000"), VIOLATED),
    ("lost-write", vouched_for, VIOLATED),
    ("lost-write", lambda m: vouched_for(m, logged=True, read=2), OK),
    ("lost-write", lambda m: vouched_for(m, read=0), OK),
    ("lost-write", lambda m: vouched_for(m, pid=-1), OK),
]


@pytest.mark.parametrize(("name", "build", "expected"), CASES)
def test_the_check_says(name: str, build: Build, expected: tuple[str, list[str]]) -> None:
    assert verdict(build_history(build), name) == expected


def test_a_plain_offset_is_of_no_transaction_whatever_else_says_the_same() -> None:
    made = HistoryBuilder()
    made.log(OFFSETS, "2", record_key="g/in-0")
    given: dict[str, Any] = {"client": "p", "process": "p", "transaction": 1, "key": "in-0", "value": "g"}
    made.rows["operations"] = [Operation(index=0, type="invoke", function="offsets", offset=2, step=2, **given)]
    assert verdict(made.history(), "torn transaction") == UNKNOWN


# what a run leaves in its history


def run(scenario: Scenario) -> History:
    cluster = Cluster(scenario)
    cluster.run()
    return history_of(cluster)


def test_a_batch_called_a_duplicate_is_acknowledged_for_the_client() -> None:
    steps = [["send", "out", "w"], ["flush"], ["sleep", 320_000], ["send", "out", "x"], ["sleep", 8]]
    steps += [["send", "out", "y"], ["sleep", 200_000]]
    config = {"producer_id_expiration_ms": 300_000, "producer_id_expiration_check_interval_ms": 1_000}
    scenario = Scenario(
        topics={"out": 1},
        programs=(Program("p", "operations", {"steps": steps}),),
        faults=(Drop("Produce#2"),),
        config=config,
        rules_off=(OLD_BATCHES.name,),
    )
    found = run(scenario)
    ends = [(o.value, o.error, o.offset) for o in found.operations if o.function == "send" and o.type == "ok"]
    assert ("x", "DUPLICATE_SEQUENCE_NUMBER", -1) in ends
    assert found.label("config") == tuple(f"{name}={value}" for name, value in config.items())


def test_init_producer_id_by_hand_begins_another_transaction() -> None:
    first = [init("pay"), add("pay", "out-0"), produce("pay", "out-0", 0, "x")]
    again = [init("pay"), add("pay", "out-0", until="NONE"), produce("pay", "out-0", 0, "y"), commit("pay")]
    scenario = Scenario(
        topics={"out": 1},
        profile="4.x/TV1",
        programs=(Program("p", "raw_requests", {"steps": [*first, sleep(50), *again]}),),
    )
    found = run(scenario)
    sends = [(o.value, o.transaction) for o in found.operations if o.function == "send" and o.type == "ok"]
    assert sends == [("x", 1), ("y", 2)]
    assert check_all(found).violated == ()


def test_what_was_cleaned_before_a_replica_read_it_is_compacted_and_not_truncated() -> None:
    def send_keyed(value: str, wait_ms: int) -> Program:
        return Program(value, "operations", {"steps": [["sleep", wait_ms], ["send", "out", value, "k", 0], ["flush"]]})

    scenario = Scenario(
        topics={"out": 1},
        programs=(send_keyed("x", 0), send_keyed("y", 3_000), send_keyed("z", 30_000)),
        faults=(Crash("b2", at_ms=0), Compact("out-0", at_ms=15_000), Restart("b2", at_ms=16_000))
        + (ElectLeader("out-0", "b2", at_ms=25_000),),
        rules_off=(LAST_BATCH_STAYS.name,),
    )
    found = run(scenario)
    assert [(r.value, r.removed) for r in found.log if r.key == "out-0"] == [("x", "compacted"), ("y", ""), ("z", "")]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_offsets_of_no_producer_id_are_verified_and_refused(version: int) -> None:
    given: dict[str, Any] = {"transactional_id": "pay", "group_id": "g", "offsets": {"in-0": 1}}
    given |= {"producer_id": -1, "producer_epoch": -1}
    step = {"ask": "TxnOffsetCommit", "to": "group coordinator of g", "version": version, "with": given}
    programs = (Program("p", "raw_requests", {"steps": [init("pay"), step]}),)
    cluster = Cluster(Scenario(topics={"in": 1}, programs=programs))
    cluster.run()
    assert cluster.results["p"][-1] == ["TxnOffsetCommit", "INVALID_PRODUCER_ID_MAPPING"]
