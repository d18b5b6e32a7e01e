"""buffer.memory and max.request.size: records wait for memory, at most max.block.ms, or never fit."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import BufferExhaustedError, RecordTooLargeError
from kafkalab.client.producer.partitioner import StickyPartitioner, murmur2, partition_of, to_positive
from kafkalab.protocol.records import Record
from kafkalab.protocol.transition_tables.producer import ProducerState
from tests.conformance.scripted_port import HOLD, LOST, ScriptedPort, begin, error_of

SMALL: dict[str, Any] = {"batch_size": 100, "buffer_memory": 250, "max_block_ms": 2_000}


def test_a_record_waits_until_a_batch_has_its_answer() -> None:
    port = ScriptedPort(Produce=[HOLD, HOLD])

    async def program() -> list[Any]:
        producer = port.producer(transactional_id=None, linger_ms=10_000, **SMALL)
        sent = [await producer.send("t", "x" * 80, partition=0) for _ in range(2)]
        third = port.spawn(producer.send("t", "x" * 80, partition=0))
        await port.sleep(50)
        assert not third.done
        assert len(port.held) == 2  # with memory short nothing lingers
        port.release()
        await port.sleep(50)
        sent.append(third.result())
        port.release()
        await producer.flush()
        return [f.result().offset for f in sent] + [producer.accumulator.free_bytes]

    assert port.run(program()) == [0, 1, 2, 250]


@pytest.mark.parametrize("transactional", [True, False])
def test_memory_that_stays_full_fails_the_record_after_max_block_ms(transactional: bool) -> None:
    port = ScriptedPort(Produce=[HOLD, HOLD])

    async def program() -> Any:
        producer = await begin(port, **SMALL) if transactional else port.producer(transactional_id=None, **SMALL)
        for _ in range(2):
            await producer.send("t", "x" * 80, partition=0)
        since = port.now
        error = await error_of(await producer.send("t", "x" * 80, partition=0))
        return error, port.now - since, producer.state

    error, took, state = port.run(program())
    assert (type(error), took) == (BufferExhaustedError, 2_000)
    assert str(error).startswith("Failed to allocate 100 bytes within the configured max blocking time 2000 ms. Total")
    assert state is (ProducerState.ABORTABLE_ERROR if transactional else ProducerState.READY)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_request_size": 50}, "larger than 50, which is the value of the max.request.size configuration."),
        ({"buffer_memory": 50, "batch_size": 10}, "larger than the total memory buffer you have configured"),
    ],
)
def test_a_record_that_never_fits_fails_at_once(given: dict[str, int], said: str) -> None:
    port = ScriptedPort()

    async def program() -> Any:
        producer = await begin(port, **given)
        return await error_of(await producer.send("t", "x" * 60, partition=0)), producer.state

    error, state = port.run(program())
    assert isinstance(error, RecordTooLargeError)
    assert said in str(error)
    assert (state, port.names()) == (ProducerState.ABORTABLE_ERROR, ["InitProducerId"])


@pytest.mark.parametrize("script", [[LOST], [], [LOST, LOST]], ids=["retried", "acknowledged", "retried-twice"])
def test_all_memory_is_free_in_the_end(script: list[Any]) -> None:
    port = ScriptedPort(Produce=script)

    async def program() -> int:
        producer = await begin(port)
        for number in range(5):
            await producer.send("t", str(number), partition=number % 2)
        await producer.commit_transaction()
        producer.begin_transaction()
        await producer.send("t", "dropped", partition=0)
        await producer.abort_transaction()
        return producer.accumulator.free_bytes - producer.config.buffer_memory

    assert port.run(program()) == 0


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("21", -973932308), ("foobar", -790332482), ("a-little-bit-long-string", -985981536), ("abc", 479470107)],
)
def test_keys_are_hashed_as_javas_client_hashes_them(text: str, hashed: int) -> None:
    assert murmur2(text.encode()) == hashed
    assert partition_of(text, 7) == (hashed & 0x7FFFFFFF) % 7


def test_to_positive_clears_the_sign_bit() -> None:
    assert [to_positive(n) for n in (-1, -(2**31), 5)] == [2**31 - 1, 0, 5]


def test_records_without_a_key_stick_to_a_partition_for_a_batch() -> None:
    partitioner = StickyPartitioner(batch_size_bytes=20)
    record = Record(None, "x" * 3)  # ten bytes
    assert [partitioner.choose("t", record, 2) for _ in range(6)] == [0, 0, 1, 1, 0, 0]
    assert partitioner.choose("u", record, 2) == 0
    assert partitioner.choose("t", Record("", "v"), 2) == partition_of("", 2)  # an empty key is a key
