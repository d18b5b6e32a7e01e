"""Find what a client's program or its settings have done: calls in a wrong order, idempotence off, dirty reads."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import Said
from kafkalab.diagnose.finding import CERTAIN, LIKELY, Finding, Proof, describe_transaction, list_proofs
from kafkalab.diagnose.log_view import LogTransaction
from kafkalab.diagnose.mechanisms.producer_state import GAP, THOUGH_ON
from kafkalab.protocol import rules
from kafkalab.protocol.partitions import topic_of

IN_ERROR_STATE = "`Cannot execute transactional method because we are in an error state`"
ABORTED_READ = "A consumer returns aborted records"
DUMP = "kafka-dump-log.sh --print-data-log --files {}/SEGMENT.log"


def call_in_wrong_order(evidence: Evidence) -> Iterator[Finding]:
    """The Java client refuses a call that its state does not allow: an error of the program."""
    lines = list(evidence.all_said("wrong order"))
    if lines:
        yield Finding(
            mechanism="wrong_order",
            where="a client",
            says=f"The program called the producer's methods in an order that the client refuses (from state "
            f"{lines[0].detail}). No broker was asked.",
            certainty=CERTAIN,
            proofs=list_proofs(Proof(said.source, f"from state {said.detail}") for said in lines[:3]),
            ask=describe_transaction(next((said.who for said in lines if said.who), "")),
            symptom=IN_ERROR_STATE,
        )


def turn_idempotence_off(evidence: Evidence) -> Iterator[Finding]:
    """A Java client says that another setting has turned idempotence off."""
    lines = list(evidence.all_said("idempotence off"))
    if lines:
        yield Finding(
            mechanism="idempotence_off",
            where=lines[0].process,
            says=f"The producer is not idempotent, since {lines[0].detail}. A retry after a lost answer writes a "
            "second copy; whether one did, a dump shows.",
            certainty=LIKELY,
            proofs=list_proofs(Proof(said.source, f"off, because {said.detail}") for said in lines[:3]),
            ask=DUMP.format("TOPIC-N"),
            symptom=THOUGH_ON,
            rule=rules.DEDUPLICATION.name,
        )


def read_aborted(evidence: Evidence) -> Iterator[Finding]:
    """A consumer with read_uncommitted is assigned a partition whose dump has aborted records."""
    levels = list(evidence.all_said("setting isolation.level"))
    loose = [said for said in levels if said.detail == "read_uncommitted"]
    if not loose or len(loose) < len(levels):
        return
    assigned = [said for said in evidence.all_said("assigned") if said.process == loose[0].process]
    for view in evidence.views.values():
        aborted = [one for one in view.finished if one.marker is not None and one.marker.commit is False]
        own = [said for said in assigned if view.partition in said.partition.replace(" ", "").split(",")]
        if aborted and own:
            yield _read_aborted(view.partition, loose[0], own[0], aborted[0])


def _read_aborted(partition: str, level: Said, assigned: Said, aborted: LogTransaction) -> Finding:
    assert aborted.marker is not None
    proofs = (
        Proof(level.source, "the consumer does not filter aborted records"),
        Proof(assigned.source, f"it reads {partition}"),
        Proof(aborted.first.source, "records of a transaction that was aborted"),
        Proof(aborted.marker.source, "its ABORT"),
    )
    return Finding(
        mechanism="aborted_read",
        where=partition,
        says=f"The consumer reads {partition} with isolation.level=read_uncommitted, so it is given the records of "
        f"aborted transactions, such as those from offset {aborted.first.first} on.",
        certainty=CERTAIN,
        proofs=proofs,
        ask=f"kafka-console-consumer.sh --bootstrap-server host:9092 --topic {topic_of(partition)} "
        "--isolation-level read_committed --from-beginning",
        symptom=ABORTED_READ,
        rule=rules.ABORTED_FILTER.name,
        explains=("markers_take_offsets",),
    )


def retry_out_of_order(evidence: Evidence) -> Iterator[Finding]:
    """Batches that were refused as out of order are sent again, and no line says that one failed."""
    errors = list(evidence.all_said("error OUT_OF_ORDER_SEQUENCE_NUMBER"))
    retried = [said for said in evidence.all_said("produce retried") if said.detail == "OUT_OF_ORDER_SEQUENCE_NUMBER"]
    failed = any(evidence.all_said("abortable", "fatal", "error state", "batch expired", "out of order"))
    if retried and len(retried) == len(errors) and not failed:
        first = [said for said in evidence.all_said("produce retried") if said not in retried]
        proofs = [Proof(said.source, f"a batch before them was refused: {said.detail}") for said in first[:1]]
        yield Finding(
            mechanism="out_of_order_retried",
            where=retried[0].partition,
            says=f"{len(retried)} batches of {retried[0].partition} were refused as out of order, because one before "
            "them had failed. The client sends them again in order, and no line says that one was given up.",
            certainty=LIKELY,
            proofs=list_proofs([*proofs, *(Proof(said.source, "sent again") for said in retried[:3])]),
            ask=DUMP.format(retried[0].partition),
            symptom=GAP,
            rule=rules.SEQUENCE_GAPS.name,
            harmless=True,
            explains=("named_OUT_OF_ORDER_SEQUENCE_NUMBER",),
        )


RULES = (call_in_wrong_order, turn_idempotence_off, read_aborted, retry_out_of_order)
