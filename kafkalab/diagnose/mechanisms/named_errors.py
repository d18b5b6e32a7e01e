"""Errors that are named and that no other rule explains: what the symptoms say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import CERTAIN, LIKELY, UNKNOWN, Finding, Proof, list_proofs

SYMPTOMS = {
    "COORDINATOR_NOT_AVAILABLE": "`initTransactions()` hangs and times out",
    "NOT_COORDINATOR": "Producers pause when a broker restarts or is removed",
    "INVALID_TXN_STATE": "`InvalidTxnStateException`, often since an upgrade",
    "TRANSACTION_ABORTABLE": "`TransactionAbortableException`",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "`OutOfOrderSequenceException` in the log",
    "CONCURRENT_TRANSACTIONS": "`CONCURRENT_TRANSACTIONS` does not go away",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "A transactional producer is not authorized",
    "CLUSTER_AUTHORIZATION_FAILED": "A transactional producer is not authorized",
    "ILLEGAL_GENERATION": "`sendOffsetsToTransaction()` throws `CommitFailedException`",
    "FENCED_INSTANCE_ID": "`FencedInstanceIdException`",
    "UNSTABLE_OFFSET_COMMIT": "The new owner of a partition reads nothing for a while",
}
"""By the error's name, the heading of docs/symptoms.md."""
SURE = ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "FENCED_INSTANCE_ID")
"""Errors that have one cause: certain if a client's own line names one, and not only an application's."""
OWN = re.compile(r"\[(?:Producer|Consumer) [^\]]*(?:clientId|groupId)=")
"""The beginning of a log message of the Java client, which names the client."""
FEW = 10
"""Retriable errors below this number are what a client deals with by itself."""
PASSING = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS")


def name_error(evidence: Evidence) -> Iterator[Finding]:
    """An error of a line, with its symptom; what caused it is not in the text."""
    for name, symptom in SYMPTOMS.items():
        lines = list(evidence.all_said(f"error {name}"))
        if not lines or (name in PASSING and len(lines) < FEW):
            continue
        own = [said for said in lines if name in SURE and OWN.search(said.source.text)]
        yield Finding(
            mechanism=f"named_{name}",
            where="a client" if name in SURE else lines[0].who or lines[0].process,
            says=f"{name} is named in {len(lines)} lines"
            + (", and it has one cause." if name in SURE else "; the text does not show what caused it."),
            certainty=CERTAIN if own else LIKELY if name in SURE else UNKNOWN,
            proofs=list_proofs(Proof(said.source, name) for said in [*own[:1], *lines[:3]]),
            ask="kafka-transactions.sh --bootstrap-server host:9092 describe --transactional-id "
            + (lines[0].who or "ID"),
            symptom=symptom,
        )


def time_out(evidence: Evidence) -> Iterator[Finding]:
    """A call of the Java client that was not answered in time."""
    for said in evidence.all_said("timed out"):
        init = "InitProducerId" in said.detail
        yield Finding(
            mechanism=f"timeout_{said.detail.split('(')[0]}",
            where=said.who or said.process,
            says=f"The client waited in vain for {said.detail}. The request may still arrive and be carried out.",
            certainty=UNKNOWN,
            proofs=(Proof(said.source, "the client gives up here"),),
            ask="kafka-transactions.sh --bootstrap-server host:9092 describe --transactional-id " + (said.who or "ID"),
            symptom="`initTransactions()` hangs and times out" if init else "`commitTransaction()` times out",
        )


def get_no_id(evidence: Evidence) -> Iterator[Finding]:
    """A librdkafka client that asks for its producer id again and again, and does not get one."""
    lines = list(evidence.all_said("librdkafka no id"))
    given = [said for said in evidence.all_said("librdkafka id") if lines and said.process == lines[-1].process]
    if len(lines) >= 2 and not any(said.source.line > lines[-1].source.line for said in given):
        yield Finding(
            mechanism="no_producer_id",
            where=lines[-1].process,
            says=f"The client asked {len(lines)} times for its producer id and has none yet: init_transactions() "
            "waits.",
            certainty=UNKNOWN,
            proofs=list_proofs(Proof(said.source, "asked again") for said in [*lines[:1], *lines[-1:]]),
            ask="kafka-topics.sh --bootstrap-server host:9092 --describe --topic __transaction_state",
            symptom="`initTransactions()` hangs and times out",
        )


RULES = (time_out, name_error, get_no_id)
