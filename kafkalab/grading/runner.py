"""Run one student's notebook in its own process and folder, with limits of time and memory."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.grading import process_tree, progress, seeds
from kafkalab.grading.sheet import Graded, Lab
from kafkalab.grading.submissions import Submission

STORY_MAX = 2_000_000
START_S = 60
"""What a process may take before the first cell: Python, IPython and kafkalab are loaded."""
LOOK_EVERY_S, WEIGH_EVERY_S = 0.05, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one notebook may take, where it is not as its lab says; 0 is "as the lab says"."""

    time_s: int = 0
    memory_mb: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What a notebook's process told until it ended, and how it ended: "" if it ran to the end."""

    rows: tuple[dict[str, Any], ...]
    end: str


def run(submission: Submission, lab: Lab, folder: Path, root: Path, limits: Limits, seed: int) -> Story:
    """Run the notebook in its own process and a temporary folder; return what it reported."""
    time_s, memory_mb = limits.time_s or lab.time_s, limits.memory_mb or lab.memory_mb
    with (
        tempfile.TemporaryDirectory(prefix="kafkalab-", ignore_cleanup_errors=True) as place,
        tempfile.TemporaryFile(mode="ab+") as told,
    ):
        own = Path(place)
        for below in ("labs", "tmp", "home"):
            (own / below).mkdir()
        if (root / "data").is_dir():
            (own / "data").symlink_to((root / "data").resolve())
        job = {
            "cells": job_cells(submission, lab),
            "descriptor": told.fileno(),
            "folder": str(own.resolve()),
            "readable": [str((root / "data").resolve())],
            "hidden": [str(folder.resolve()), str((root / "labs").resolve())],
            "time_s": time_s,
            "memory_mb": memory_mb,
            "checks_here": lab.uses_spark,
        }
        end = _run(job, own, seed, told.fileno())
        told.seek(0)
        return Story(rows=tuple(_lines(told.read(STORY_MAX))), end=end)


def job_cells(submission: Submission, lab: Lab) -> list[dict[str, Any]]:
    """Return the student's cells, with the lab's checks in place of theirs; missing checks come last."""
    by_cell = {check.cell: check for check in lab.checks}
    cells: list[dict[str, Any]] = []
    for cell in submission.cells:
        check = by_cell.get(cell.id)
        cells.append({"id": cell.id, "source": cell.source} if check is None else _job_check(check))
    there = {cell["id"] for cell in cells}
    return cells + [_job_check(check) for check in lab.checks if check.cell not in there]


def _job_check(check: Graded) -> dict[str, Any]:
    return {"id": check.cell, "exercise": check.exercise, "answer": check.answer}


def _run(job: dict[str, Any], own: Path, seed: int, descriptor: int) -> str:
    """Run the job; return how its process ended, "" if it ran to the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kafkalab.grading.worker"],
        cwd=own / "labs",
        env=_environment(own, seed),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        start_new_session=True,
    )
    mark = f"HOME={own / 'home'}"
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as job_goes_to:
            job_goes_to.write(json.dumps(job).encode())
        why = _wait(process, descriptor, START_S, job["memory_mb"], until_ready=True)
        why = why or _wait(process, descriptor, job["time_s"], job["memory_mb"])
        if why:
            return why
    finally:
        _end(process, mark)
    if process.returncode < 0:
        return f"its process was ended by {signal.Signals(-process.returncode).name}"
    return f"it ended its own process, with status {process.returncode}"


def _wait(
    process: subprocess.Popen[bytes], descriptor: int, time_s: int, memory_mb: int, until_ready: bool = False
) -> str:
    """Wait; return why the process must be stopped, or "" once it has ended or, `until_ready`, reported its first line.

    Memory counts that it has at two looks in a row: for the moment in which Java starts a command, its memory seems to
    be there twice.
    """
    until, weighing, heavy = time.monotonic() + time_s, time.monotonic(), False
    while process.poll() is None and not (until_ready and os.fstat(descriptor).st_size):
        now = time.monotonic()
        if now > until:
            return f"it was stopped after {time_s} s"
        if now >= weighing:
            others = process_tree.members(process.pid)
            before, heavy = heavy, process_tree.memory_mb([process.pid, *others]) > memory_mb
            if before and heavy:
                return f"it was stopped: {_all_of(len(others))} took more than {memory_mb} MB of memory"
            weighing = now + (LOOK_EVERY_S if heavy else WEIGH_EVERY_S)
        time.sleep(LOOK_EVERY_S)
    return ""


def _all_of(others: int) -> str:
    if not others:
        return "it"
    return f"it and the {others} processes that it had started" if others > 1 else "it and the process that it started"


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kill the process and all that it has started."""
    process_tree.end(process.pid, mark, alive=process.poll() is None)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _environment(own: Path, seed: int) -> dict[str, str]:
    """Return the process's environment: of the grader's own only where programs lie, and the language."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "JAVA_HOME") if name in os.environ}
    return kept | {
        "HOME": str(own / "home"),
        "TMPDIR": str(own / "tmp"),
        "IPYTHONDIR": str(own / "home" / "ipython"),
        "SPARK_LOCAL_DIRS": str(own / "tmp"),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={own / 'tmp'} -XX:-UsePerfData",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        seeds.VARIABLE: str(seed),
        progress.VARIABLE: "off",
    }


def _lines(data: bytes) -> list[dict[str, Any]]:
    rows = []
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("kind"), str):
            rows.append(row)
    return rows
