"""The process in which one student's notebook runs, as the grader holds it: started, asked, watched and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.grading import bubblewrap, process_tree, progress, seeds
from kafkalab.grading.channel import Channel
from kafkalab.grading.values import UnreadableError

START_S = 120
"""The time that a process may take before the first cell: Python, IPython and kafkalab are loaded."""
LOOK_EVERY_S, WEIGH_EVERY_S, END_S = 0.05, 0.2, 5
PATIENCE = 4
"""The seconds that may pass for each second of processor time that a notebook, or one question, may take."""
WAIT_S = 20
"""The time that may pass beside that: on a busy machine every answer is late."""
PROCESSES_MAX = 64


class EndedError(BaseException):
    """The process is of no use any more; the message says why. No check may catch it as an error of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The environment of a notebook's process: `readable` folders, what it must not see, its limits and its seed."""

    readable: tuple[Path, ...]
    hidden: tuple[Path, ...]
    time_s: int
    memory_mb: int
    seed: int
    spark: bool = False
    wall_s: int = 0
    """The time that the notebook may take by the clock; 0 for PATIENCE times its processor time, and WAIT_S."""


class Learner:
    """One notebook's process. `own` is its folder, and `inputs` the folder in which it finds what the grader gives."""

    def __init__(self, place: Place, folder: Path, sandbox: str) -> None:
        self.place, self.sandbox = place, sandbox
        self.host, self.own = folder, bubblewrap.OWN if sandbox == bubblewrap.NAME else folder
        self.left_s = float(place.time_s)
        self._wall_s = float(place.wall_s or PATIENCE * place.time_s + WAIT_S)
        self._until = self._weigh_at = 0.0
        self._cpu_until = float("inf")
        self._cpu, self._cpu_at = 0.0, 0.0
        self._limit = ""
        self._heavy = False
        self._before = process_tree.members(os.getpid())
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours, self._look, LOOK_EVERY_S)
        with theirs:
            self.process = self._start(theirs.fileno())

    @property
    def inputs(self) -> Path:
        """The folder, as the grader sees it, which the notebook's process can read as `self.own / "inputs"`."""
        return self.host / "inputs"

    def _start(self, descriptor: int) -> subprocess.Popen[bytes]:
        for below in ("labs", "tmp", "home", "inputs"):
            (self.host / below).mkdir()
        command = [sys.executable, "-m", "kafkalab.grading.worker", str(descriptor)]
        cwd = self.host / "labs"
        if self.sandbox == bubblewrap.NAME:
            command, cwd = bubblewrap.command(self.place.readable, self.place.hidden, self.inputs) + command, self.host
        elif self.place.readable and self.place.readable[0].is_dir():
            (self.host / "data").symlink_to(self.place.readable[0])
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(descriptor,),
            start_new_session=True,
        )

    def _environment(self) -> dict[str, str]:
        """Return the process's environment: of the grader's own only where programs lie, and the language."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "JAVA_HOME") if name in os.environ}
        return kept | {
            "HOME": str(self.own / "home"),
            "TMPDIR": str(self.own / "tmp"),
            "IPYTHONDIR": str(self.own / "home" / "ipython"),
            "SPARK_LOCAL_DIRS": str(self.own / "tmp"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={self.own / 'tmp'} -XX:-UsePerfData",
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            seeds.VARIABLE: str(self.place.seed),
            progress.VARIABLE: "off",
        }

    def enter(self) -> None:
        """Wait until the process has shut itself in; only then anything of the notebook runs."""
        job = {
            "do": "enter",
            "folder": str(self.own),
            "readable": [str(path) for path in self.place.readable],
            "hidden": [str(path) for path in self.place.hidden],
            "memory_mb": self.place.memory_mb,
            "time_s": self.place.time_s,
            "kernel": self.sandbox != bubblewrap.NAME,
            "spark": self.place.spark,
        }
        self._until = time.monotonic() + START_S
        self._limit = f"{START_S} s to start"
        self.send(job)
        self.receive()

    @contextlib.contextmanager
    def limit_grading(self, most_s: float) -> Iterator[None]:
        """Within, the process works for the grader: `most_s` of processor time, and its whole time at most."""
        began, used = time.monotonic(), self._cpu_s()
        try:
            with self._within(min(most_s, self.left_s)):
                yield
        finally:
            self._wall_s -= time.monotonic() - began
            self.left_s -= max(0.0, self._cpu_s() - used)

    @contextlib.contextmanager
    def _within(self, seconds: float) -> Iterator[None]:
        """Within, the process may take so much processor time, and by the clock PATIENCE times that, and WAIT_S."""
        before = self._until, self._cpu_until, self._limit
        whole = seconds >= self.left_s
        self._limit = f"{self.place.time_s if whole else seconds:g} s of processor time"
        if seconds <= 0:
            raise EndedError(f"it was stopped after {self._limit}")
        self._until = time.monotonic() + min(PATIENCE * seconds + WAIT_S, self._wall_s)
        self._cpu_until = self._cpu_s() + seconds
        try:
            yield
        finally:
            self._until, self._cpu_until, self._limit = before

    def _cpu_s(self) -> float:
        """Return the processor time that the process and all that it has started have taken, WEIGH_EVERY_S ago at most.

        A check asks thousands of questions; to look through all processes takes longer than most answers.
        """
        now = time.monotonic()
        if now >= self._cpu_at + WEIGH_EVERY_S:
            self._cpu = process_tree.cpu_s([self.process.pid, *process_tree.members(self.process.pid)])
            self._cpu_at = now
        return self._cpu

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; EndedError if the process is gone."""
        try:
            self.channel.send(message)
        except OSError:
            raise EndedError(self._why()) from None

    def receive(self) -> dict[str, Any]:
        """Return the process's next message; EndedError if there is none, or what comes is no message."""
        try:
            return self.channel.receive()
        except EOFError:
            raise EndedError(self._why()) from None
        except UnreadableError as error:
            raise EndedError(f"it was stopped: {error}") from None

    def _look(self) -> None:
        """EndedError if the process has taken too long, too much memory, or has started too many others.

        Memory counts that it has at two looks in a row: for the moment in which Java starts a command, its memory seems
        to be there twice.
        """
        now = time.monotonic()
        if now > self._until:
            raise EndedError(f"it was stopped: it waited, and was given {self._limit} and more by the clock")
        if now < self._weigh_at:
            return
        if self._cpu_s() > self._cpu_until:
            raise EndedError(f"it was stopped after {self._limit}")
        others = process_tree.members(self.process.pid)
        others = others[1:] if self.sandbox == bubblewrap.NAME else others  # bubblewrap's own, beside the notebook's
        before, self._heavy = self._heavy, self._memory_mb(others) > self.place.memory_mb
        if before and self._heavy:
            them = _all_of(self._count_started(others))
            raise EndedError(f"it was stopped: {them} took more than {self.place.memory_mb} MB of memory")
        if len(others) > PROCESSES_MAX:
            raise EndedError(f"it was stopped: it had started more than {PROCESSES_MAX} processes")
        self._weigh_at = now + (LOOK_EVERY_S if self._heavy else WEIGH_EVERY_S)

    def _count_started(self, others: list[int]) -> int:
        return len(others) - 1 if self.sandbox == bubblewrap.NAME else len(others)

    def _memory_mb(self, others: list[int]) -> float:
        return process_tree.memory_mb([self.process.pid, *others])

    def _why(self) -> str:
        """Return how the process ended."""
        try:
            status = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            return "it was stopped: it does not answer any more"
        if self.sandbox == bubblewrap.NAME and status > 128:
            status = 128 - status
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"its process was ended by {signal.Signals(-status).name}"
        return f"it ended its own process, with status {status}"

    def end(self) -> None:
        """Kill the process and all that it has started."""
        self.channel.end.close()
        if self.sandbox == bubblewrap.NAME:
            self.process.kill()  # all that is in its name space ends with it
            self.process.wait()
            return
        process_tree.end(self.process.pid, f"HOME={self.own / 'home'}", alive=self.process.poll() is None)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self.process.kill()
        self.process.wait()
        process_tree.end(os.getpid(), alive=False, spare=self._before)  # what it has left behind is the grader's child


@contextlib.contextmanager
def learner(place: Place, sandbox: str) -> Iterator[Learner]:
    """Start a notebook's process in a temporary folder; within, it is there. Afterwards nothing of it is left."""
    with tempfile.TemporaryDirectory(prefix="kafkalab-", ignore_cleanup_errors=True) as folder:
        found = Learner(place, Path(folder).resolve(), sandbox)
        try:
            found.enter()
            yield found
        finally:
            found.end()


def _all_of(others: int) -> str:
    if not others:
        return "it"
    return f"it and the {others} processes that it had started" if others > 1 else "it and the process that it started"
