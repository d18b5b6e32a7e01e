"""Producer ids come in blocks of 1000 from the controller (facts 2.5; `RPCProducerIdManager`)."""

from __future__ import annotations

from kafkalab.api.controller_requests import AllocateProducerIds, AllocateProducerIdsReply
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Send, Then


def next_producer_id(broker: BrokerState) -> tuple[int | None, list[Effect]]:
    """An id, or None while no block is at hand; and the request for a block where one is due (at 90 % use)."""
    block = broker.producer_ids
    effects: list[Effect] = []
    size = broker.config.producer_id_block_size
    taken = None
    if block and block[0] < block[1]:
        taken, block[0] = block[0], block[0] + 1
    low = not block or block[1] - block[0] <= size // 10
    if low and not broker.allocating:
        broker.allocating = True
        effects.append(Send("controller", AllocateProducerIds(), Then(allocated)))
    return taken, effects


def allocated(broker: BrokerState, reply: AllocateProducerIdsReply | None, now: int) -> list[Effect]:
    """The block is here, or the request was lost and the next need asks again."""
    broker.allocating = False
    if reply is not None:
        if broker.producer_ids and broker.producer_ids[0] < broker.producer_ids[1]:
            return []  # the rest of the old block is used first; the new one is dropped (simplified)
        broker.producer_ids = [reply.producer_id_start, reply.producer_id_start + reply.producer_id_len]
    return []
