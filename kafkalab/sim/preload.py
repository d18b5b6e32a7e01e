"""What is in the logs before a run begins: records of topics, and transactional ids that have been in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.broker.services import Context
from kafkalab.broker.state import TxnPartition
from kafkalab.broker.transaction_coordinator.loading import load_transactions
from kafkalab.broker.transaction_coordinator.metadata import Txn
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, Record

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster


def preload_records(cluster: Cluster, partition: str, values: tuple[str, ...]) -> None:
    """Every replica has these values, and they are below the high watermark."""
    _append(cluster, partition, Batch(records=tuple(Record(None, v) for v in values)))


def preload_transactional_id(cluster: Cluster, transactional_id: str, producer_epoch: int) -> None:
    """The id's last InitProducerId gave this epoch; the record is on every replica, and its coordinator has read it."""
    partition = transaction_partition(transactional_id)
    info = cluster.controller.metadata.partitions[partition]
    coordinator = cluster.brokers[info.leader]
    producer_id, coordinator.state.producer_ids[0] = (first := coordinator.state.producer_ids[0]), first + 1
    txn = Txn(
        transactional_id=transactional_id, producer_id=producer_id, producer_epoch=producer_epoch, timeout_ms=60_000
    )
    step = _append(cluster, partition, Batch(records=(Record(transactional_id, txn),)))
    coordinator.state.transactions[partition] = TxnPartition(info.leader_epoch, loading=True)
    coordinator.run(load_transactions(coordinator.state, partition, info.leader_epoch), Context(None, step))


def _append(cluster: Cluster, partition: str, batch: Batch) -> int:
    """The batch on every replica, and replicated; the last event's step."""
    step = -1
    for name in cluster.controller.metadata.partitions[partition].replicas:
        log = cluster.brokers[name].state.log(partition)
        stored = log.append(batch, 0)
        log.advance(log.log_end_offset)
        step = cluster.record(name, "append", partition, -1, stored)
        marks = {"partition": partition, "high_watermark": log.high_watermark}
        marks["last_stable_offset"] = log.last_stable_offset
        cluster.record(name, "state", "watermark", step, marks)
    return step
