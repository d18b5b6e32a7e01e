"""The producer with confluent-kafka's names answers as librdkafka does, and its codes are those of the real library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Pause, Resume
from kafkalab.programs.confluent import KafkaError, KafkaException, Producer
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

CONFIG = {
    "transactional.id": "till-0", "linger.ms": 0, "socket.timeout.ms": 1_000, "message.timeout.ms": 4_000,
}  # fmt: skip
CALLS = ("produce", "flush", "init_transactions", "begin_transaction", "send_offsets_to_transaction",
         "commit_transaction", "abort_transaction")  # fmt: skip
ASKED = ("code", "str", "fatal", "retriable", "txn_requires_abort")
SLEEP = (Pause("b1", at_ms=500), Resume("b1", at_ms=6_000))


def test_names_and_codes_are_those_of_the_real_library() -> None:
    real = pytest.importorskip("confluent_kafka")
    for name in ("_FENCED", "_STATE", "_TIMED_OUT", "_FAIL"):
        assert getattr(KafkaError, name) == getattr(real.KafkaError, name)
    assert [name for name in CALLS if not (hasattr(real.Producer, name) and hasattr(Producer, name))] == []
    assert [name for name in ASKED if not (hasattr(real.KafkaError, name) and hasattr(KafkaError, name))] == []


async def explain(call: Callable[[], Any]) -> KafkaError | None:
    try:
        await call()
    except KafkaException as failed:
        error = failed.args[0]
        assert isinstance(error, KafkaError)
        return error
    return None


def describe(error: KafkaError) -> tuple[int, bool, bool, bool]:
    return error.code(), error.fatal(), error.retriable(), error.txn_requires_abort()


def run(program: Callable[..., Any], *faults: Fault, other: Callable[..., Any] | None = None) -> Cluster:
    programs = [Program("till", program)] + ([Program("other", other)] if other else [])
    scenario = Scenario(profile="4.x/TV1", brokers=1, topics={"charges": 1}, programs=tuple(programs), faults=faults)
    return ran(scenario)


async def start(app: App) -> Producer:
    producer = Producer(app, CONFIG)
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.produce("charges", "tea")
    return producer


async def newer(app: App) -> None:
    await app.sleep(1_000)
    await start(app)


def test_a_transaction_is_committed() -> None:
    async def till(app: App) -> None:
        await (await start(app)).commit_transaction()

    assert run(till).outcome().committed["charges-0"] == ("tea",)


@pytest.mark.parametrize("call", ["commit_transaction", "flush"])
def test_a_fenced_producer_has_a_fatal_error_whoever_refuses_and_keeps_it(call: str) -> None:
    found: list[Any] = []

    async def till(app: App) -> None:
        producer = await start(app)
        await app.sleep(2_000)
        if call == "flush":
            await producer.produce("charges", "bun")
        found.append(await explain(getattr(producer, call)))
        found.append(await explain(producer.abort_transaction))
        found.append(await explain(lambda: producer.produce("charges", "soup")))

    run(till, other=newer)
    assert [describe(error) for error in found] == [(KafkaError._FENCED, True, False, False)] * 3
    assert found[0] is found[1] is found[2]


def test_a_commit_whose_answer_is_lost_is_retriable_and_cannot_be_aborted() -> None:
    found: list[Any] = []

    async def till(app: App) -> None:
        producer = await start(app)
        found.append(await explain(producer.commit_transaction))
        found.append(await explain(producer.abort_transaction))
        await producer.commit_transaction()

    cluster = run(till, Drop("EndTxnResponse#1"), Drop("EndTxnResponse#2"))
    assert cluster.outcome().committed["charges-0"] == ("tea",)
    assert [describe(error) for error in found] == [
        (KafkaError._TIMED_OUT, False, True, False),
        (KafkaError._STATE, False, False, False),
    ]


def test_a_record_that_expires_requires_an_abort() -> None:
    found: list[Any] = []

    async def till(app: App) -> None:
        producer = Producer(app, CONFIG)
        await producer.init_transactions()
        producer.begin_transaction()
        await app.sleep(600)
        found.append(await explain(lambda: producer.produce("charges", "tea")))
        found.append(await explain(producer.commit_transaction))

    run(till, *SLEEP)
    assert [describe(error)[1:] for error in found if error] == [(False, True, False)] or describe(found[-1])[3]


def test_a_setting_that_it_has_not_is_refused() -> None:
    async def till(app: App) -> None:
        Producer(app, {"acks": 1})

    with pytest.raises(ValueError, match="no setting 'acks'"):
        run(till)
