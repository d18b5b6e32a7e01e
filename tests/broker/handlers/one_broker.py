"""One broker without a network: requests go to the public handlers, appends are durable at once."""

from __future__ import annotations

from typing import Any

from kafkalab.broker.effects import Append, Appended, Effect, Respond, Send
from kafkalab.broker.handlers.registry import HANDLERS
from kafkalab.broker.state import BrokerConfig, BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.metadata import Txn
from kafkalab.protocol.acls import Deny
from kafkalab.protocol.api import Header
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.registry import BY_REQUEST
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.protocol.profiles import Rules

MINE = PartitionInfo(leader="b1", leader_epoch=4, replicas=("b1", "b2"), isr=("b1", "b2"))
FOLLOWED = PartitionInfo(leader="b2", leader_epoch=4, replicas=("b2", "b1"), isr=("b1", "b2"))
ELSEWHERE = PartitionInfo(leader="b2", leader_epoch=4, replicas=("b2", "b3"), isr=("b2", "b3"))
TIDS = ("t1", "t2", "t3", "")
TOPICS = {"out-0": MINE, "out-1": MINE, "other-0": MINE, "followed-0": FOLLOWED, "far-0": ELSEWHERE}


def broker(*acls: Deny, profile: str = "4.x/TV2", txns: tuple[Txn, ...] = ()) -> BrokerState:
    """b1, which coordinates these transactional ids and the group "g", and leads two topics."""
    owned = {transaction_partition(t): MINE for t in TIDS}
    groups = {offsets_partition(g): MINE for g in ("g", "")}
    partitions = {**TOPICS, **owned, **groups, transaction_partition("far"): ELSEWHERE}
    state = BrokerState("b1", BrokerConfig(), Rules(profile), acls=acls)
    state.metadata = ClusterMetadata(1, ("b1", "b2", "b3"), partitions)
    state.producer_ids = [1000, 2000]
    for txn in txns:
        place = transaction_partition(txn.transactional_id)
        state.transactions.setdefault(place, TxnPartition(4, loading=False)).txns[txn.transactional_id] = txn
    return state


def ask(state: BrokerState, request: Any, version: int = -1, sender: str = "app", now: int = 0) -> Any:
    """The response, or None; what is appended on the way is durable at once, what is sent gets no answer."""
    api = BY_REQUEST[type(request)]
    header = Header(api.versions[-1] if version < 0 else version, sender)
    effects = HANDLERS[type(request)](state, request, now, header)
    return carried_out(state, effects, now)


def carried_out(state: BrokerState, effects: list[Effect], now: int) -> Any:
    response = None
    for effect in effects:
        if isinstance(effect, Respond):
            response = effect.body
        elif isinstance(effect, Append):
            log = state.log(effect.partition)
            batch = log.append(effect.batch, 4)
            log.advance(log.log_end_offset)
            done = effect.then.function(state, Appended(Error.NONE, batch), now, *effect.then.args)
            response = carried_out(state, done, now) or response
        elif isinstance(effect, Send) and effect.then is not None:
            pass
    return response
