"""The engine's verdict of a scripted client that keeps, duplicates, loses, hangs and dies."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from kafkalab.run.again import run_scenario
from kafkalab.sim.scenario import Scenario
from tests.scorecard.cells import (
    DIES,
    DUPLICATES,
    HANGS,
    KEEPS,
    LOSES,
    NEVER_STRUCK,
    Row,
    Setting,
)
from tests.scorecard.engine import fill
from tests.scorecard.running import Command, Run

FAST_S, LOSES_S, PATIENCE_S = 3.0, 4.0, 20.0
SETTING = Setting("fake")


def fake(how: str) -> Command:
    """Return the command of the scripted client."""
    return lambda servers: (sys.executable, "-m", "tests.scorecard.fake", how, servers)


def row_of(how: str, folder: Path, fault: str = "Duplicate:fake:OffsetFetch#1") -> Row:
    """Return the row of a scripted client."""
    hang_s = FAST_S if how.startswith("hangs") else LOSES_S if how == "loses" else PATIENCE_S
    return fill(SETTING, fault, folder, fake(how), hang_s)


@pytest.mark.parametrize(
    ("how", "cell", "note"),
    [
        ("keeps", KEEPS, ""),
        ("duplicates", DUPLICATES, "duplicated: 1, 2, 3, 4"),
        ("loses", LOSES, "lost: 3"),
        ("hangs-again", HANGS, "nothing goes on after fake:OffsetCommitResponse#2; a new process goes no further"),
        ("hangs", HANGS, "nothing goes on after fake:OffsetCommitResponse#2"),
        ("dies-again", DIES, "and so does each new process: dies at the third input"),
        ("dies", DIES, "dies at the third input"),
        ("fenced", KEEPS, "with 2 producers, as the documentation asks for"),
    ],
)
def test_a_cell_says_what_the_client_did(how: str, cell: str, note: str, tmp_path: Path) -> None:
    row = row_of(how, tmp_path)
    assert (row.cell, row.note) == (cell, note)
    assert row.runs == (3 if cell == HANGS else 1)
    assert run_scenario(Scenario.load(tmp_path / row.file)).trace.steps > 50


def test_nothing_of_a_hanging_application_is_left(tmp_path: Path) -> None:
    left = tmp_path / "left"
    child = f"import pathlib, time; time.sleep(8); pathlib.Path({str(left)!r}).touch()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    run = Run(None, lambda servers: (sys.executable, "-c", parent), tmp_path / "log")  # type: ignore[arg-type]
    run.lab = type("Lab", (), {"bootstrap_servers": "", "trace": type("Trace", (), {"steps": 0})})  # type: ignore[assignment]
    run.start()
    time.sleep(2)
    run.kill()
    time.sleep(8)
    assert not left.exists()


def test_a_fault_that_never_struck_is_no_proof(tmp_path: Path) -> None:
    assert row_of("keeps", tmp_path, "Drop:fake:OffsetFetch#9").cell == NEVER_STRUCK


def test_wrong_data_count_although_the_fault_never_struck(tmp_path: Path) -> None:
    assert row_of("loses", tmp_path, "Drop:fake:OffsetFetch#9").cell == LOSES
