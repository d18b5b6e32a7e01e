"""`send` appends before it looks at the state: what becomes of a record that was refused."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import KafkaTimeoutError
from kafkalab.programs.refused_send import refused_send
from kafkalab.sim.cluster import Cluster
from tests.conformance.scripted_port import ScriptedPort, error_of


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_a_refused_record_is_committed_by_the_next_transaction_to_its_partition(profile: str) -> None:
    cluster = Cluster(refused_send(profile))
    cluster.run()
    assert cluster.results["app"] == "committed"
    assert cluster.outcome().committed["out-0"] == ("refused", "accepted")


def test_a_transaction_that_never_writes_there_cannot_commit() -> None:
    cluster = Cluster(refused_send(elsewhere=True))
    cluster.run_for(20_000)
    assert isinstance(cluster.results["app"], KafkaTimeoutError)
    assert cluster.outcome().committed == {"out-0": (), "out-1": ()}


def test_a_refused_record_that_expires_ends_the_producer() -> None:
    port = ScriptedPort()

    async def program() -> Any:
        producer = port.producer(delivery_timeout_ms=30_000)
        await producer.init_transactions()
        await error_of(producer.send("t", "v", partition=0))
        await port.sleep(31_000)
        return producer.transaction_manager.error, producer.state.name

    error, state = port.run(program())
    text = "TransactionalId a: Invalid transition attempted from state READY to state ABORTABLE_ERROR"
    assert (str(error), state) == (text, "FATAL_ERROR")


@pytest.mark.parametrize("begun", [False, True])
def test_a_send_that_fails_outside_a_transaction_leaves_the_state(begun: bool) -> None:
    port = ScriptedPort()

    async def program() -> Any:
        producer = port.producer(max_block_ms=1_000)
        await producer.init_transactions()
        if begun:
            producer.begin_transaction()
            return str(await error_of(await producer.send("nowhere", "v"))), producer.state.name
        return str(await error_of(producer.send("nowhere", "v"))), producer.state.name

    missing = "Topic nowhere not present in metadata after 1000 ms."
    refused = "TransactionalId a: Invalid transition attempted from state READY to state ABORTABLE_ERROR"
    assert port.run(program()) == ((missing, "ABORTABLE_ERROR") if begun else (refused, "READY"))
