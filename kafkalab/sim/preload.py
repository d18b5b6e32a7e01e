"""The contents of the logs before a run begins: records of topics, and transactional ids that have been in use."""

from __future__ import annotations

from kafkalab.broker.broker import Broker
from kafkalab.broker.services import Context
from kafkalab.broker.state import TxnPartition
from kafkalab.broker.transaction_coordinator.loading import load_transactions
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.sim.kernel.kernel import Kernel


def preload_records(kernel: Kernel, replicas: list[Broker], partition: str, values: tuple[str, ...]) -> None:
    """Append these values on every replica, below the high watermark."""
    _append(kernel, replicas, partition, Batch(records=tuple(Record(None, v) for v in values)))


def preload_transactional_id(
    kernel: Kernel, replicas: list[Broker], transactional_id: str, producer_id: int, producer_epoch: int
) -> None:
    """Append what the id's last InitProducerId wrote, with this producer id and epoch; let its coordinator read it.

    `replicas` are those of the id's transaction partition, its leader first.
    """
    partition, coordinator = transaction_partition(transactional_id), replicas[0]
    leader_epoch = coordinator.state.metadata.partitions[partition].leader_epoch
    txn = Txn(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=producer_epoch, timeout_ms=60_000
    )
    step = _append(kernel, replicas, partition, Batch(records=(Record(transactional_id, txn),)))
    coordinator.state.transactions[partition] = TxnPartition(leader_epoch, loading=True)
    coordinator.run(load_transactions(coordinator.state, partition, leader_epoch), Context(None, step))


def _append(kernel: Kernel, replicas: list[Broker], partition: str, batch: Batch) -> int:
    """The batch on every replica, and replicated; the last event's step."""
    step = -1
    for broker in replicas:
        log = broker.state.log(partition)
        stored = log.append(batch, 0)
        log.advance(log.log_end_offset)
        step = kernel.record(broker.name, "append", partition, -1, stored)
        marks = {"partition": partition, "high_watermark": log.high_watermark}
        marks["last_stable_offset"] = log.last_stable_offset
        kernel.record(broker.name, "state", "watermark", step, marks)
    return step
