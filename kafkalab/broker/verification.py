"""A leader asks the coordinator before the first transactional append (KIP-890, docs/protocol.md#verification)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects
from kafkalab.broker.state import BrokerState
from kafkalab.broker.verification_queue import ask
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch
from kafkalab.protocol.rules import VERIFICATION

ADD, VERIFY, OLD_VERIFY = "add partition", "generic error", "default error"


def guards_for(
    broker: BrokerState, batches: dict[str, Batch], mode: str
) -> tuple[dict[str, int], dict[str, Error]]:
    """Return the guards of the partitions that must be verified, and the errors of those refused at once."""
    guards: dict[str, int] = {}
    refused: dict[str, Error] = {}
    if mode != ADD and not broker.rules.on(VERIFICATION):
        return guards, refused
    for partition, batch in batches.items():
        if not broker.leads(partition):
            refused[partition] = Error.NOT_LEADER_OR_FOLLOWER
            continue
        producers = broker.log(partition).producers
        version = 2 if mode == ADD else 0
        started = batch.producer_id, batch.base_sequence, batch.producer_epoch
        guard = producers.start_verification(*started, version, broker.now)
        if isinstance(guard, Error):
            refused[partition] = guard
        elif guard:
            guards[partition] = guard
    return guards, refused


def ask_coordinator(
    broker: BrokerState, transactional_id: str, batch: Batch, partitions: tuple[str, ...], mode: str
) -> Effects[dict[str, Error]]:
    """One AddPartitionsToTxn for the partitions; an error for each, in the terms of a partition's leader."""
    coordinator = broker.metadata.leader(transaction_partition(transactional_id))
    if coordinator not in broker.metadata.alive:
        return dict.fromkeys(partitions, Error.COORDINATOR_NOT_AVAILABLE)
    request = AddPartitionsToTxn(
        transactional_id=transactional_id,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        partitions=partitions,
        verify_only=mode != ADD,
    )
    return (yield from ask(broker, coordinator, request, mode == OLD_VERIFY))
