"""A new coordinator reads its `__transaction_state` partition and finishes what was decided
(docs/protocol.md#loading)."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.effects import Effects, Note, Spawn
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.markers import complete
from kafkalab.protocol.records import Record
from kafkalab.protocol.rules import REDRIVE_PREPARE, ROTATION_LOGGED
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.protocol.transition_tables.transaction import Ask, goes_to


def load_transactions(broker: BrokerState, partition: str, epoch: int) -> Effects[None]:
    """The cache holds the last record of each id; then the markers of every decided transaction are sent again.

    The markers carry `epoch`, the new coordinator epoch. Nothing happens if the broker has lost the partition, or
    leads it at a newer epoch, for which another load is under way (KAFKA-18137).
    """
    owned = broker.transactions.get(partition)
    if owned is None or owned.coordinator_epoch != epoch or not owned.loading:
        return
    log = broker.log(partition)
    for batch in log.stream(log.log_start_offset, log.log_end_offset):
        for offset, record in zip(batch.offsets, batch.records, strict=True):
            if record.value is None and record.key is not None:
                owned.txns.pop(record.key, None)
            elif isinstance(record.value, Txn):
                owned.txns[record.value.transactional_id] = _forget_unlogged(broker, record.value)
            else:
                yield _note_skip(partition, offset, record)
    owned.loading = False
    yield Note("coordinator loaded", {"partition": partition, "coordinator_epoch": epoch})
    for txn in list(owned.txns.values()):
        decided = goes_to(txn.client_transaction_version, txn.state, Ask.MARKED) is not None
        if decided and broker.rules.on(REDRIVE_PREPARE):
            yield Spawn(complete(broker, owned, txn))


def _forget_unlogged(broker: BrokerState, txn: Txn) -> Txn:
    """Forget what is not in the record: the last epoch."""
    txn = txn.forget_last_epoch()
    return txn if broker.rules.on(ROTATION_LOGGED) else replace(txn, prev_producer_id=-1, next_producer_id=-1)


def _note_skip(partition: str, offset: int, record: Record) -> Note:
    """A key or a value of a version that this broker does not know: a warning, and the next record."""
    return Note("record skipped", {"partition": partition, "offset": offset, "key": record.key or ""})
