"""List the promises that break if one of four faults strikes, at each step of a run: "what if it broke here?"."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from kafkalab.explore.anomalies import FAILED, allowed_in, parse_names
from kafkalab.explore.experiment import run_to_end, shown_in
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash, Restart
from kafkalab.history.operations import operations_of
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, topic_of
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.run.run import Run
from kafkalab.sim.kernel.kernel import no_collections
from kafkalab.sim.outcome import NOTHING
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Event

CLIENT, COORDINATOR, LEADER, FRAME = "crash of the client", "crash of the coordinator", "crash of the leader", "loss"
DOWN_MS = 20_000
CLEAN = "clean"
TIMES = ("never", "once", "twice")
"""The words for the number of copies of a record in its topic at the end."""
OF_RECORDS = ("duplicate", "lost-write")
"""The anomalies by which a record is there twice, or never."""
SEEN = ("send", "append", "truncate", "complete")
"""The events that outlast a crash: frames, logs, answers to programs. What a node has only received is lost."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The outcome of the run if a fault of this `kind` happens right after `step`.

    `verdict` is "clean", or names the anomalies; `outcome` is what became of the transactions then: see
    `Run.outcome`. In a run without transactions it is how often each record is in the log, "never", "once" or
    "twice", and `allowed` names the anomalies of records that Kafka allows. `same_as` is the step whose run this is,
    because nothing that matters lies between the two.
    """

    step: int
    kind: str
    faults: tuple[Fault, ...]
    verdict: str
    outcome: str
    allowed: str
    same_as: int

    @property
    def broken(self) -> bool:
        """True if a promise breaks."""
        return self.verdict != CLEAN


def what_if(scenario: Scenario, stop: Callable[[], bool] | None = None) -> dict[str, list[WhatIf]]:
    """Return for each of the four faults one verdict for each step after the set-up, in the order of steps.

    The client is that of the first program; the coordinator is that of its transactional id, the leader that of the
    partition to which its latest record went, both as the run has them. A crash is the same until the node sends a
    frame, changes a log, or completes a call, so each node is crashed once after each of these. A loss belongs to the
    step at which a frame is sent. `stop` is asked before each run; where it returns True, what is missing is
    left out.
    """
    run, end = run_to_end(scenario)
    found: dict[str, list[WhatIf]] = {CLIENT: [], COORDINATOR: [], LEADER: [], FRAME: []}
    runs: dict[tuple[Fault, ...], _Fate] = {}
    records = _collect_sent(run) if run.outcome().verdict == NOTHING else ()
    base = _fate(run, end, records)
    appends = _coordinators(run), _leaders(run)
    for event in run.trace.events[run.start :]:
        for kind, faults, same_as in _faults_by_kind(run, event, *appends):
            if faults not in runs:
                if stop is not None and stop():
                    return found
                runs[faults] = _of(scenario.with_faults(*faults), records) if faults else base
            found[kind].append(WhatIf(event.step, kind, faults, *runs[faults], same_as))
    return found


Record = tuple[str, str | None]  # topic, value


class _Fate(NamedTuple):
    """The outcome of a run: see the fields of `WhatIf`."""

    verdict: str
    outcome: str
    allowed: str = ""


def _fate(run: Run, end: str, records: Collection[Record]) -> _Fate:
    """Judge a run: by how often `records` are in the logs where there are any, else by its transactions."""
    names = tuple(name for name in parse_names(()) if name != FAILED)
    run, findings = shown_in(run, end, names)
    anomalies = dict.fromkeys(f.anomaly for f in findings)
    verdict = ", ".join(anomalies) or CLEAN
    if not records:
        return _Fate(verdict, str(run.outcome().verdict))
    allowed = dict.fromkeys(f.anomaly for f in allowed_in(run, OF_RECORDS))
    return _Fate(verdict, _times(run, records), ", ".join(allowed))


def _collect_sent(run: Run) -> list[Record]:
    """Return the records that programs have sent, each once."""
    sends = [o for o in operations_of(run.trace) if o.function == "send" and o.invocation < 0]
    return list(dict.fromkeys((topic_of(send.key), send.value) for send in sends))


def _times(run: Run, records: Collection[Record]) -> str:
    """Return how often the records are in the leaders' logs: "once" if each is there once, else as "some twice"."""
    there: list[Record] = []
    logs = run.logs or {}
    for partition in run.cast.metadata.partitions:
        log = logs.get(partition) if topic_of(partition) in run.cast.topics else None
        there += [(topic_of(partition), r.value) for batch in (log.batches if log else ()) for r in batch.records]
    counts = sorted({there.count(record) for record in records})
    words = [TIMES[n] if n < len(TIMES) else f"{n} times" for n in counts]
    return words[0] if len(words) == 1 else ", ".join(f"some {word}" for word in words if word != TIMES[1])


@no_collections()
def _of(scenario: Scenario, records: Collection[Record]) -> _Fate:
    run, end = run_to_end(scenario)
    fate = _fate(run, end, records)
    run.discard()
    return fate


def _faults_by_kind(
    run: Run, event: Event, coordinators: list[Event], leaders: list[Event]
) -> Iterator[tuple[str, tuple[Fault, ...], int]]:
    """The four faults right after an event; no faults where there is nothing to strike."""
    nodes = {
        CLIENT: next(iter(run.cast.clients), ""),
        COORDINATOR: _writer(coordinators, event.step),
        LEADER: _writer(leaders, event.step),
    }
    for kind, node in nodes.items():
        last = _crash_after(run, node, event.step) if node else None
        if last is None:
            yield kind, (), event.step
            continue
        crash = Crash(node, at_step=last.step, sent=True)
        restart = () if kind == CLIENT else (Restart(node, at_ms=last.at_ms + DOWN_MS),)
        yield kind, (crash, *restart), last.step
    yield FRAME, (Drop(event.frame),) if event.kind == "send" else (), event.step


def _crash_after(run: Run, node: str, step: int) -> Event | None:
    """The last event of the node up to `step` that outlasts a crash, else its first one; None before that."""
    events = run.trace.events
    own = [events[number] for number in range(step, run.start - 1, -1) if events[number].node == node]
    return next((e for e in own if e.kind in SEEN), own[-1] if own else None)


def _coordinators(run: Run) -> list[Event]:
    """The appends of transaction records by coordinators."""
    return _appends(run, lambda e: topic_of(e.name) == TRANSACTION_TOPIC and isinstance(_value(e), Txn))


def _leaders(run: Run) -> list[Event]:
    """The appends to the scenario's topics by leaders."""
    return _appends(run, lambda e: topic_of(e.name) in run.cast.topics)


def _value(event: Event) -> object:
    return event.data.records[0].value if event.data.records else None


def _appends(run: Run, wanted: Callable[[Event], bool]) -> list[Event]:
    appends = (e for e in run.trace.events[run.start :] if e.kind == "append")
    return [e for e in appends if wanted(e) and _leads(run, e)]


def _writer(appends: list[Event], step: int) -> str:
    """The node of the latest append up to `step`, else of the first one after it; "" if there is none."""
    number = bisect_right(appends, step, key=attrgetter("step"))
    return appends[max(number - 1, 0)].node if appends else ""


def _leads(run: Run, event: Event) -> bool:
    """Return True if an append is the leader's own: a follower's is caused by an answer to its fetch."""
    cause = run.trace.events[event.cause] if event.cause >= 0 else None
    return cause is None or cause.name != "ReplicaFetchResponse"
