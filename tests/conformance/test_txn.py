"""TXN: transactions end to end, through clients in a simulated cluster (docs/cases.md)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import (
    IllegalStateError,
    InvalidProducerEpochError,
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
)
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay
from kafkalab.faults.node import Crash, Restart
from kafkalab.programs.transfers import read_all
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import ControlType
from kafkalab.protocol.rules import VERIFICATION
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, ProgramFunction, Scenario
from tests.conformance.scripted_port import error_of

PROFILES = ("4.x/TV1", "4.x/TV2")
TOPICS = {"t1": 4, "t2": 4, "one": 1}


def run(
    function: ProgramFunction, profile: str, *faults: Fault, rules_off: tuple[str, ...] = (), **args: Any
) -> Cluster:
    program = Program("app", function, args)
    scenario = Scenario(topics=TOPICS, profile=profile, programs=(program,), faults=faults, rules_off=rules_off)
    cluster = Cluster(scenario)
    cluster.run()
    return cluster


def read(cluster: Cluster, *partitions: str, isolation_level: str = "read_committed") -> list[str]:
    reading = cluster.spawn("reader", read_all, partitions=list(partitions), isolation_level=isolation_level)
    cluster.run()
    return [value for _, value in reading.result()]


def list_sent(cluster: Cluster, name: str) -> list[Any]:
    return [f for f in cluster.trace.frames.values() if f.name == name and f.sender == "app"]


async def begin(app: App, transactional_id: str = "a", **config: Any) -> Any:
    """A producer in a transaction."""
    producer = app.producer(transactional_id=transactional_id, linger_ms=0, **config)
    await producer.init_transactions()
    producer.begin_transaction()
    return producer


async def basic(app: App) -> None:
    producer = await begin(app)
    await producer.send("t2", "2", partition=2)
    await producer.send("t1", "4", partition=1)
    await producer.flush()
    await producer.abort_transaction()
    producer.begin_transaction()
    await producer.send("t1", "1", partition=1)
    await producer.send("t2", "3", partition=2)
    await producer.commit_transaction()


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_01_committed_records_are_seen_and_aborted_ones_only_uncommitted(profile: str) -> None:
    cluster = run(basic, profile)
    assert sorted(read(cluster, "t1-1", "t2-2")) == ["1", "3"]
    cluster = run(basic, profile)
    assert sorted(read(cluster, "t1-1", "t2-2", isolation_level="read_uncommitted")) == ["1", "2", "3", "4"]


async def delayed_fetch(app: App, min_bytes: int) -> list[tuple[str, int]]:
    consumer = app.consumer(
        isolation_level="read_committed",
        fetch_min_bytes=min_bytes,
        fetch_max_wait_ms=2_000,
        auto_offset_reset="earliest",
    )
    consumer.assign(["one-0"])
    await consumer.position("one-0")
    polling = app.port.spawn(consumer.poll(10_000))
    await app.sleep(20)  # the fetch waits at the leader by now
    a, b = await begin(app, "a"), await begin(app, "b")
    for producer, values in ((b, ["x1"]), (a, ["y1", "y2"]), (b, ["x2"])):
        for value in values:
            await producer.send("one", value, partition=0)
        await producer.flush()
    await a.abort_transaction()
    await b.commit_transaction()
    return [(r.value, r.offset) for r in await polling]


@pytest.mark.parametrize("min_bytes", [1, 100_000], ids=["TXN-02-min-1", "TXN-02"])
@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_02_a_fetch_that_waited_knows_of_the_aborted_transaction(profile: str, min_bytes: int) -> None:
    cluster = run(delayed_fetch, profile, min_bytes=min_bytes)
    assert cluster.results["app"] == [("x1", 0), ("x2", 3)]
    fetches = [f for f in cluster.trace.frames.values() if f.name == "FetchResponse"]
    assert len(fetches) == 1
    assert fetches[0].received_ms > (2_000 if min_bytes > 1 else 0)


async def leave_undecided(app: App) -> list[Any]:
    a, b = await begin(app, "a"), await begin(app, "b")
    await (await b.send("one", "x1", partition=0))
    for value in ("y1", "y2"):
        await (await a.send("one", value, partition=0))
    await app.sleep(100)
    at_ms = app.now
    await (await b.send("one", "x2", partition=0))
    await b.commit_transaction()
    await app.sleep(500)
    consumer = app.consumer(isolation_level="read_committed", auto_offset_reset="earliest")
    consumer.assign(["one-0"])
    seen = [r.value for r in await consumer.poll(500)]
    await consumer.seek_to_end()
    end = await consumer.position("one-0")
    found = await consumer.offsets_for_times({"one-0": at_ms})
    other = app.consumer(isolation_level="read_uncommitted")
    return [seen, end, found, await other.offsets_for_times({"one-0": at_ms}), await other.end_offsets(["one-0"])]


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_03_read_committed_ends_before_the_first_undecided_record(profile: str) -> None:
    seen, end, found, *uncommitted = run(leave_undecided, profile).results["app"]
    assert (seen, end, found) == (["x1"], 1, {"one-0": None})
    assert uncommitted == [{"one-0": 3}, {"one-0": 5}]


async def copy_loop(app: App, count: int) -> int:
    seeds = app.producer(linger_ms=0)
    for number in range(count):
        await seeds.send("t1", str(number), key=str(number))
    await seeds.flush()
    producer = app.producer(transactional_id="a", linger_ms=0)
    await producer.init_transactions()
    partitions = [f"t1-{i}" for i in range(4)]
    consumer = app.consumer(group_id="g", isolation_level="read_committed", auto_offset_reset="earliest")
    consumer.assign(partitions)
    done, rounds = 0, 0
    while done < count:
        records = await consumer.poll(500)
        records = records[: 37 + rounds]  # so that there are several rounds
        producer.begin_transaction()
        positions = {}
        for record in records:
            await producer.send("t2", record.value, key=record.key)
            positions[record.partition] = record.offset + 1
        await producer.send_offsets_to_transaction(positions, consumer.group_metadata())
        rounds += 1
        if rounds % 2:
            await producer.abort_transaction()
        else:
            await producer.commit_transaction()
            done += len(records)
        committed = await consumer.committed(partitions)
        for partition in partitions:
            consumer.seek(partition, max(committed[partition], 0))
    return rounds


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_05_offsets_in_the_transaction_copy_every_record_once(profile: str) -> None:
    cluster = run(copy_loop, profile, count=500)
    assert cluster.results["app"] >= 6
    values = read(cluster, *(f"t2-{i}" for i in range(4)))
    assert (len(values), len(set(values))) == (500, 500)


async def two_instances(app: App, then: str) -> list[Any]:
    """P1 opens a transaction, P2 takes over and sends; what P1 is told, and what P2's commit says."""
    old = await begin(app)
    await (await old.send("one", "old", partition=0))
    new = await begin(app)
    await (await new.send("one", "new", partition=0))
    if then == "commit":
        told = [await error_of(old.commit_transaction())]
    else:
        told = [await error_of(await old.send("one", "late", partition=0))]
    return [*told, await error_of(new.commit_transaction())]


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_06_the_old_instance_cannot_commit(profile: str) -> None:
    cluster = run(two_instances, profile, then="commit")
    told, new = cluster.results["app"]
    assert isinstance(told, ProducerFencedError)
    assert new is None
    assert read(cluster, "one-0") == ["new"]


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_07_the_old_instance_cannot_send(profile: str) -> None:
    cluster = run(two_instances, profile, then="send")
    told, new = cluster.results["app"]
    assert isinstance(told, ProducerFencedError | InvalidProducerEpochError)
    assert new is None
    assert read(cluster, "one-0") == ["new"]
    assert "late" not in read(run(two_instances, profile, then="send"), "one-0", isolation_level="read_uncommitted")


