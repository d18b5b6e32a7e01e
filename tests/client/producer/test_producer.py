"""The clients, through whole runs: retries, order, flush and abort, fencing, time-outs, identity."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.config.config import ProducerConfig
from kafkalab.client.exceptions import (
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
    TransactionAbortedError,
)
from kafkalab.client.producer.accumulator import Accumulator
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.sequences import Sequences
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.programs.transfers import read_all
from kafkalab.protocol.records import Record
from kafkalab.protocol.transition_tables.producer import EVENTS, SOURCES, TABLE, Action, ProducerState
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, ProgramFunction, Scenario

PROFILES = ("4.x/TV1", "4.x/TV2")


def run(function: ProgramFunction, profile: str = "4.x/TV2", *faults: Fault, **args: Any) -> Cluster:
    cluster = Cluster(
        Scenario(topics={"t": 1, "u": 1}, profile=profile, programs=(Program("app", function, args),), faults=faults)
    )
    cluster.run()
    return cluster


def read_values(cluster: Cluster, isolation_level: str = "read_committed") -> list[str]:
    reading = cluster.spawn("reader", read_all, partitions=["t-0", "u-0"], isolation_level=isolation_level)
    cluster.run()
    return [value for _, value in reading.result()]


def names(cluster: Cluster, sender: str = "app") -> list[str]:
    return [
        f.name
        for f in cluster.trace.frames.values()
        if f.sender == sender and f.kind == "request" and f.category in ("transaction", "verification")
    ]


async def plain(app: App, count: int, idempotent: bool = True) -> list[int]:
    producer = app.producer(enable_idempotence=idempotent, linger_ms=0)
    futures = []
    for number in range(count):
        futures.append(await producer.send("t", f"v{number}"))
        await app.sleep(1)
    await producer.flush()
    return [(await f).offset for f in futures]


def test_a_lost_answer_is_retried_and_the_record_lands_once() -> None:
    cluster = run(plain, "4.x/TV2", Drop("ProduceResponse#1"), count=1)
    assert cluster.results["app"] == [0]
    assert names(cluster).count("Produce") == 2
    assert read_values(cluster) == ["v0"]


def test_without_idempotence_the_same_loss_makes_a_duplicate() -> None:
    cluster = run(plain, "4.x/TV2", Drop("ProduceResponse#1"), count=1, idempotent=False)
    assert read_values(cluster) == ["v0", "v0"]


@pytest.mark.parametrize("lost", ["Produce#1", "Produce#2", "ProduceResponse#1", "ProduceResponse#3"])
def test_with_batches_in_flight_a_retry_keeps_the_order(lost: str) -> None:
    cluster = run(plain, "4.x/TV2", Drop(lost), count=5)
    assert read_values(cluster) == [f"v{i}" for i in range(5)]
    assert cluster.results["app"] == sorted(cluster.results["app"])


def test_a_delayed_batch_does_not_let_the_next_one_pass() -> None:
    cluster = run(plain, "4.x/TV2", Delay("Produce#2", 500), count=9)
    assert read_values(cluster) == [f"v{i}" for i in range(9)]


def test_a_leader_without_state_takes_a_later_batch_and_the_earlier_one_expires() -> None:
    """The first batch is overtaken: without state any sequence is accepted (docs/protocol.md#sequences), and 0 never
    follows 8."""
    cluster = run(plain, "4.x/TV2", Delay("Produce#1", 500), count=9)
    assert read_values(cluster) == ["v8"]
    assert isinstance(cluster.results["app"], KafkaTimeoutError)
    assert cluster.now > 120_000


def test_a_raised_epoch_numbers_what_is_under_way_anew_from_zero() -> None:
    accumulator = Accumulator(ProducerConfig(batch_size=1), Sequences())
    for value in ("a", "b", "c"):
        accumulator.add("t-0", Record(None, value), Promise(lambda p: False), 0)
    sent = [accumulator.take("t-0", (7, 0)) for _ in range(2)]
    accumulator.rewrite("t-0", (7, 1))
    assert [(b.base_sequence, b.producer) for b in sent] == [(0, (7, 1)), (1, (7, 1))]
    assert accumulator.take("t-0", (7, 1)).base_sequence == 2
    assert [b.renumbered for b in sent] == [True, True]
    accumulator.again(sent[0])
    assert not accumulator.take("t-0", (7, 1)).renumbered  # `close` before each send forgets it (`reopened`)


def test_never_more_than_five_requests_are_in_flight() -> None:
    cluster = run(plain, "4.x/TV2", Pause("b3", at_ms=31), Resume("b3", at_ms=3_000), count=30)
    flying = most = 0
    for event in cluster.trace.events:
        if event.name == "Produce" and event.kind == "send":
            flying += 1
        if event.name == "ProduceResponse" and event.kind == "receive":
            flying -= 1
        most = max(most, flying)
    assert most == 5


async def abort_after(app: App, wait_ms: int) -> list[str]:
    producer = app.producer(transactional_id="a")
    await producer.init_transactions()
    producer.begin_transaction()
    future = await producer.send("t", "first")
    if wait_ms:
        await app.sleep(wait_ms)
    await producer.abort_transaction()
    ends = []
    try:
        await future
        ends.append("sent")
    except TransactionAbortedError:
        ends.append("dropped")
    producer.begin_transaction()
    await producer.send("t", "second")
    await producer.commit_transaction()
    return ends


@pytest.mark.parametrize("profile", PROFILES)
def test_abort_drops_what_is_buffered(profile: str) -> None:
    cluster = run(abort_after, profile, wait_ms=0)
    assert cluster.results["app"] == ["dropped"]
    assert read_values(cluster, "read_uncommitted") == ["second"]


@pytest.mark.parametrize("profile", PROFILES)
def test_abort_hides_what_was_sent(profile: str) -> None:
    cluster = run(abort_after, profile, wait_ms=200)
    assert cluster.results["app"] == ["sent"]
    assert read_values(cluster) == ["second"]
    assert [b.control.name for b in cluster.log_of("t-0").batches if b.control] == ["ABORT", "COMMIT"]


async def commit_empty(app: App) -> str:
    producer = app.producer(transactional_id="a")
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.commit_transaction()
    return "done"


def test_nothing_is_sent_to_end_a_transaction_that_reached_nothing() -> None:
    assert "EndTxn" not in names(run(commit_empty))


@pytest.mark.parametrize("profile", PROFILES)
def test_commit_flushes_first(profile: str) -> None:
    async def commit_at_once(app: App) -> int:
        producer = app.producer(transactional_id="a", linger_ms=10_000)
        await producer.init_transactions()
        producer.begin_transaction()
        future = await producer.send("t", "v")
        await producer.commit_transaction()
        return (await future).offset

    cluster = run(commit_at_once, profile)
    assert cluster.results["app"] == 0
    assert names(cluster).index("Produce") < names(cluster).index("EndTxn")
    assert cluster.trace.frames["EndTxnResponse#1"].received_ms < 1_000


async def zombie(app: App) -> str:
    old = app.producer(transactional_id="a")
    await old.init_transactions()
    old.begin_transaction()
    await old.send("t", "old")
    await old.flush()
    new = app.producer(transactional_id="a")
    await new.init_transactions()
    new.begin_transaction()
    await new.send("t", "new")
    await new.commit_transaction()
    try:
        await old.commit_transaction()
    except ProducerFencedError:
        return "fenced"
    return "both committed"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_new_instance_aborts_the_open_transaction_of_the_old_one_and_fences_it(profile: str) -> None:
    cluster = run(zombie, profile)
    assert cluster.results["app"] == "fenced"
    assert read_values(cluster) == ["new"]
    answers = [f.error for f in cluster.trace.frames.values() if f.name == "InitProducerIdResponse"]
    assert answers[1] == "CONCURRENT_TRANSACTIONS"
    assert answers[-1] == "NONE"


async def too_slow(app: App) -> list[str]:
    producer = app.producer(transactional_id="a", transaction_timeout_ms=5_000)
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send("t", "first")
    await producer.flush()
    await app.sleep(30_000)
    said = []
    try:
        await (await producer.send("t", "second"))
    except KafkaError as error:
        said.append(error.error.name)
    try:
        await producer.abort_transaction()
        said.append("aborted")
    except KafkaError as error:
        said.append(type(error).__name__)
    return said


def test_a_transaction_that_timed_out_can_be_aborted_under_version_2() -> None:
    cluster = run(too_slow, "4.x/TV2")
    assert cluster.results["app"] == ["INVALID_PRODUCER_EPOCH", "aborted"]
    assert read_values(cluster) == []


def test_under_version_1_the_time_out_fences_the_producer_for_good() -> None:
    cluster = run(too_slow, "4.x/TV1")
    assert cluster.results["app"] == ["INVALID_PRODUCER_EPOCH", "ProducerFencedError"]


async def wrong_order(app: App) -> list[str]:
    producer = app.producer(transactional_id="a")
    said = []
    for call in (producer.abort_transaction, producer.commit_transaction):
        try:
            await call()
        except IllegalStateError as error:
            said.append(str(error))
    try:
        await producer.send("t", "refused")
    except IllegalStateError as error:
        said.append(str(error))
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send("t", "v")
    await producer.commit_transaction()
    return said


def test_a_call_in_the_wrong_state_is_refused_and_changes_no_state() -> None:
    cluster = run(wrong_order)
    assert cluster.results["app"][0].startswith(
        "TransactionalId a: Invalid transition attempted from state UNINITIALIZED to state ABORTING_TRANSACTION"
    )
    assert "before completing a call to initTransactions" in cluster.results["app"][2]
    assert read_values(cluster) == [
        "refused",
        "v",
    ]  # `doSend` adds the record to its batch before it looks at the state


async def block(app: App) -> list[str]:
    producer = app.producer(transactional_id="a", max_block_ms=1_000)
    said = []
    try:
        await producer.init_transactions()
    except KafkaTimeoutError:
        said.append("timed out")
    await app.sleep(60_000)
    await producer.init_transactions()
    said.append(producer.state.name)
    return said


def test_a_blocking_call_that_timed_out_may_be_called_again() -> None:
    cluster = run(block, "4.x/TV2", Drop("InitProducerIdResponse#1"))
    assert cluster.results["app"] == ["timed out", "READY"]


def test_a_paused_broker_is_replaced_and_told_so_when_it_goes_on() -> None:
    faults = (Pause("b2", at_ms=20), Resume("b2", at_ms=25_000), Crash("b1", at_ms=40_000), Restart("b1", at_ms=60_000))
    cluster = run(plain, "4.x/TV2", *faults, count=3)
    cluster.run_for(100_000)
    assert cluster.controller.metadata.alive == ("b1", "b2", "b3")
    assert read_values(cluster) == ["v0", "v1", "v2"]
    replicas = [b.state.logs["t-0"].log_end_offset for b in cluster.brokers.values()]
    assert replicas == [3, 3, 3]


def test_a_notebook_cell_may_await_a_client_directly() -> None:
    import asyncio

    cluster = Cluster(Scenario(topics={"t": 1}))

    async def cell() -> int:
        producer = cluster.client("me").producer(transactional_id="a")
        await producer.init_transactions()
        await producer.begin_transaction()
        future = await producer.send("t", "v")
        await producer.commit_transaction()
        return (await future).offset

    assert asyncio.run(cell()) == 0
    assert cluster.outcome().committed == {"t-0": ()}  # committed, but the markers are still on their way
    cluster.run()
    assert cluster.outcome().committed == {"t-0": ("v",)}


NEVER_TAKEN = [
    (ProducerState.INITIALIZING, ProducerState.PREPARED_TRANSACTION),  # only initTransactions(keepPreparedTxn) does
]


@pytest.mark.parametrize("target", ProducerState, ids=lambda s: s.name)
@pytest.mark.parametrize("source", ProducerState, ids=lambda s: s.name)
def test_calls_and_events_make_the_moves_that_kafka_allows(source: ProducerState, target: ProducerState) -> None:
    rows = [*(row for calls in TABLE.values() for row in calls.values()), *EVENTS.values()]
    cells = [cell for row in rows for state, cell in row.items() if state is source]  # not looked up: no visit
    moves = [cell.target for cell in cells if cell.action is Action.MOVE]
    assert (target in moves) == (source in SOURCES[target] and (source, target) not in NEVER_TAKEN)
