"""One run of a cell: an application in processes of its own, brokers of the lab in this one, and one fault."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kafkalab.checks.all import check_all
from kafkalab.checks.check import FORBIDDEN
from kafkalab.checks.exactly_once import DUPLICATED, LOST, ONCE, effects
from kafkalab.checks.view import view_of
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Late
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_UNCOMMITTED
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.records import Batch, Record
from kafkalab.testing.causes import find_causes
from kafkalab.testing.kafka_lab import KafkaLab
from kafkalab.testing.record import TopicRecord
from kafkalab.trace import Trace
from tests.scorecard.cells import Observed, Setting
from tests.scorecard.processor import FENCED, PREFIX, SOURCE, TARGET
from tests.wire.connection import Connection

REQUEST_MS, LONGEST_MS = 2_000, 10_000
"""The clients' timeouts: of a request, and the longest, of a call, a delivery and a transaction."""
HANG_S = 2 * LONGEST_MS / 1000
CLOSE_S, LOOK_S = 5.0, 0.05
START_S = 60.0
"""The time that a process has for its first request: how long a JVM takes to start says nothing of a client."""
DOWN_MS = 10_000
"""The time by which the brokers' clocks go forward while an application that ended is down: its session expires."""
MOST_BEGINS = 4
MOST_EVENTS = 1_000_000
"""Java's producer asks for its coordinator 3,000 times a second while that broker is down."""
OWN_FRAMES = "scorecard"
EXACTLY_ONCE = "exactly-once"
ENVIRONMENT = {"CLIENT_REQUEST_MS": str(REQUEST_MS), "CLIENT_LONGEST_MS": str(LONGEST_MS)}


class Plot(NamedTuple):
    """The inputs of each transaction of the first process, and of the one that takes its place after them."""

    stages: tuple[tuple[str, ...], ...] = (("1", "2"), ("3", "4"))
    last: tuple[str, ...] = ("5",)


FULL = Plot()


class Brokers(Protocol):
    """The brokers under an application: the lab's, or a running Kafka's."""

    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def trace(self) -> Trace: ...
    def advance(self, ms: int) -> None: ...
    def leader_of(self, partition: str) -> str: ...
    def values(self, topic: str, isolation_level: str) -> list[str | None]: ...


Command = Callable[[str], Sequence[str]]
"""Returns the command that starts the application with these bootstrap servers."""


def processor_of(client: str) -> Command:
    """Return the command of a client's application."""
    return lambda servers: (sys.executable, "-W", "ignore", "-m", "tests.scorecard.processor", client, servers)


