"""Runs of the counter as a timeline: when it works and sleeps, and how long each of its transactions is open."""

from __future__ import annotations

from kafkalab.course.lab07.timeline import Bar, Lane, Part, Timeline, seconds
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario

TIMEOUT_MS, LOOK_MS = 60_000, 10_000
NODE = "counter"


def timeline(*runs: Scenario | Cluster) -> Timeline:
    """Show the counter and the transactions of each run over one another, on one axis; a scenario is run first."""
    clusters = (run if isinstance(run, Cluster) else ran(run) for run in runs)
    return Timeline(parts=tuple(map(_part, clusters)), look_ms=LOOK_MS)


def _part(cluster: Cluster) -> Part:
    lanes = (
        Lane("the counter", "client", (*_work(cluster), *_sleep(cluster))),
        Lane("its transaction", "coordinator", tuple(_open(cluster))),
    )
    jumps = tuple((e.at_ms - int(e.data["ms"]), e.at_ms) for e in cluster.trace.of("fault", "AdvanceClock"))
    return Part(title=cluster.scenario.title, lanes=lanes, jumps=jumps)


def _work(cluster: Cluster) -> list[Bar]:
    """From each begin_transaction() to the commit or the error that ends it, or to the end of the run."""
    found: list[Bar] = []
    began = -1
    for e in cluster.trace.events:
        if e.node != NODE:
            continue
        error = e.data["name"] if (e.kind, e.name) == ("state", "chapter") else ""
        done = (e.kind, e.name) == ("complete", "commit_transaction") and e.data["outcome"] == "ok"
        if (e.kind, e.name) == ("invoke", "begin_transaction"):
            began = e.at_ms
        elif began >= 0 and (error or done):
            says = error.removeprefix("after ") if error else "" if found else "commits"
            found.append(Bar(start_ms=began, end_ms=e.at_ms, says=says, struck=bool(error)))
            began = -1
    if began >= 0:
        found.append(Bar(start_ms=began, end_ms=cluster.trace.events[-1].at_ms, says="has not ended"))
    return found


def _sleep(cluster: Cluster) -> list[Bar]:
    """From each Pause to its Resume, or to the end of the run."""
    ends = [*(e.at_ms for e in cluster.trace.of("fault", "Resume")), cluster.trace.events[-1].at_ms]
    naps = zip(cluster.trace.of("fault", "Pause"), ends, strict=False)
    return [Bar(start_ms=a.at_ms, end_ms=end, says="asleep", asleep=True) for a, end in naps]


def _open(cluster: Cluster) -> list[Bar]:
    """From each Ongoing to its Prepare, as the coordinator has them."""
    limit_ms = int(cluster.scenario.programs[0].args.get("transaction_timeout_ms", TIMEOUT_MS))
    found: list[Bar] = []
    began = -1
    for e in cluster.trace.of("state", "transaction"):
        state = str(e.data["state"])
        if state == "Ongoing" and began < 0:
            began = e.at_ms
        elif state.startswith("Prepare") and began >= 0:
            struck = state == "PrepareAbort"
            says = f"aborted at {seconds(e.at_ms)}" if struck else "committed"
            found.append(Bar(start_ms=began, end_ms=e.at_ms, limit_ms=limit_ms, says=says, struck=struck))
            began = -1
    return found
