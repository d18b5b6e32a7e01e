"""Processes of the grader's own that grade notebooks, one after the other; none of them ever runs a student's code.

A notebook that brings even such a process to its end has a row that says so, and the others are graded by a new one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kafkalab.grading import process_tree, progress, runner
from kafkalab.grading.learner import PATIENCE, START_S, WAIT_S
from kafkalab.grading.runner import CHECK_S, Limits, Story
from kafkalab.grading.sheet import Lab
from kafkalab.grading.submissions import Submission

SPARE_S = 60
MEMORY_MB = 2_000


class Judge:
    """One process that grades; it is started when it is first needed."""

    def __init__(self, folder: Path, root: Path, limits: Limits, seed: int, sandbox: str = "") -> None:
        self._given = (folder, root, limits, seed, sandbox)
        self._limits = limits
        self._process: Any = None
        self._pipe: Connection | None = None

    def story(self, submission: Submission, lab: Lab) -> Story:
        """Return what became of the notebook; a story that says so if the process has failed over it."""
        try:
            pipe = self._start()
            pipe.send((submission, lab))
            allowed_s = self._limits.wall_s or PATIENCE * (self._limits.time_s or lab.time_s) + WAIT_S
            most_s = START_S + allowed_s + CHECK_S * len(lab.checks) + SPARE_S
            if not pipe.poll(most_s):
                raise TimeoutError
            story: Story = pipe.recv()
            return story
        except TimeoutError:
            why = "grading it took too long"
        except (EOFError, OSError):
            why = "the grader's own process ended while it graded this"
        self.close()
        return Story(end=why)

    def _start(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_judge, args=(theirs, *self._given), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe

    def close(self) -> None:
        """End the process, with all that it has started."""
        if self._pipe is not None:
            self._pipe.close()
            self._process.join(1)
            if self._process.is_alive():
                process_tree.end(self._process.pid)
                self._process.kill()
                self._process.join()
        self._pipe = None


def _limit_memory() -> None:
    """Limit this process to MEMORY_MB; what it starts sets its own limit."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MB * 2**20, most))


def _judge(pipe: Connection, folder: Path, root: Path, limits: Limits, seed: int, sandbox: str) -> None:
    """Grade notebooks until there are no more. Control-C is the business of the process that started this one.

    Its memory is limited, too: a student's SQL runs here, in a database in memory.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory()
    os.environ[progress.VARIABLE] = "off"
    process_tree.adopt_orphans()
    sandbox = sandbox or runner.sandbox_here()
    while True:
        try:
            submission, lab = pipe.recv()
        except (EOFError, OSError):  # the process that started this one has ended, or needs no more
            return
        try:
            story = runner.run(submission, lab, folder, root, limits, seed, sandbox)
        except Exception as error:
            story = Story(end=f"grading it stopped with {type(error).__name__}: {error}"[:300], sandbox=sandbox)
        with contextlib.suppress(OSError):
            pipe.send(story)
