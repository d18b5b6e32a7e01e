"""AddPartitionsToTxn: what a request names while an earlier one is being retried (`pendingPartitionsInTransaction`)."""

from __future__ import annotations

import pytest

from kafkalab.protocol.errors import Error
from tests.conformance.scripted_port import HOLD, ScriptedPort, begin, error_of


def test_a_new_request_also_names_the_partitions_that_a_retried_one_is_still_to_add() -> None:
    port = ScriptedPort(1, AddPartitionsToTxn=[HOLD, HOLD])

    async def program() -> None:
        producer = await begin(port)
        await producer.send("t", "v", partition=0)
        await port.sleep(10)
        await producer.send("u", "v", partition=0)
        port.release(Error.CONCURRENT_TRANSACTIONS)
        await port.sleep(50)
        await producer.send("u", "w", partition=1)
        port.release(Error.CONCURRENT_TRANSACTIONS)
        await producer.commit_transaction()

    port.run(program())
    named = [r.partitions for r in port.list_sent("AddPartitionsToTxn")]
    assert named == [("t-0",), ("t-0",), ("t-0",), ("t-0", "u-0"), ("t-0", "u-0", "u-1")]


def test_an_abort_forgets_what_was_not_added_yet() -> None:
    port = ScriptedPort(1, AddPartitionsToTxn=[HOLD])

    async def program() -> str:
        producer = await begin(port)
        await producer.send("t", "v", partition=0)
        await port.sleep(10)
        await producer.send("u", "v", partition=0)
        aborting = port.spawn(producer.abort_transaction())
        await port.sleep(10)
        port.release(Error.NONE)
        await aborting
        producer.begin_transaction()
        await producer.send("u", "w", partition=0)
        await producer.commit_transaction()
        return producer.state.name

    assert port.run(program()) == "READY"
    assert [r.partitions for r in port.list_sent("AddPartitionsToTxn")] == [("t-0",), ("u-0",)]


@pytest.mark.parametrize(("age_ms", "retried"), [(31_000, False), (31_000, True)])
def test_an_expired_batch_says_its_age_and_why(age_ms: int, retried: bool) -> None:
    port = ScriptedPort(Produce=[Error.NOT_ENOUGH_REPLICAS] * 500 if retried else [HOLD])

    async def program() -> str:
        producer = port.producer(transactional_id=None, delivery_timeout_ms=age_ms)
        return str(await error_of(await producer.send("t", "v", partition=0)))

    said = port.run(program())
    assert said.startswith("Expiring 1 record(s) for t-0:310")
    assert said.endswith(
        " ms has passed since batch creation. The request has not been sent, or no server response has been received "
        "yet."
    )
