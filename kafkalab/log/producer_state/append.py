"""May this batch be appended? A producer's epoch, sequence and transaction (docs/protocol.md#produce;
`ProducerAppendInfo`).

Pure questions about what is remembered of one producer; nothing here changes anything.
"""

from __future__ import annotations

from enum import Enum

from kafkalab.log.producer_state.entry import ProducerEntry, Verification
from kafkalab.protocol.errors import Error, IllegalArgumentError
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import NO_PRODUCER_EPOCH, SEQUENCE_MAX, Batch, sequence_after
from kafkalab.protocol.rules import (
    ANY_FIRST_SEQUENCE,
    EPOCH_BEFORE_GUARD,
    FIRST_SEQUENCE_ZERO,
    LOWEST_SEQUENCE,
    MARKER_EPOCH,
    MARKER_PRODUCER_EPOCH,
    MARKER_RETRY,
    NEWER_MARKER_EPOCH,
    OFFSETS_EPOCH,
    OLD_BATCHES,
    PRODUCE_EPOCH,
    SEQUENCE_GAPS,
    VERIFICATION,
)

EPOCH_MAX = 32767
NO_GUARD = 0
VERSION_UNKNOWN = -1


class Origin(Enum):
    """An append's origin (`AppendOrigin`): checks all of a client, no sequence of a coordinator, little of a leader."""

    CLIENT = "client"
    COORDINATOR = "coordinator"
    REPLICATION = "replication"


def data_error(
    current: ProducerEntry, verification: Verification | None, batch: Batch, origin: Origin, guard: int, rules: Rules
) -> Error:
    """NONE, or why this data batch is refused. `guard` is NO_GUARD where nothing was verified.

    A follower checks one thing only: no plain data in an open transaction (`ProducerAppendInfo.appendDataBatch`).
    """
    error = Error.NONE
    if origin is not Origin.REPLICATION:
        error = _leader_error(current, verification, batch, origin, guard, rules)
    if error is Error.NONE and current.txn_first_offset is not None and not batch.transactional:
        return Error.INVALID_TXN_STATE
    return error


def _leader_error(
    current: ProducerEntry, verification: Verification | None, batch: Batch, origin: Origin, guard: int, rules: Rules
) -> Error:
    compares = rules.on(PRODUCE_EPOCH) if origin is Origin.CLIENT else rules.on(OFFSETS_EPOCH)
    fenced = compares and batch.producer_epoch < current.producer_epoch
    if batch.transactional and (current.txn_first_offset is None or current.producer_epoch != batch.producer_epoch):
        if fenced and rules.on(EPOCH_BEFORE_GUARD):
            return Error.INVALID_PRODUCER_EPOCH
        if rules.on(VERIFICATION) and (verification is None or verification.guard != guard):
            return Error.INVALID_TXN_STATE
    if fenced:
        return Error.INVALID_PRODUCER_EPOCH
    return sequence_error(current, verification, batch, rules) if origin is Origin.CLIENT else Error.NONE


def sequence_error(current: ProducerEntry, verification: Verification | None, batch: Batch, rules: Rules) -> Error:
    """NONE if the batch begins with the sequence that is due (docs/protocol.md#sequences, in its order)."""
    first = batch.base_sequence
    if verification is not None:
        unknown = verification.supports_epoch_bump and not current.batches
        if unknown and first != 0 and rules.on(FIRST_SEQUENCE_ZERO):
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        if first > verification.lowest_sequence and rules.on(LOWEST_SEQUENCE):
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    if not rules.on(SEQUENCE_GAPS):
        return Error.NONE
    if current.producer_epoch == NO_PRODUCER_EPOCH and rules.on(ANY_FIRST_SEQUENCE):
        return Error.NONE  # nothing is known of the producer, or it writes without an epoch
    if batch.producer_epoch != current.producer_epoch:
        if first == 0:
            return Error.NONE
        known = current.producer_epoch != NO_PRODUCER_EPOCH
        return Error.OUT_OF_ORDER_SEQUENCE_NUMBER if known else Error.UNKNOWN_PRODUCER_ID
    if first == (sequence_after(current.last_sequence, 1) if current.batches else 0):
        return Error.NONE
    if not rules.on(OLD_BATCHES) and _written_before(current, batch):
        return Error.DUPLICATE_SEQUENCE_NUMBER
    return Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def _written_before(current: ProducerEntry, batch: Batch) -> bool:
    """Return what 1.0 took for a duplicate: a remembered batch, or one that ends before all remembered ones begin."""
    if not current.batches or current.find_duplicate(batch) is not None:
        return bool(current.batches)
    oldest = current.first_sequence
    return batch.last_sequence < oldest and batch.last_sequence != 0 and oldest != SEQUENCE_MAX


def marker_error(current: ProducerEntry | None, batch: Batch, origin: Origin, version: int, rules: Rules) -> Error:
    """NONE, or why a leader refuses this marker; `version` is the transaction version that it came with.

    IllegalArgumentError if a leader is not told the version, which is -1. A number above 2 is like 2, one below 0 like
    1: Kafka 4.3.1 answers so.
    """
    if origin is Origin.REPLICATION:
        return Error.NONE
    if version == VERSION_UNKNOWN:
        raise IllegalArgumentError("a marker without a transaction version")
    if current is None or not batch.records:
        return Error.NONE
    if not _marker_epoch_fits(current, batch.producer_epoch, version, rules):
        return Error.INVALID_PRODUCER_EPOCH
    if batch.coordinator_epoch < current.coordinator_epoch and rules.on(MARKER_EPOCH):
        return Error.TRANSACTION_COORDINATOR_FENCED
    return Error.NONE


def _marker_epoch_fits(current: ProducerEntry, epoch: int, version: int, rules: Rules) -> bool:
    """Under version 2 each transaction has its epoch, so an equal one is a retry, or a marker that is late."""
    if epoch < current.producer_epoch:
        return not rules.on(MARKER_PRODUCER_EPOCH)
    if epoch > current.producer_epoch or version < 2 or not rules.on(NEWER_MARKER_EPOCH):
        return True
    return rules.on(MARKER_RETRY) and (current.txn_first_offset is None or epoch == EPOCH_MAX)