async def fenced_on_add(app: App) -> list[Any]:
    old = await begin(app)
    await (await old.send("one", "old", partition=0))
    await old.abort_transaction()
    new = await begin(app)
    await (await new.send("one", "new", partition=0))
    old.begin_transaction()
    told = await error_of(await old.send("one", "late", partition=0))
    return [told, old.state.name, await error_of(new.commit_transaction())]


@pytest.mark.parametrize(
    ("profile", "kind", "state"),
    [
        ("4.x/TV1", ProducerFencedError, "FATAL_ERROR"),
        ("4.x/TV2", InvalidProducerEpochError, "ABORTABLE_ERROR"),
    ],
)
def test_TXN_09_the_old_instance_cannot_reach_a_partition(profile: str, kind: type[KafkaError], state: str) -> None:
    told, became, new = run(fenced_on_add, profile).results["app"]
    assert (type(told), became, new) == (kind, state, None)


async def let_expire(app: App, end: str = "send") -> list[Any]:
    producer = await begin(app, transaction_timeout_ms=300)
    await (await producer.send("one", "1", partition=0))
    await app.sleep(25_000)
    if end == "send":
        told = [await error_of(await producer.send("one", "2", partition=0))]
    else:
        told = [await error_of(producer.commit_transaction() if end == "commit" else producer.abort_transaction())]
    return [*told, producer.transaction_manager.producer_epoch, producer.state.name]


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_10_a_transaction_that_timed_out_takes_nothing_more(profile: str) -> None:
    cluster = run(let_expire, profile)
    assert isinstance(cluster.results["app"][0], InvalidProducerEpochError)
    assert read(cluster, "one-0") == []
    assert read(run(let_expire, profile), "one-0", isolation_level="read_uncommitted") == ["1"]


