"""CON: what a consumer delivers of the batches that a broker sends (docs/cases.md; docs/protocol.md#aborted-filter)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.consumer.consumer import Consumer
from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import FetchResponse, PartitionFetched
from kafkalab.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalab.protocol.records import Batch, ControlType, Record
from tests.conformance.scripted_port import ScriptedPort

PID = 1
COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def data(first: int, *values: str) -> Batch:
    records = tuple(Record(None, v) for v in values)
    return Batch(records=records, base_offset=first, producer_id=PID, producer_epoch=0, transactional=True)


def end(offset: int, control: ControlType) -> Batch:
    return Batch(
        records=(Record(control.name, None),), base_offset=offset, producer_id=PID, transactional=True, control=control
    )


def poll(isolation_level: str, *batches: Batch) -> tuple[list[tuple[int, str]], int]:
    """Return what a poll from offset 0 delivers, and the position afterwards; the answer names the transaction at 0."""
    last = batches[-1].last_offset
    aborted = AbortedTxn(producer_id=PID, first_offset=0, last_offset=last, last_stable_offset=last + 1)

    def answer_fetch(request: Any) -> FetchResponse:
        named = (aborted,) if request.isolation_level == "read_committed" else None
        rest = tuple(b for b in batches if b.last_offset >= request.positions["t-0"])
        return FetchResponse(partitions={"t-0": PartitionFetched(batches=rest, aborted_transactions=named)})

    port = ScriptedPort(
        Fetch=[answer_fetch] * 50, ListOffsets=ListOffsetsResponse(offsets={"t-0": 0}, errors={"t-0": Error.NONE})
    )

    async def program() -> tuple[list[tuple[int, str]], int]:
        config = ConsumerConfig(isolation_level=isolation_level, auto_offset_reset="earliest")
        consumer = Consumer(port, config)
        consumer.assign(["t-0"])
        records = await consumer.poll(20)
        return [(r.offset, r.value) for r in records], await consumer.position("t-0")

    found: tuple[list[tuple[int, str]], int] = port.run(program())
    return found


def test_CON_01_an_aborted_transaction_is_not_delivered_and_the_position_is_behind_its_marker() -> None:
    assert poll("read_committed", data(0, "a", "b"), end(2, ABORT)) == ([], 3)


def test_CON_02_the_abort_marker_ends_the_filter() -> None:
    batches = (data(0, "a"), end(1, ABORT), data(2, "b"), end(3, COMMIT))
    assert poll("read_committed", *batches) == ([(2, "b")], 4)


@pytest.mark.parametrize(("position", "expected"), [(3, [(0, "a"), (1, "b")])])
def test_CON_01_read_uncommitted_delivers_all_but_the_marker(position: int, expected: list[tuple[int, str]]) -> None:
    assert poll("read_uncommitted", data(0, "a", "b"), end(2, ABORT)) == (expected, position)
