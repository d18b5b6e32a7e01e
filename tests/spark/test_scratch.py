"""A run that is stopped leaves nothing, and what a killed one left is removed at the next start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkalab.cli.command_line import stoppable
from kafkalab.spark.storage.scratch import LOCK, NEW_S, Scratch

HOLDING = (
    "import sys, time; from kafkalab.spark.storage.scratch import Scratch; s = Scratch(sys.argv[1], '.out-'); "
    "print(s.folder, flush=True); time.sleep(60)"
)


def test_a_folder_goes_with_its_owner_and_stays_while_it_lives(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        mine = Scratch(tmp_path, ".out-")
        assert sorted(tmp_path.iterdir()) == sorted([theirs, mine.folder])
        other.send_signal(signal.SIGKILL)
    Scratch(tmp_path, ".out-").remove()
    assert list(tmp_path.iterdir()) == [mine.folder]
    mine.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_lock_is_left_unless_it_is_old_and_others_always(tmp_path: Path) -> None:
    new, old, other = (tmp_path / name for name in (".out-new", ".out-old", "out"))
    for folder in (new, old, other):
        folder.mkdir()
    for folder in (old, other):
        os.utime(folder, (0, folder.stat().st_mtime - NEW_S - 1))
    Scratch(tmp_path, ".out-").remove()
    assert sorted(tmp_path.iterdir()) == [new, other]
    assert not (new / LOCK).exists()


def test_sigterm_is_as_control_c_within() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_workload_that_fails_or_is_stopped_leaves_nothing(
    typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / ".night-unfinished-killed"
    left.mkdir()
    (left / LOCK).touch()

    def stop(*_: Any, **__: Any) -> None:
        assert [path.name[:18] for path in tmp_path.iterdir()] == [".night-unfinished-"]
        assert not left.exists()
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("kafkalab.cli.workload.spark_for", stop)
    status, _, err = typed("workload", "synthetic", "--out", "night", "--records", "100")
    assert (status, err.splitlines()[-1]) == (130, "kafkalab workload: stopped")
    assert list(tmp_path.iterdir()) == []
