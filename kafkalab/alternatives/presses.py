"""The same transaction and the same press on four machines: a crash at a moment that all of them have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from kafkalab.alternatives.broadcast import SERVERS, broadcast
from kafkalab.alternatives.broadcast import Server as ZabServer
from kafkalab.alternatives.mvcc import Server, mvcc
from kafkalab.alternatives.two_phase_commit import DECISIONS, Participant, two_phase_commit
from kafkalab.alternatives.world import Entry, Strike, World
from kafkalab.faults.node import Crash, Restart
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, topic_of
from kafkalab.run.run import Cast, Run, Simulator
from kafkalab.run.source import run_of
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Event, Trace

MODELS = ("Kafka", "two-phase commit", "MVCC", "atomic broadcast")
MOMENTS = ("written", "asked", "prepared", "decided", "told")
"""All has been written; commit has been asked for; all is ready for the decision; it is made; one part knows it."""
WHO = ("coordinator", "told", "other")
"""The process that decides; the part that is told the decision first; another part."""
AGAIN_MS = 120_000
"""The time at which crashed processes start again, if they do."""
NO_SCENARIO = "this model is no cluster: no scenario makes its run"
Press = tuple[str, str]
"""The process that crashes, and the moment right after which it does."""


@dataclass(frozen=True)
class Transfer:
    """The run of the transaction on one machine, and its outcome.

    `parts` says of each part: committed, aborted, in doubt, or down. `moments` are the steps at which they came. `told`
    is what the client knows: committed, aborted, unknown.
    """

    model: str
    run: Run
    moments: dict[str, int]
    parts: dict[str, str]
    told: str
    strikes: tuple[Strike, ...] = ()
    world: World | None = field(default=None, repr=False)

    @property
    def trace(self) -> Trace:
        """The trace of its run."""
        return self.run.trace

    @property
    def nodes(self) -> tuple[str, ...]:
        """The processes: clients, and what serves them."""
        return (*self.run.cast.clients, *self.run.cast.brokers)

    @property
    def cluster(self) -> Simulator | None:
        """The cluster, of Kafka."""
        return self.run.cluster

    @property
    def waiting(self) -> tuple[str, ...]:
        """The parts that live and still wait for the decision at the end."""
        return tuple(name for name, state in self.parts.items() if state == "in doubt")


def run(
    model: str, presses: Sequence[Press] = (), again: bool = False, refuses: bool = False, seed: int = 1, parts: int = 2
) -> Transfer:
    """Run one machine with these crashes, to its end.

    With `again` the crashed processes start again after two minutes. With `refuses` the transaction is to be aborted:
    a participant votes no, or the client rolls back. `parts` is the number of two-phase commit's participants.
    ValueError for a machine, a process or a moment that does not exist.
    """
    if model not in MODELS:
        raise ValueError(f"no machine {model!r}; there are {', '.join(MODELS)}")
    for who, moment in presses:
        if who not in WHO or moment not in MOMENTS:
            raise ValueError(f"no press {(who, moment)!r}; there are {', '.join(WHO)}, and {', '.join(MOMENTS)}")
    return _run(model, tuple(presses), again, refuses, seed, parts)


@cache
def _run(model: str, presses: tuple[Press, ...], again: bool, refuses: bool, seed: int, parts: int) -> Transfer:
    """Find each press's step in the run with those before it, the earliest moment first."""
    done = _once(model, (), refuses, seed, parts)
    strikes: tuple[Strike, ...] = ()
    for who, moment in sorted(set(presses), key=lambda press: (MOMENTS.index(press[1]), WHO.index(press[0]))):
        if moment in done.moments:
            crash = _crash(done, who, moment)
            if crash is not None:
                strikes = (*strikes, crash)
                done = _once(model, strikes, refuses, seed, parts)
    if again and strikes:
        back = tuple(Restart(strike.node, at_ms=AGAIN_MS) for strike in strikes)
        done = _once(model, (*strikes, *back), refuses, seed, parts)
    return done


def crashed_at(model: str, step: int, again: bool = False, seed: int = 1) -> Transfer:
    """Run one machine whose coordinator and client crash right after a step; with `again` the first starts again."""
    node = _places(_once(model, (), False, seed, 2))["coordinator"]
    strikes: tuple[Strike, ...] = (Crash("app", at_step=step), Crash(node, at_step=step))
    if again:
        strikes = (*strikes, Restart(node, at_ms=AGAIN_MS))
    return _once(model, strikes, False, seed, 2)


def _crash(done: Transfer, who: str, moment: str) -> Crash | None:
    """The crash of this press: right after the moment; of the coordinator at "told" as the first message leaves."""
    place = _places(done)
    node = place[who]
    if not node:
        return None
    if who == "coordinator" and moment == "told":
        return Crash(node, at_step=_first_told(done), sent=True)
    return Crash(node, at_step=done.moments[moment])


