"""Runs what is due, node by node, records every event, and says when a run has ended. It knows no Kafka."""

from __future__ import annotations

import gc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from kafkalab.client.promise import Promise
from kafkalab.limits import list_names
from kafkalab.sim.kernel.schedule import Entry, Schedule
from kafkalab.sim.kernel.task import Node, Task, no_requests
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.trace import Event, Frame, Trace

LIMIT = 200_000
IDLE_MS = 1_200_000
IDLE_ENTRIES = 20_000
QUIET = frozenset(("send", "receive", "timer"))
_made = tuple.__new__  # of an event: a call of its class takes twice as long
OBJECTS = 10_000
"""The garbage collector's generation-0 threshold during a run; Python's own is 700 in 3.11."""


class Kernel:
    """Virtual time, the nodes, their tasks, and the trace.

    `interrupts` holds by step what happens right after that event, before anything else; `interrupted` says whether
    any has. `watch` is called after each event that is kept, before its interrupts, and may only read.
    `disk` holds by name what programs keep outside the nodes: no crash takes it.
    """

    def __init__(self, keep: bool, title: str) -> None:
        self.trace = Trace(keep=keep, title=title)
        self.schedule = Schedule()
        self.nodes: dict[str, Node] = {}
        self.disk: dict[str, object] = {}
        self.interrupts: dict[int, list[Callable[[], None]]] = {}
        self.interrupted = False
        self.watch: Callable[[], None] | None = None
        self._tasks: list[Task] = []
        self._driving = False
        self._idle_entries = 0
        self._began_ms, self._cut_short = 0, False

    @property
    def now(self) -> int:
        """Milliseconds of virtual time since the run began."""
        return self.schedule.now

    def add_node(self, name: str, receive: Callable[[Frame], None] = no_requests) -> Node:
        """Start a process; `receive` handles the requests sent to it."""
        node = self.nodes[name] = Node(name, receive)
        return node

    def running(self, node: str, incarnation: int = -1) -> bool:
        """Return whether the node is alive and in that incarnation (-1 for any)."""
        found = self.nodes[node]
        return found.alive and (incarnation == -1 or incarnation == found.incarnation)

    def record(self, node: str, kind: str, name: str, cause: int, data: Any, frame: str = "") -> int:
        """Append one event to the trace, let its interrupts happen, and return its step; of a full trace its last."""
        trace = self.trace
        step = trace.steps
        if trace.full:
            if self.watch is not None:
                self.watch()
            return step - 1
        trace.steps = step + 1
        if kind not in QUIET and name != "timeout":
            self._idle_entries = 0
        if trace.keep:
            trace.events.append(_made(Event, (step, self.schedule.now, node, kind, name, cause, frame, data)))
            if self.watch is not None:
                self.watch()
        if step in self.interrupts:
            self.interrupted = True
            for action in self.interrupts.pop(step):
                action()
        return step

    def timer(self, node: str, delay_ms: int, action: Callable[[], None], background: bool = False) -> None:
        """Do `action` on the node after `delay_ms`, unless its present incarnation ends before."""
        schedule = self.schedule
        schedule.at(schedule.now + delay_ms, node, self.nodes[node].incarnation, action, background)

    # tasks

    def promise(self) -> Promise[Any]:
        """Return a promise that a notebook cell can await."""
        return Promise(self._run_until)

    def drive(self, node: str, coroutine: Coroutine[Any, Any, Any], main: bool = False) -> Promise[Any]:
        """Run a coroutine on a client node; return the promise of its result. A run waits for `main` tasks."""
        task = Task(self.schedule, self.nodes[node], coroutine, self.promise(), main)
        if not task.live:
            coroutine.close()  # the node died in this very moment: nothing of it will run
            return task.result
        self._tasks.append(task)
        self.schedule.at(self.now, node, task.incarnation, task.resume)
        return task.result

    def close(self) -> None:
        """End every task. The run can be looked at, but not continued."""
        for task in self._tasks:
            task.coroutine.close()

    def _live_tasks(self) -> list[Task]:
        for task in self._tasks:
            if not task.live:
                task.coroutine.close()
        self._tasks = [t for t in self._tasks if not t.result.done and t.live]
        return self._tasks

    # running

    def run(self, limit: int, busy: Callable[[], bool]) -> None:
        """Run until every main task has ended and nothing is left to do; `busy` says whether servers will still act.

        Servers that repeat the same for ever, such as a coordinator whose markers a leader refuses, do not keep the run
        from ending: once the main tasks have ended it lasts another 20,000 to 40,000 entries at most.

        Idleness is measured from the beginning of this run, or of the one that it goes on with because that one came
        to its limit: what a run that ended waited for in vain does not count.
        RunawayError after `limit` entries of the schedule; StuckError if a task waits and nothing changes any more.
        """
        if not self._cut_short:
            self._idle_entries, self._began_ms = 0, self.now
        self._cut_short = True
        with few_collections(), self._at_work():
            self._run_to_the_end(limit, busy)
        self._cut_short = False
        waiting = [t.node.name for t in self._live_tasks() if t.main]
        if waiting:
            raise StuckError(
                f"{', '.join(waiting)} still waits, but nothing happens any more; the last events:\n{self.trace.tail()}"
            )

    def _run_to_the_end(self, limit: int, busy: Callable[[], bool]) -> None:
        schedule, attended = self.schedule, True
        for number in range(1, limit + 1):
            may_end = not schedule.foreground or self._idle_entries > IDLE_ENTRIES
            if may_end and (not len(schedule) or self._at_rest(busy)):
                return
            self._do(schedule.pop())
            if number % IDLE_ENTRIES == 0:
                before, attended = attended, bool(self._running())
                if not before:
                    return
        running = self._running()
        who = f": {list_names(running)} {'go' if len(running) > 1 else 'goes'} on" if running else ""
        raise RunawayError(f"the run did not end within {limit} steps{who}; the last events:\n{self.trace.tail()}")

    def _running(self) -> list[str]:
        """Return the nodes of the main tasks that have not ended."""
        return [task.node.name for task in self._tasks if task.main and task.live and not task.result.done]

    def run_for(self, duration_ms: int, limit: int, node: str) -> None:
        """Advance the clock by `duration_ms`, even if the run is idle. `node` is one that never pauses."""
        until = self.now + duration_ms
        self.schedule.at(until, node, -1, lambda: None, True)
        with self._at_work():
            for _ in range(limit):
                self._do(self.schedule.pop())
                if self.now >= until:
                    return
        raise RunawayError(f"more than {limit} steps in {duration_ms} ms; the last events:\n{self.trace.tail()}")

    def catch_up(self, now_ms: int) -> None:
        """Do all that is due up to `now_ms`, as another clock has it, and move this one there; never back."""
        schedule = self.schedule
        while 0 <= schedule.next_ms <= now_ms:
            self._do(schedule.pop())
        schedule.advance(max(now_ms - schedule.now, 0))

    def _run_until(self, promise: Promise[Any]) -> bool:
        """Drive the nodes from a notebook cell; False inside a program, where the simulator drives already."""
        if self._driving:
            return False
        began_ms = self.now
        with self._at_work():
            for _ in range(LIMIT):
                if promise.done:
                    return True
                if not len(self.schedule) or self.now - max(self.schedule.worked_ms, began_ms) > IDLE_MS:
                    raise StuckError(f"the answer never comes; the last events:\n{self.trace.tail()}")
                self._do(self.schedule.pop())
        raise RunawayError(f"no answer within {LIMIT} steps; the last events:\n{self.trace.tail()}")

    def _do(self, entry: Entry) -> None:
        _, name, incarnation, action = entry
        node = self.nodes[name]
        self._idle_entries += 1
        if incarnation != node.incarnation and incarnation != -1:
            return
        if node.paused:
            node.inbox.append(action)
            return
        action()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Within, the simulator drives: a promise that a program waits for must not drive it a second time."""
        before, self._driving = self._driving, True
        try:
            yield
        finally:
            self._driving = before

    def _at_rest(self, busy: Callable[[], bool]) -> bool:
        if self._idle_entries > IDLE_ENTRIES:
            return True  # frames fly, but nothing has changed for long: nothing will
        if self.schedule.foreground:
            return False
        if self.now - max(self.schedule.worked_ms, self._began_ms) > IDLE_MS:
            return True
        return not self._live_tasks() and not busy()


@contextmanager
def few_collections() -> Iterator[None]:
    """Within, collect garbage less often: a run leaves hardly any cycles behind. Not at all where that is off."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def no_collections() -> Iterator[None]:
    """Within, collect no garbage: for a run whose parts are discarded at its end (`Cluster.discard`)."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
