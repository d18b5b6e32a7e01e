"""Producer ids come in blocks of 1000 from the controller (facts 2.5; `RPCProducerIdManager`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effect, Send, SetTimer, Then
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.allocate_producer_ids import AllocateProducerIds, AllocateProducerIdsResponse

PREFETCH_PERCENT = 90
RETRY_MS = 50


def next_producer_id(broker: BrokerState) -> tuple[int | None, list[Effect]]:
    """An id, or None while no block is at hand; and the request for the next block where one is due.

    One is due once 90 % of the block are used, and when an id is wanted and there is none. The caller answers None
    with COORDINATOR_LOAD_IN_PROGRESS, so that its client comes back.
    """
    if not _in_block(broker.producer_ids) and broker.next_producer_ids:
        broker.producer_ids, broker.next_producer_ids = broker.next_producer_ids, []
        broker.allocating = False
    block = broker.producer_ids
    if not _in_block(block):
        return None, _ask(broker)
    taken, block[0] = block[0], block[0] + 1
    size = broker.config.producer_id_block_size
    prefetch_at = block[1] - size + size * PREFETCH_PERCENT // 100
    return taken, _ask(broker) if taken == prefetch_at else []


def _in_block(block: list[int]) -> bool:
    return bool(block) and block[0] < block[1]


def _ask(broker: BrokerState) -> list[Effect]:
    """One request at a time; `allocating` also stands while the next block waits to be used, and during a backoff."""
    if broker.allocating:
        return []
    broker.allocating = True
    return [Send("controller", AllocateProducerIds(), Then(allocated))]


def allocated(broker: BrokerState, response: AllocateProducerIdsResponse | None, now: int) -> list[Effect]:
    """The next block is here. After a disconnect the next need asks again; after an error, not within 50 ms."""
    if response is None:
        broker.allocating = False
    elif response.error is not Error.NONE:
        return [SetTimer(RETRY_MS, Then(_backoff_over), background=True)]
    else:
        broker.next_producer_ids = [response.producer_id_start, response.producer_id_start + response.producer_id_len]
    return []


def _backoff_over(broker: BrokerState, result: None, now: int) -> list[Effect]:
    broker.allocating = False
    return []