def _places(done: Transfer) -> dict[str, str]:
    """Return which node each of `WHO` is."""
    if done.model == "MVCC":
        return {"coordinator": "db", "told": "", "other": ""}
    if done.model == "atomic broadcast":
        return {"coordinator": "s1", "told": "s2", "other": "s3"}
    if done.model == "two-phase commit":
        parts = [name for name in done.nodes if name.startswith("p")]
        return {"coordinator": "tc", "told": parts[0], "other": parts[-1]}
    return {"coordinator": "b3", "told": "b1", "other": "b2"}


def _first_told(done: Transfer) -> int:
    """The step at which the decision is sent for the first time."""
    names = {"Kafka": "WriteTxnMarkers", "two-phase commit": "Decide", "atomic broadcast": "Commit", "MVCC": "Done"}
    sent = (e for e in done.trace.events if e.kind == "send" and e.name == names[done.model])
    return next(e.step for e in sent if e.step > done.moments["decided"])


# the machines


def _once(model: str, strikes: tuple[Strike, ...], refuses: bool, seed: int, parts: int) -> Transfer:
    if model == "Kafka":
        return _kafka(strikes, refuses, seed)
    title = f"{model}: one transfer"
    world = World(title, seed, strikes)
    if model == "two-phase commit":
        two_phase_commit(world, parts, refuses)
    elif model == "MVCC":
        mvcc(world, refuses)
    else:
        broadcast(world)
    world.run()
    told = cast("Any", world.processes["app"]).answer
    found = _model_parts(model, world)
    moments = _moments(world.trace, FINDERS[model], parts)
    run = Run(trace=world.trace, cast=Cast(nodes=tuple(world.processes)), why=NO_SCENARIO)
    return Transfer(model, run, moments, found, told, strikes, world)


def _model_parts(model: str, world: World) -> dict[str, str]:
    if model == "MVCC":
        server = cast("Server", world.processes["db"])
        if not world.alive("db"):
            return dict.fromkeys(Server.rows, "down")
        rows = server.rows_seen(server.snapshot())
        return {row: "aborted" if rows[row] == 100 else "committed" for row in Server.rows}
    if model == "atomic broadcast":
        return {name: _zab_part(world, name) for name in SERVERS}
    found = {}
    for name, process in world.processes.items():
        if isinstance(process, Participant):
            words = {"commit": "committed", "abort": "aborted", "idle": "aborted"}
            found[name] = words.get(process.state, "in doubt") if world.alive(name) else "down"
    return found


def _zab_part(world: World, name: str) -> str:
    server = cast("ZabServer", world.processes[name])
    if not world.alive(name):
        return "down"
    if server.delivered:
        return "committed"
    return "in doubt" if any(entry.kind == "proposal" for entry in server.log("log")) else "aborted"


Find = Callable[[Event], bool]


def _match_append(node: str, kind: str) -> Find:
    def matches(e: Event) -> bool:
        return e.kind == "append" and e.node.startswith(node) and isinstance(e.data, Entry) and e.data.kind == kind

    return matches


def _match_receive(node: str, name: str) -> Find:
    return lambda e: (e.kind, e.name) == ("receive", name) and e.node.startswith(node)


FINDERS: dict[str, dict[str, tuple[Find, int]]] = {
    "two-phase commit": {
        "written": (_match_receive("app", "Written"), 0),
        "asked": (_match_receive("tc", "Commit"), 1),
        "prepared": (_match_receive("tc", "Vote"), 0),
        "decided": (lambda e: any(_match_append("tc", kind)(e) for kind in DECISIONS), 1),
        "told": (lambda e: _match_append("p", "commit")(e) or _match_receive("tc", "Ack")(e), 1),
    },
    "MVCC": {
        "written": (_match_receive("app", "Updated"), 2),
        "asked": (lambda e: _match_receive("db", "Commit")(e) or _match_receive("db", "Rollback")(e), 1),
        "prepared": (lambda e: _match_receive("db", "Commit")(e) or _match_receive("db", "Rollback")(e), 1),
        "decided": (lambda e: _match_append("db", "commit")(e) or _match_append("db", "abort")(e), 1),
        "told": (lambda e: (e.kind, e.name) == ("send", "Done"), 1),
    },
    "atomic broadcast": {
        "written": (_match_receive("s1", "Write"), 1),
        "asked": (_match_append("s1", "proposal"), 1),
        "prepared": (lambda e: (e.kind, e.name) == ("send", "Ack"), 1),
        "decided": (lambda e: (e.kind, e.name) == ("state", "delivered"), 1),
        "told": (lambda e: (e.kind, e.name) == ("state", "delivered"), 2),
    },
}
"""For each machine and moment the event, and which of its kind it is; 0 for the one of the last part."""


