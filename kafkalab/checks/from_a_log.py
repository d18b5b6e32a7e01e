"""The audits that can judge a history read from logs alone, and what each other one would need."""

from __future__ import annotations

SENDS = "what producers sent and which answers they had (their `operations`)"
POLLS = "what consumers were given (their `reads` and `polls`)"
BOTH = f"{SENDS}, and {POLLS}"
TRANSACTION_LOG = "the entries of __transaction_state, and permission to read them"

CAPTURED = "transaction log"
"""The name of the label of a capture: its value says what of the transaction log it has (COMPLETE, …)."""
LACKING = ("operations", "reads", "polls", "frames")
"""The tables that no log fills."""
BY_DECISIONS = ("marker without decision", "decision without marker")
"""Those that compare a log with the transaction log."""
OF_FRAMES = ("hanging transaction", *BY_DECISIONS)
"""Those that frames before a running Kafka leave unknown: its markers and its transaction log do not pass a tap."""
NEEDS = {
    "inconsistent-offsets": BOTH,
    "G1a": POLLS,
    "precommitted-read": POLLS,
    "lost-write": BOTH,
    "unseen": POLLS,
    "duplicate": f"{SENDS}: an application may send one value twice",
    "poll-skip": POLLS,
    "int-poll-skip": POLLS,
    "nonmonotonic-poll": POLLS,
    "int-nonmonotonic-poll": POLLS,
    "nonmonotonic-send": SENDS,
    "int-nonmonotonic-send": SENDS,
    "int-send-skip": SENDS,
    "G0": SENDS,
    "G1c": BOTH,
    "torn transaction": f"{SENDS}: a log does not say what was meant to be one transaction",
    "partial visibility": POLLS,
    "offset/output split": BOTH,
    "LSO regression": "the last stable offset at several times",
    "exactly-once": BOTH,
}
"""By anomaly: what a log lacks."""


COMPLETE, COMPACTED, DESCRIBED, UNREAD = "complete", "compacted", "described", "unread"
"""A capture's part of the transaction log: every entry, those that compaction left, its coordinators' present states,
or nothing."""


def needs(transaction_log: str) -> dict[str, str]:
    """Return what each audit lacks that a capture cannot answer; `transaction_log` is COMPLETE, COMPACTED, …"""
    if transaction_log == COMPLETE:
        return NEEDS
    if transaction_log == COMPACTED:
        return {**NEEDS, BY_DECISIONS[0]: "the entries that compaction has removed from __transaction_state"}
    lacking = {**NEEDS, **dict.fromkeys(BY_DECISIONS, TRANSACTION_LOG)}
    if transaction_log == DESCRIBED:
        return lacking
    return {**lacking, "hanging transaction": f"{TRANSACTION_LOG}, or to describe transactions"}
