"""Every cell of every table is visited by some test; those that no question can reach are named, with the reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cells import WATCHED

SUITES = ("tests/conformance", "tests/client", "tests/programs/test_group_programs.py")
ALWAYS_OPEN = "the call that led here is still open, so it waits"
NEVER_WITH_INIT = "while initTransactions waits there is no transaction"
NEVER_WITH_COMMIT = "while commitTransaction waits the transaction is being committed, is over, or has failed"
NEVER_WITH_ABORT = "while abortTransaction waits the transaction is being aborted, is over, or has failed for good"
PRODUCER: dict[str, dict[str, str]] = {
    "None": dict.fromkeys(("INITIALIZING", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"), ALWAYS_OPEN),
    "initTransactions": dict.fromkeys(
        ("IN_TRANSACTION", "PREPARED_TRANSACTION", "COMMITTING_TRANSACTION", "ABORTING_TRANSACTION", "ABORTABLE_ERROR"),
        NEVER_WITH_INIT,
    ),
    "commitTransaction": dict.fromkeys(
        ("UNINITIALIZED", "INITIALIZING", "IN_TRANSACTION", "PREPARED_TRANSACTION", "ABORTING_TRANSACTION"),
        NEVER_WITH_COMMIT,
    ),
    "abortTransaction": dict.fromkeys(
        ("UNINITIALIZED", "IN_TRANSACTION", "PREPARED_TRANSACTION", "COMMITTING_TRANSACTION", "ABORTABLE_ERROR"),
        NEVER_WITH_ABORT,
    ),
}
"""Open call to the states in which it cannot be open, each with the reason."""
NOBODY_THERE = "there is no member who could"
ONLY_PREPARING = "a join phase ends in PreparingRebalance only"
GROUP: dict[str, dict[str, str]] = {
    "every member has joined": dict.fromkeys(("Empty", "CompletingRebalance", "Stable", "Dead"), ONLY_PREPARING),
    "nobody has joined": dict.fromkeys(("Empty", "CompletingRebalance", "Stable", "Dead"), ONLY_PREPARING),
    "the assignment is replicated": dict.fromkeys(("Empty", "Dead"), NOBODY_THERE),
    "a member leaves, or its session ends": dict.fromkeys(("Empty", "Dead"), NOBODY_THERE),
    "no member, no offset, no transaction": dict.fromkeys(
        ("PreparingRebalance", "CompletingRebalance", "Dead"), "only a group without members is asked whether it may go"
    ),
}
"""Question to the states in which nobody can ask it, each with the reason."""


def unreachable(table: str, cell: str) -> bool:
    """Return True if the cell is one of those named above."""
    parts = cell.split(" / ")
    if table == "the producer's calls":
        return parts[2] in PRODUCER.get(parts[0], {})
    return table == "the group's table" and parts[0] in GROUP.get(parts[1], {})


@pytest.mark.campaign
def test_every_cell_is_visited_or_has_a_reason(tmp_path: Path, root: Path) -> None:
    visits = tmp_path / "cells.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "-o", "addopts=--import-mode=importlib", *SUITES]
    environment = {**os.environ, "KAFKALAB_CELLS": str(visits)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    seen = json.loads(visits.read_text(encoding="utf-8"))
    assert list(seen) == list(WATCHED)
    never = {(table, cell) for table, cells in seen.items() for cell, count in cells.items() if not count}
    named = {(table, cell) for table, cells in seen.items() for cell in cells if unreachable(table, cell)}
    assert sorted(never - named) == [], "visited by no test, and without a reason"
    assert sorted(named - never) == [], "said to be out of reach, and visited all the same"
