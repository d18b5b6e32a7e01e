"""Producer ids come in blocks of 1000 from the controller (docs/protocol.md#producer-ids; `RPCProducerIdManager`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Send, Sleep, Spawn
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.allocate_producer_ids import AllocateProducerIds, AllocateProducerIdsResponse

PREFETCH_PERCENT = 90
RETRY_MS = 50


def next_producer_id(broker: BrokerState) -> Effects[int | None]:
    """Take the next id; None while no block is at hand, which the caller answers with COORDINATOR_LOAD_IN_PROGRESS.

    The next block is requested once 90 % of this one are used, and when an id is wanted and there is none.
    """
    if not _in_block(broker.producer_ids) and broker.next_producer_ids:
        broker.producer_ids, broker.next_producer_ids = broker.next_producer_ids, []
        broker.allocating = False
    block = broker.producer_ids
    if not _in_block(block):
        yield Spawn(_request_block(broker))
        return None
    taken, block[0] = block[0], block[0] + 1
    size = broker.config.producer_id_block_size
    if taken == block[1] - size + size * PREFETCH_PERCENT // 100:
        yield Spawn(_request_block(broker))
    return taken


def _in_block(block: list[int]) -> bool:
    return bool(block) and block[0] < block[1]


def _request_block(broker: BrokerState) -> Effects[None]:
    """Request the next block, one request at a time.

    `allocating` stays set until the new block is used. After a disconnect the next need requests again; after an
    error, not within 50 ms.
    """
    if broker.allocating:
        return
    broker.allocating = True
    response: AllocateProducerIdsResponse | None = yield Send("controller", AllocateProducerIds())
    if response is not None and response.error is Error.NONE:
        broker.next_producer_ids = [response.producer_id_start, response.producer_id_start + response.producer_id_len]
        return
    if response is not None:
        yield Sleep(RETRY_MS, background=True)
    broker.allocating = False
