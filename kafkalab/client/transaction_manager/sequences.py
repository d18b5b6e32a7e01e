"""The sequence numbers of each partition: assigned, acknowledged, given back, unresolved (`TxnPartitionMap`)."""

from __future__ import annotations

from kafkalab.client.producer_batch import ProducerBatch
from kafkalab.protocol.records import sequence_after


class Sequences:
    """One counter per partition; a new identity begins at 0.

    `unresolved` holds the partitions where a batch was given up that a leader may have: nothing new is numbered there
    until all that is under way has its answer. The value is the sequence after that batch. `to_restart` lists the
    partitions with a gap: they begin at 0 under the next identity.
    """

    def __init__(self) -> None:
        self.next: dict[str, int] = {}
        self.last_acked: dict[str, int] = {}
        self.last_acked_offset: dict[str, int] = {}
        self.identity: dict[str, tuple[int, int]] = {}
        self.unresolved: dict[str, int] = {}
        self.to_restart: list[str] = []

    def number(self, batch: ProducerBatch, producer: tuple[int, int]) -> None:
        """Assign the next sequences of its partition to the batch; under a new identity they begin at 0."""
        partition = batch.partition
        if self.identity.get(partition) != producer:
            self.identity[partition] = producer
            self.next.pop(partition, None)
            self.last_acked.pop(partition, None)
        batch.base_sequence, batch.producer = self.next.get(partition, 0), producer
        self.next[partition] = sequence_after(batch.base_sequence, len(batch.records))

    def note_ack(self, batch: ProducerBatch, base_offset: int) -> None:
        """Note that the leader has the batch; an older one acknowledged late changes nothing."""
        known = self.last_acked.get(batch.partition, -1)
        self.last_acked[batch.partition] = max(known, batch.last_sequence)
        if base_offset >= 0:
            self.last_acked_offset[batch.partition] = base_offset + len(batch.records) - 1

    def follows_acked(self, partition: str, sequence: int) -> bool:
        """Return whether `sequence` follows the last acknowledged one."""
        last = self.last_acked.get(partition)
        return sequence == (0 if last is None else sequence_after(last, 1))

    def give_back(self, batch: ProducerBatch, numbered: list[ProducerBatch]) -> None:
        """Free the sequences of a failed batch; the later ones of `numbered` move down."""
        count = len(batch.records)
        if self.identity.get(batch.partition) != batch.producer:
            return  # the partition begins at 0 already
        self.next[batch.partition] -= count
        for other in numbered:
            if other.base_sequence > batch.base_sequence:
                other.base_sequence -= count
                other.renumbered = True

    def restart(self, partition: str, producer: tuple[int, int], numbered: list[ProducerBatch]) -> None:
        """Give `numbered` sequences from 0 on under this identity (KIP-360)."""
        sequence = 0
        for batch in numbered:
            batch.base_sequence, batch.producer, batch.renumbered = sequence, producer, True
            sequence = sequence_after(sequence, len(batch.records))
        self.next[partition], self.identity[partition] = sequence, producer
        self.last_acked.pop(partition, None)
        self.unresolved.pop(partition, None)

    def restart_later(self, partition: str) -> None:
        """Let the partition begin at 0 under the next identity (`requestIdempotentEpochBumpForPartition`)."""
        if partition not in self.to_restart:
            self.to_restart.append(partition)

    def forget_acked(self, partition: str) -> None:
        """Begin at 0: the leader has no state of this producer."""
        self.next[partition] = 0
        self.last_acked.pop(partition, None)

    def leave_open(self, batch: ProducerBatch) -> None:
        """Note that the batch was given up and may have arrived."""
        after = sequence_after(batch.last_sequence, 1)
        self.unresolved[batch.partition] = max(self.unresolved.get(batch.partition, 0), after)

    def reset(self) -> None:
        """Begin at 0 everywhere."""
        self.next.clear()
        self.last_acked.clear()
        self.last_acked_offset.clear()
        self.identity.clear()
        self.unresolved.clear()