async def empty_abort(app: App) -> str:
    producer = await begin(app)
    await (await producer.send("one", "1", partition=0))
    await producer.commit_transaction()
    producer.begin_transaction()
    await producer.abort_transaction()
    return str(producer.state.name)


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_14_an_empty_transaction_needs_no_end_txn(profile: str) -> None:
    cluster = run(empty_abort, profile)
    assert cluster.results["app"] == "READY"
    assert len([f for f in list_sent(cluster, "EndTxn") if f.body.committed]) >= 1
    assert [f for f in list_sent(cluster, "EndTxn") if not f.body.committed] == []


async def init_twice(app: App) -> list[Any]:
    producer = app.producer(transactional_id="a")
    await producer.init_transactions()
    return [await error_of(producer.init_transactions()), producer.state.name]


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_15_init_transactions_is_called_once(profile: str) -> None:
    error, state = run(init_twice, profile).results["app"]
    assert (type(error), state) == (IllegalStateError, "READY")


async def commit_alone(app: App, at_ms: int) -> list[Any]:
    producer = await begin(app, max_block_ms=5_000)
    await (await producer.send("one", "1", partition=0))
    await app.sleep(at_ms - app.now)
    began = app.now
    told = [await error_of(producer.commit_transaction()), app.now - began]
    await app.sleep(120_000)
    return [*told, await error_of(producer.commit_transaction())]


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_16_a_commit_that_nobody_answers_times_out_after_max_block_ms(profile: str) -> None:
    faults = [Crash(f"b{i}", at_ms=900) for i in (1, 2, 3)] + [Restart(f"b{i}", at_ms=30_000) for i in (1, 2, 3)]
    cluster = run(commit_alone, profile, *faults, at_ms=1_000)
    first, took, second = cluster.results["app"]
    assert isinstance(first, KafkaTimeoutError)
    assert took == 5_000
    assert second is None
    assert read(cluster, "one-0") == ["1"]


