"""Decided transactions, deleted topics, aborts by hand, and what a client's settings do: what is certain, and when not.

The texts are those of incidents, each changed in the one thing that a rule needs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalab.diagnose.finding import CERTAIN, LIKELY, UNKNOWN, Finding

HERE = Path(__file__).parents[1] / "incidents"
Diagnose = Callable[..., list[Finding]]


def texts_of(incident: str) -> list[str]:
    """Return the texts of an incident by its number, in the order of their names."""
    (folder,) = HERE.glob(f"{incident}_*")
    return [path.read_text() for path in sorted(folder.iterdir()) if path.name != "key.toml"]


def certainty_of(findings: list[Finding], mechanism: str) -> str:
    """Return how certain the findings of this mechanism are; "" if there is none."""
    return next((one.certainty for one in findings if one.mechanism == mechanism), "")


@pytest.mark.parametrize(
    ("incident", "mechanism", "old", "new", "certainty"),
    [
        ("29", "markers_wait", "", "", CERTAIN),
        ("29", "markers_wait", "Leader: none", "Leader: 1", UNKNOWN),
        ("29", "markers_wait", "PrepareCommit", "CompleteCommit", ""),
        ("29", "markers_wait", "Topic: shelf-labels\tPartition", "Topic: labels\tPartition", UNKNOWN),
        ("35", "deleted_topic", "", "", CERTAIN),
        ("35", "deleted_topic", "deleted partitions: invoice-drafts-0", "deleted partitions: drafts-0", ""),
        ("34", "aborted_by_hand", "", "", CERTAIN),
        ("34", "aborted_by_hand", "--start-offset 6", "--start-offset 3", ""),
        ("34", "aborted_by_hand", " abort --topic", " describe-producers --topic", ""),
        ("26", "epoch_per_transaction", "", "", CERTAIN),
        (
            "26",
            "epoch_per_transaction",
            "producerEpoch:3,state=PrepareCommit",
            "producerEpoch:2,state=PrepareCommit",
            "",
        ),
        ("33", "open_for_hours", "", "", CERTAIN),
        ("33", "open_for_hours", "43200000", "900000", ""),
        ("27", "aborted_read", "", "", CERTAIN),
        ("27", "aborted_read", "isolation.level = read_uncommitted", "isolation.level = read_committed", ""),
        ("27", "aborted_read", "endTxnMarker: ABORT", "endTxnMarker: COMMIT", ""),
        ("24", "out_of_order_retried", "", "", LIKELY),
        ("24", "out_of_order_retried", "flush done", "Transiting to fatal error state due to a KafkaException", ""),
        ("25", "waited_for_predecessor", "", "", CERTAIN),
        ("25", "waited_for_predecessor", "Acquired PID", "No PID", ""),
        ("28", "too_few_brokers", "for the transactions state topic", "for the offset topic", ""),
        ("37", "idempotence_off", "", "", LIKELY),
        ("38", "wrong_order", "", "", CERTAIN),
        ("23", "named_CLUSTER_AUTHORIZATION_FAILED", "", "", CERTAIN),
        ("23", "named_CLUSTER_AUTHORIZATION_FAILED", "[Producer clientId=", "[", LIKELY),
        ("22", "named_FENCED_INSTANCE_ID", "", "", CERTAIN),
        ("40", "alike_records", "", "", UNKNOWN),
        ("40", "alike_records", "sequence: 3 headerKeys: [] key: d-101", "sequence: 3 headerKeys: [] key: d-109", ""),
        ("21", "fenced", "", "", LIKELY),
        ("21", "fenced", "consumer poll timeout has expired", "", UNKNOWN),
    ],
)
def test_a_rule_needs_each_of_its_lines(
    diagnose: Diagnose, incident: str, mechanism: str, old: str, new: str, certainty: str
) -> None:
    texts = texts_of(incident)
    assert not old or any(old in text for text in texts)
    changed = [text.replace(old, new) if old else text for text in texts]
    assert certainty_of(diagnose(*changed), mechanism) == certainty


def test_a_second_consumer_with_read_committed_takes_the_certainty(diagnose: Diagnose) -> None:
    other = "\tisolation.level = read_committed\n"
    assert not certainty_of(diagnose(*texts_of("27"), other), "aborted_read")


def test_a_commit_of_a_later_transaction_is_no_proof_of_an_abort_by_hand(diagnose: Diagnose) -> None:
    dump, terminal = texts_of("34")
    whole = [line for line in dump.splitlines() if not line.startswith(("baseOffset: 8 ", "| offset: 8 "))]
    assert not certainty_of(diagnose("\n".join(whole), terminal), "aborted_by_hand")
