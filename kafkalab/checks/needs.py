"""The tables of a history that each check needs: without one of them its verdict is "unknown".

`tests/checks/test_needs.py` takes each table away from several hundred histories: the results of a check change for the
tables named here and for no other. `python -m tests.checks.needs_page` writes docs/checks-and-tables.md.
"""

from __future__ import annotations

LACKS = "lacks"
"""The name of a label whose value is a table that this history lacks: not empty, but never recorded."""
NEEDS: dict[str, tuple[str, ...]] = {
    "inconsistent-offsets": ("operations", "reads"),
    "G1a": ("operations", "log", "reads"),
    "precommitted-read": ("operations", "log", "reads"),
    "lost-write": ("operations", "log", "reads", "polls"),
    "unseen": ("log", "reads"),
    "duplicate": ("operations", "log"),
    "poll-skip": ("log", "reads", "polls"),
    "int-poll-skip": ("log", "reads"),
    "nonmonotonic-poll": ("reads", "polls"),
    "int-nonmonotonic-poll": ("reads",),
    "nonmonotonic-send": ("operations",),
    "int-nonmonotonic-send": ("operations",),
    "int-send-skip": ("operations", "log"),
    "G0": ("operations", "log"),
    "G1c": ("operations", "log", "reads"),
    "torn transaction": ("operations", "log", "transactions"),
    "partial visibility": ("operations", "log", "reads"),
    "zombie write": ("log", "transactions"),
    "hanging transaction": ("log", "transactions"),
    "offset/output split": ("operations", "log", "reads", "polls"),
    "sequence gap": ("operations", "log", "frames"),
    "LSO regression": ("watermarks",),
    "marker without decision": ("log", "frames", "transactions"),
    "decision without marker": ("transactions", "leaders"),
    "exactly-once": ("operations", "log", "polls"),
}
"""By the name of a check."""
