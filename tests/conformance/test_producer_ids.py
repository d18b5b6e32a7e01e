"""Producer ids: blocks from the controller, fetched in advance, and what a client hears when there is none."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.allocate_producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from tests.conformance.one_broker import LOST, OneBroker, Sent

NEXT = AllocateProducerIdsResponse(producer_id_start=9000, producer_id_len=1000)


def with_block(*block: int) -> OneBroker:
    world = OneBroker()
    world.state.producer_ids = list(block)
    return world


def init(world: OneBroker, transactional_id: str | None = None) -> Any:
    return world.ask(InitProducerId(transactional_id=transactional_id)).response


def requests(world: OneBroker) -> list[Sent]:
    return world.take(AllocateProducerIds)


def test_ids_are_handed_out_in_order() -> None:
    world = with_block(1000, 2000)
    assert [init(world).producer_id for _ in range(3)] == [1000, 1001, 1002]
    assert requests(world) == []


def test_the_next_block_is_asked_for_once_at_nine_tenths() -> None:
    world = with_block(1899, 2000)
    assert (init(world).producer_id, requests(world)) == (1899, [])
    assert init(world).producer_id == 1900
    (sent,) = requests(world)
    assert sent.to == "controller"
    assert [init(world).producer_id for _ in range(99)] == list(range(1901, 2000))
    assert requests(world) == []
    sent.answer(NEXT)
    assert [init(world).producer_id for _ in range(2)] == [9000, 9001]


def test_a_block_that_comes_early_waits_until_the_old_one_is_used_up() -> None:
    world = with_block(1900, 2000)
    init(world)
    requests(world)[0].answer(NEXT)
    assert [init(world).producer_id for _ in range(100)] == [*range(1901, 2000), 9000]
    for _ in range(899):
        init(world)
    assert requests(world) == []
    assert (init(world).producer_id, len(requests(world))) == (9900, 1)


@pytest.mark.parametrize("transactional_id", [None, "a"])
@pytest.mark.parametrize("block", [(), (2000, 2000)])
def test_without_a_block_a_client_is_told_to_come_back(transactional_id: str | None, block: tuple[int, ...]) -> None:
    world = with_block(*block)
    for _ in range(3):
        assert init(world, transactional_id).error is Error.COORDINATOR_LOAD_IN_PROGRESS
    (sent,) = requests(world)
    sent.answer(NEXT)
    response = init(world, transactional_id)
    assert (response.error, response.producer_id, response.producer_epoch) == (Error.NONE, 9000, 0)


def test_after_an_error_the_controller_is_not_asked_again_within_50_ms() -> None:
    world = with_block()
    init(world)
    requests(world)[0].answer(
        AllocateProducerIdsResponse(error=Error.UNKNOWN_SERVER_ERROR, producer_id_start=0, producer_id_len=0)
    )
    world.run_for(49)
    init(world)
    assert requests(world) == []
    world.run_for(1)
    init(world)
    assert len(requests(world)) == 1


def test_after_a_disconnect_the_next_need_asks_again() -> None:
    world = with_block()
    init(world)
    requests(world)[0].answer(LOST)
    assert init(world).error is Error.COORDINATOR_LOAD_IN_PROGRESS
    assert len(requests(world)) == 1