@pytest.mark.parametrize("end", ["abort", "commit"])
def test_TXN_17_after_a_time_out_an_abort_is_told_the_new_epoch_and_a_commit_is_refused(end: str) -> None:
    cluster = run(let_expire, "4.x/TV2", end=end)
    told, epoch, state = cluster.results["app"]
    answer = next(f.body for f in cluster.trace.frames.values() if f.name == "EndTxnResponse")
    request = list_sent(cluster, "EndTxn")[0].body
    if end == "abort":
        assert (answer.error.name, answer.producer_epoch) == ("NONE", request.producer_epoch + 1)
        assert (told, epoch, state) == (None, request.producer_epoch + 1, "READY")
    else:
        assert answer.error.name == "INVALID_TXN_STATE"
        assert (told.error.name, state) == ("INVALID_TXN_STATE", "FATAL_ERROR")


async def late_batch(app: App) -> Any:
    """The second batch is given up on its way and the transaction aborted; then it arrives."""
    producer = await begin(app, request_timeout_ms=950, delivery_timeout_ms=1_000)
    await (await producer.send("one", "1", partition=0))
    given_up = await error_of(await producer.send("one", "2", partition=0))
    await producer.abort_transaction()
    await app.sleep(30_000)
    return given_up


@pytest.mark.parametrize(("checked", "profile"), [(False, "4.x/TV1"), (True, "4.x/TV1"), (True, "4.x/TV2")])
def test_TXN_19_a_batch_behind_the_abort_marker_hangs_only_without_verification(checked: bool, profile: str) -> None:
    off = () if checked else (VERIFICATION.name,)
    cluster = run(late_batch, profile, Delay("Produce#2", 20_000), rules_off=off)
    assert isinstance(cluster.results["app"], KafkaTimeoutError)
    log = cluster.log_of("one-0")
    answer = next(f for f in cluster.trace.frames.values() if f.of == "Produce#2").body.partitions["one-0"]
    controls = [b.control for b in log.batches]
    if checked:
        assert answer.error.name in ("INVALID_TXN_STATE", "INVALID_PRODUCER_EPOCH")
        assert controls == [None, ControlType.ABORT]
        assert log.last_stable_offset == log.high_watermark == 2
    else:
        assert answer.error.name == "NONE"
        assert controls == [None, ControlType.ABORT, None]
        assert (log.last_stable_offset, log.high_watermark) == (2, 3)


async def two_partitions(app: App) -> None:
    producer = await begin(app)
    for partition in (0, 1):
        await (await producer.send("t1", f"v{partition}", partition=partition))
    await producer.commit_transaction()


def failover(profile: str) -> Cluster:
    """The coordinator dies when one marker is written and the other request is still on its way."""
    leader = Cluster(Scenario(topics=TOPICS)).controller.metadata.leader(transaction_partition("a"))
    whole = run(two_partitions, profile, Delay("WriteTxnMarkers#2", 20_000))
    step = next(e.step for e in whole.trace.of("append") if getattr(e.data, "control", None) is not None)
    return run(two_partitions, profile, Delay("WriteTxnMarkers#2", 20_000), Crash(leader, at_step=step + 12))


@pytest.mark.parametrize("profile", PROFILES)
def test_TXN_20_the_next_coordinator_writes_both_markers_under_its_own_epoch(profile: str) -> None:
    cluster = failover(profile)
    markers = {
        p: [(b.control, b.coordinator_epoch) for b in cluster.log_of(p).batches if b.control] for p in ("t1-0", "t1-1")
    }
    assert sorted(len(found) for found in markers.values()) == [1, 2]
    assert {found[-1] for found in markers.values()} == {(ControlType.COMMIT, 1)}
    assert {found[0] for found in markers.values() if len(found) == 2} == {(ControlType.COMMIT, 0)}
    assert cluster.outcome().txn_states == {"a": "CompleteCommit"}
    assert read(cluster, "t1-0", "t1-1") == ["v0", "v1"]
