"""The usual cause of an anomaly in an application, in a sentence for its developer."""

from __future__ import annotations

from collections.abc import Sequence

from kafkalab.checks.check import Finding
from kafkalab.checks.view import View
from kafkalab.testing.causes import Cause

ABORTED_INPUT = "whose transaction aborted"
OUTSIDE = (
    "offsets were committed outside of a transaction; a crash between the two commits doubles or loses what lies "
    "between them: commit offsets with send_offsets_to_transaction"
)
UNPROVEN = "the trace does not prove the cause. Usual ones: "
TOGETHER = "one transaction holds several outputs of the input: write each output once"
AGAIN = (
    "an input was processed in a second transaction after its first one had committed. The trace does not prove why. "
    "Three usual causes: a commit whose outcome was unknown (a timeout) was taken for an abort: call "
    "commit_transaction again until it answers; records in hand were processed again after a rebalance or a fencing: "
    "drop them, and read on from the committed offsets; the offsets were not sent to the same transaction"
)
SKIPPED = (
    "an offset behind the input was committed, but no output of it: send the offsets to the transaction that holds "
    "the output, and after an abort seek back to the committed offsets"
)
ELSEWHERE = (
    "nothing says how far the application has read: commit the offsets, best with send_offsets_to_transaction; if it "
    "keeps its positions outside Kafka, declare them: pipeline(..., positions=...)"
)
UNCOMMITTED = "the application reads records of aborted transactions: set isolation.level=read_committed"
HINTS = {
    "precommitted-read": "a process read what it had not committed yet: set isolation.level=read_committed",
    "lost-write": "an acknowledged record is gone: use acks=all, and min.insync.replicas=2 on the topic",
    "duplicate": "a value was sent twice: set enable.idempotence=true, and do not send again what may have arrived",
    "torn transaction": (
        "a producer went on after an unknown outcome: call commit_transaction again until it answers, or close the "
        "producer and begin with a new one"
    ),
    "offset/output split": OUTSIDE,
    "hanging transaction": "a producer ended without commit or abort, or its transactional.id was not used again",
    "zombie write": "an instance went on writing after it had been fenced: end it when ProducerFenced is raised",
    "sequence gap": "a batch is missing between two of one producer: set enable.idempotence=true",
}


def hint_for(finding: Finding, view: View, causes: Sequence[Cause]) -> str:
    """Return what to look for: what the trace proves, else what is usual, and that it is not proved; "" for nothing."""
    if proved := [cause.text for cause in causes if cause.explains(finding)]:
        return proved[0]
    if finding.anomaly != "exactly-once":
        usual = HINTS.get(finding.anomaly, "")
        return f"{UNPROVEN}{usual}" if usual else ""
    if ABORTED_INPUT in finding.text:
        return UNCOMMITTED
    if " is unknown: " in finding.text:
        return ELSEWHERE
    if any(not record.transactional for record in view.offset_commits):
        return OUTSIDE
    if " is duplicated: " in finding.text:
        return TOGETHER if _in_one_transaction(finding, view) else AGAIN
    return SKIPPED


def _in_one_transaction(finding: Finding, view: View) -> bool:
    """Return True if two of the outputs that prove the finding are of one transaction."""
    made = [
        view.transaction_of[key, record.offset].id
        for key in view.data_keys
        for record in view.data(key)
        if record.step in finding.steps and record.headers and (key, record.offset) in view.transaction_of
    ]
    return len(set(made)) < len(made)