def _moments(trace: Trace, finders: dict[str, tuple[Find, int]], parts: int) -> dict[str, int]:
    found = {}
    for moment, (find, number) in finders.items():
        steps = [event.step for event in trace.events if find(event)]
        at = (number or parts) - 1
        if len(steps) > at:
            found[moment] = steps[at]
    return found


# Kafka


def kafka_scenario(refuses: bool = False, seed: int = 1, strikes: Sequence[Strike] = ()) -> Scenario:
    """The same transfer on a cluster: b3 coordinates, b1 leads accounts-0 and b2 accounts-1."""
    steps: list[list[Any]] = [["init_transactions"], ["begin_transaction"]]
    steps += [["send", "accounts", "-10", None, 0], ["send", "accounts", "+10", None, 1], ["flush"]]
    steps.append(["abort_transaction" if refuses else "commit_transaction"])
    program = Program("app", "operations", {"transactional_id": "payments-0", "steps": steps})
    title = "Kafka: one transfer"
    return Scenario(title=title, seed=seed, topics={"accounts": 2}, programs=(program,), faults=tuple(strikes))


def _kafka(strikes: tuple[Strike, ...], refuses: bool, seed: int) -> Transfer:
    cluster = Cluster(kafka_scenario(refuses, seed, strikes))
    cluster.run()
    trace = cluster.trace
    ended = trace.of("complete", "commit_transaction") + trace.of("complete", "abort_transaction")
    told = "unknown"
    if ended and ended[-1].data["outcome"] == "ok":
        told = "aborted" if refuses else "committed"
    parts = {f"accounts-{n}": _kafka_part(cluster, f"accounts-{n}") for n in (0, 1)}
    return Transfer("Kafka", run_of(cluster), _kafka_moments(trace), parts, told, strikes)


def _kafka_part(cluster: Cluster, partition: str) -> str:
    info = cluster.controller.metadata.partitions[partition]
    if not info.leader or not cluster.nodes[info.leader].alive:
        return "down"
    log = cluster.log_of(partition)
    markers = [b.control.name for b in log.batches if b.control and b.last_offset < log.high_watermark]
    return {"COMMIT": "committed", "ABORT": "aborted"}[markers[-1]] if markers else "in doubt"


def _kafka_moments(trace: Trace) -> dict[str, int]:
    """The same moments: the decision is made when every in-sync replica has PrepareCommit, or PrepareAbort."""
    found: dict[str, int] = {}
    written = 0
    for e in trace.events:
        if e.kind == "receive" and e.name == "ProduceResponse" and e.node == "app":
            written += 1
            if written == 2:
                found.setdefault("written", e.step)
        elif e.kind == "receive" and e.name == "EndTxn":
            found.setdefault("asked", e.step)
        elif e.kind == "append" and topic_of(e.name) == TRANSACTION_TOPIC and _prepares(e.data):
            found.setdefault("prepared", e.step)
        elif e.kind == "state" and e.name == "transaction" and not e.data["pending"]:
            if e.data["state"].startswith("Prepare"):
                found.setdefault("decided", e.step)
        elif e.kind == "append" and topic_of(e.name) == "accounts" and e.data.control is not None:
            found.setdefault("told", e.step)
    return found


def _prepares(batch: Any) -> bool:
    return any(getattr(getattr(r.value, "state", None), "label", "").startswith("Prepare") for r in batch.records)


# the presses of the picture


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPress:
    """A press on all four at once."""

    name: str
    says: str
    presses: tuple[Press, ...] = ()
    refuses: bool = False


SHARED = (
    SharedPress(name="no fault", says="Nothing fails."),
    SharedPress(
        name="coordinator", says="The coordinator crashes when all is prepared.",
        presses=(("coordinator", "prepared"),),
    ),
    SharedPress(
        name="coordinator and participant",
        says="The coordinator crashes as it tells the first participant, which crashes, too.",
        presses=(("coordinator", "told"), ("told", "told")),
    ),
    SharedPress(
        name="participant", says="A participant crashes after the decision, before it is told.",
        presses=(("other", "decided"),),
    ),
    SharedPress(name="abort", says="The transaction is to be aborted: a vote of no, or a rollback.", refuses=True),
)  # fmt: skip


def run_shared_press(model: str, name: str, again: bool = False, seed: int = 1) -> Transfer:
    """The run of one machine under a shared press, by its name."""
    found = next((one for one in SHARED if one.name == name), None)
    if found is None:
        raise ValueError(f"no press {name!r}; there are {', '.join(one.name for one in SHARED)}")
    return run(model, found.presses, again, found.refuses, seed)