@dataclass
class Run:
    """A run under way: the brokers, the application, and what was seen so far."""

    lab: Brokers
    command: Command
    log: Path
    hang_s: float = HANG_S
    prefix: str = ""
    app: subprocess.Popen[bytes] | None = None
    inputs: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    begins: int = 0
    planned: int = 1
    _start_step: int = 0
    _asked: bool = False
    _deadline: float = 0.0

    def follow(self, plot: Plot) -> bool:
        """Run the whole plot; return False if an input never gets its output. No process is left."""
        try:
            self.start()
            finished = all(self.process(values) for values in plot.stages)
            self.stop()
            if finished and plot.last:
                self.planned += 1
                self.start()
                finished = self.process(plot.last)
                self.stop()
        finally:
            self.kill()
        return finished

    def start(self) -> None:
        """Start a process of the application; what it complains of goes into the log."""
        self.begins += 1
        self._start_step, self._asked, self._deadline = self.lab.trace.steps, False, time.monotonic() + START_S
        with self.log.open("ab") as log:
            self.app = subprocess.Popen(
                self.command(self.lab.bootstrap_servers), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                stderr=log, env={**os.environ, **ENVIRONMENT, PREFIX: self.prefix}, process_group=0,
            )  # fmt: skip

    def stop(self) -> None:
        """Ask the process to end; kill it if it does not, and let its session expire."""
        assert self.app is not None
        assert self.app.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.app.stdin.close()
        try:
            status = self.app.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            status = -1
        self.kill()
        if status:
            self.lab.advance(DOWN_MS)
        self.app = None

    def kill(self) -> None:
        """End the process now, and the one of a client in another language: it would stay a member of the group."""
        if self.app is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.app.pid, signal.SIGKILL)
            self.app.wait()
            assert self.app.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self.app.stdin.close()

    def has_asked(self) -> bool:
        """Return True if the process has sent a request."""
        if not self._asked:
            frames = [f for f in list(self.lab.trace.frames.values()) if f.sent_step >= self._start_step]
            self._asked = any(f.client not in ("", OWN_FRAMES) for f in frames)
        return self._asked

    def replace(self) -> None:
        """Start a process in the place of one that has ended or hangs."""
        self.kill()
        self.lab.advance(DOWN_MS)
        self.start()

    def process(self, values: Sequence[str]) -> bool:
        """Append inputs, and wait until all inputs have a committed output; return False if they never will."""
        self.put(values)
        known, tries = self.find_done(), 0
        if self._asked:
            self._deadline = time.monotonic() + self.hang_s
        while not known.issuperset(self.inputs):
            time.sleep(LOOK_S)
            now, asked_before = self.find_done(), self._asked
            if now != known or (self.has_asked() and not asked_before):
                known, self._deadline = now, time.monotonic() + self.hang_s
            assert self.app is not None
            status = self.app.poll()
            hung = status is None and time.monotonic() > self._deadline
            if status is None and not hung:
                continue
            if hung:
                self.waits.append(self.describe_wait())
            elif status != FENCED:
                self.ends.append(self.describe_end())
            tries += 1
            if tries >= MOST_BEGINS or len(self.waits) > 1:
                return False
            self.replace()
        return True

    def put(self, values: Sequence[str]) -> None:
        """Append inputs as one plain batch; try again until the log has it, since a broker may be down."""
        until = time.monotonic() + self.hang_s
        while values[0] not in self.values(SOURCE) and not self._append(values) and time.monotonic() < until:
            time.sleep(LOOK_S)
        self.inputs += values

    def _append(self, values: Sequence[str]) -> bool:
        """Append inputs; return True if the leader has acknowledged them."""
        source = f"{self.prefix}{SOURCE}-0"
        leader = self.lab.leader_of(source)
        if not leader:
            return False
        batch = Batch(records=tuple(Record(None, v) for v in values), timestamp_ms=time.time_ns() // 1_000_000)
        body = Produce(transactional_id=None, acks=-1, timeout_ms=REQUEST_MS, batches={source: batch})
        try:
            with Connection(self.lab.bootstrap_servers, int(leader[1:]), OWN_FRAMES) as connection:
                answer = connection.ask(body, 9)
        except OSError:
            return False
        return bool(answer.partitions[source].error is Error.NONE)

    def values(self, topic: str, isolation: str = READ_UNCOMMITTED) -> list[str | None]:
        """Return the values of a topic; [] while no broker has its log."""
        try:
            return self.lab.values(self.prefix + topic, isolation)
        except ValueError:
            return []

    def find_done(self) -> set[str | None]:
        """Return the inputs that have a committed output."""
        return set(self.values(TARGET, "read_committed"))

    def describe_wait(self) -> str:
        """Return what the application asked last, but for what it asks while it is idle."""
        idle = ("Fetch", "Heartbeat", "Metadata", "ApiVersions")
        frames = [f for f in list(self.lab.trace.frames.values()) if f.client not in ("", OWN_FRAMES)]
        told = [f.name_at_client for f in frames if f.name.removesuffix("Response") not in idle]
        return f"nothing goes on after {told[-1] if told else 'its start'}"

    def describe_end(self) -> str:
        """Return the last line of what the process complained of."""
        lines = self.log.read_text("utf-8", "replace").strip().splitlines()
        return lines[-1][:200] if lines else "no message"


def by_value(record: TopicRecord) -> bytes | None:
    """Return the identity of an input and of its output."""
    return record.value


def run_cell(
    setting: Setting,
    faults: Sequence[Fault],
    folder: Path,
    command: Command | None = None,
    save: Path | None = None,
    hang_s: float = HANG_S,
    look: Callable[[KafkaLab], Any] | None = None,
    plot: Plot = FULL,
) -> Observed:
    """Run the application under the faults; return what the brokers' own history says of it.

    `look` is called with the lab at the end. The application's complaints are in `folder`/application.log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "application.log"
    log.unlink(missing_ok=True)
    topics = {SOURCE: 1, TARGET: 1}
    settings = {"transaction_abort_cleanup_interval_ms": 1_000, "most_events": MOST_EVENTS}
    with KafkaLab(setting.brokers, setting.level, topics, allow_unused_faults=True, **settings) as lab:
        lab.pipeline(SOURCE, TARGET, by_value, by_value)
        for fault in faults:
            lab.strike(fault)
        run = Run(lab, command or processor_of(setting.client), log, hang_s)
        finished = run.follow(plot)
        if look is not None:
            look(lab)
        if save is not None:
            save.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(ValueError):
                lab.save(save)
        return observe(run, lab, finished)


def seen_by(run: Run, finished: bool, unused: Sequence[object]) -> dict[str, Any]:
    """Return what is known of a run without its brokers' history, as fields of `Observed`."""
    sent = {name for frame in list(run.lab.trace.frames.values()) for name in (frame.id, frame.name_at_client)}
    held = any(isinstance(fault, Late) and fault.frame in sent for fault in unused)
    fenced = run.begins - run.planned - len(run.ends) - len(run.waits)
    return {
        "struck": not unused, "held": held, "ends": tuple(run.ends), "waits": tuple(run.waits), "finished": finished,
        "begins": 1 + max(fenced, 0),
    }  # fmt: skip


def observe(run: Run, lab: KafkaLab, finished: bool) -> Observed:
    """Return what a run that has ended showed, by the history of its brokers."""
    seen = seen_by(run, finished, lab.unused_faults)
    try:
        history = lab.history()
    except (RuntimeError, ValueError) as error:
        return Observed(**seen, broken=str(error))
    view = view_of(history)
    rows = [row for row in effects(view) if row.key == f"{SOURCE}-0"]
    if [row.value for row in rows] != run.inputs:
        return Observed(**seen, broken=f"the inputs in the log are {[row.value for row in rows]}, not {run.inputs}")
    by_fate = {fate: tuple(r.value for r in rows if r.verdict == fate) for fate in (DUPLICATED, LOST)}
    undecided = tuple(row.value for row in rows if row.verdict not in (ONCE, DUPLICATED, LOST))
    findings = [f for f in check_all(history).findings if f.policy == FORBIDDEN]
    others = tuple(name for name in dict.fromkeys(f.anomaly for f in findings) if name != EXACTLY_ONCE)
    wrong = [f for f in findings if f.anomaly == EXACTLY_ONCE]
    proved = [cause.text for cause in find_causes(view, lab.trace) if any(map(cause.explains, wrong))]
    causes = tuple(dict.fromkeys(proved))
    return Observed(
        **seen, duplicated=by_fate[DUPLICATED], lost=by_fate[LOST], undecided=undecided, anomalies=others, causes=causes
    )
