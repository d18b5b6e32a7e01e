"""Read what leaders say of a producer's sequences: records that are gone, state that is gone, repeated batches."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import CERTAIN, LIKELY, UNKNOWN, Finding, Proof, describe_producers, list_proofs
from kafkalab.protocol import rules
from kafkalab.protocol.partitions import topic_of

LOST = "Acknowledged records are gone since a leader election"
GAP = "`OutOfOrderSequenceException` in the log"
IDLE = "An idle producer fails after days"
DUPLICATES = "Duplicates, without an error"
THOUGH_ON = "Duplicates, though idempotence is on"
UNCLEAN = ("unclean election", "cut below watermark")
"""Lines that say that acknowledged records may be gone."""


def lose_records(evidence: Evidence) -> Iterator[Finding]:
    """A leader misses sequences of a producer, and records of the same partition went with an unclean election."""
    by_partition: dict[str, list[Proof]] = {}
    for said in evidence.all_said("out of order"):
        proof = Proof(said.source, f"the leader expects another sequence of producer {said.producer}: {said.detail}")
        by_partition.setdefault(said.partition, []).append(proof)
    for partition, proofs in by_partition.items():
        unclean = [said for said in evidence.all_said(*UNCLEAN) if said.partition == partition]
        cut = [said for said in evidence.all_said("log cut") if said.partition == partition]
        loss = [Proof(said.source, "acknowledged records may be gone from here on") for said in unclean[:3]]
        loss += [Proof(said.source, f"the replica cuts its log at {said.detail}") for said in cut[:2]]
        certainty = CERTAIN if unclean else LIKELY if cut else UNKNOWN
        yield Finding(
            mechanism="lost_records" if loss else "sequence_gap",
            where=partition,
            says=f"The leader of {partition} does not have the newest records of a producer"
            + (
                ": a replica that was not in sync was elected, and acknowledged records are gone."
                if loss
                else ". The lines do not show where they are: lost in an election, or overtaken by a later batch."
            ),
            certainty=certainty,
            proofs=list_proofs([*loss, *proofs[:3]]),
            ask="kafka-topics.sh --bootstrap-server host:9092 --describe --topic " + topic_of(partition),
            symptom=LOST if loss else GAP,
            rule=rules.CLEAN_ELECTION.name if loss else rules.SEQUENCE_GAPS.name,
            explains=("named_OUT_OF_ORDER_SEQUENCE_NUMBER",),
        )


def forget_producer(evidence: Evidence) -> Iterator[Finding]:
    """A leader has no state of a producer any more: its records went, or it was idle for too long."""
    lines = list(evidence.all_said("error UNKNOWN_PRODUCER_ID"))
    if lines:
        refused = list(evidence.all_said("produce refused"))
        partition = next((said.partition for said in [*refused, *lines] if said.partition), "")
        proofs = [Proof(said.source, "the leader has no state of this producer") for said in [*refused[:1], *lines[:3]]]
        yield Finding(
            mechanism="forgotten_producer",
            where=partition or lines[0].process,
            says="The partition leader has forgotten the producer: retention or DeleteRecords took its records (before "
            "Kafka 2.4), or it was idle for longer than producer ids are kept.",
            certainty=LIKELY,
            proofs=list_proofs(proofs),
            ask=describe_producers(partition),
            symptom=IDLE,
            bugs=("KIP-360", "KAFKA-7190"),
            rule=rules.STATE_OUTLIVES_DATA.name,
        )


def repeat_batch(evidence: Evidence) -> Iterator[Finding]:
    """A dump that has the same sequences of a producer and epoch twice."""
    for view in evidence.views.values():
        if view.repeated:
            before, batch = view.repeated[0]
            yield Finding(
                mechanism="repeated_sequence",
                where=view.partition,
                says=f"{view.partition} has sequences of producer {batch.producer}, epoch {batch.epoch} twice: at "
                "offset "
                f"{before.first} and, lower or equal, at {batch.first}.",
                certainty=LIKELY,
                proofs=(
                    Proof(before.source, f"sequences up to {before.last_sequence}"),
                    Proof(batch.source, f"then again from {batch.base_sequence} on"),
                ),
                ask=describe_producers(view.partition),
                symptom=DUPLICATES,
                rule=rules.DEDUPLICATION.name,
            )


def repeat_record(evidence: Evidence) -> Iterator[Finding]:
    """Two records of an idempotent producer are equal, under sequences of their own: Kafka compares no contents."""
    for view in evidence.views.values():
        for before, batch, content in view.alike:
            if view.partition.startswith("__") or view.repeated:
                continue
            yield Finding(
                mechanism="alike_records",
                where=view.partition,
                says=f"Offsets {before.first} and {batch.first} of {view.partition} hold equal records of producer "
                f"{batch.producer}, with sequences of their own: no retry of the client wrote them. The program sent "
                "the record twice, or there are two that are alike; only its own log tells.",
                certainty=UNKNOWN,
                proofs=(Proof(before.source, content[:80]), Proof(batch.source, "the same again")),
                ask="Search the application's own log for the key of the record: was it sent twice?",
                symptom=THOUGH_ON,
            )


RULES = (lose_records, forget_producer, repeat_batch, repeat_record)
