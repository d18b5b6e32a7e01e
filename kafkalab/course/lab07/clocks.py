"""Every clock that runs during a transaction, each measured in a run in which only it strikes."""

from __future__ import annotations

from kafkalab.course.lab07.scenario import cut_off, lost_request, shelf, told
from kafkalab.programs.counting import COUNTER
from kafkalab.sim.cluster import Cluster, ran


def clocks() -> list[str]:
    """A line for each setting: its default, who watches it, how long it took in the run, and what happened then."""
    rows = [
        ("setting", "default", "kept by", "struck", "what happens"),
        ("request.timeout.ms", "30 s", "client", _asked_again(), "the request is sent again"),
        ("delivery.timeout.ms", "120 s", "client", *_given_up()),
        ("max.block.ms", "60 s", "client", *_blocked()),
        ("max.poll.interval.ms", "300 s", "client", _left(), "it leaves its group"),
        ("transaction.timeout.ms", "60 s", "coordinator", _aborted(), "it aborts the transaction"),
    ]
    return ["{:<24}{:>8}   {:<13}{:>9}   {}".format(*row) for row in rows]


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:.1f} s"


def _asked_again() -> str:
    frames = ran(lost_request()).trace.frames
    return _seconds(frames["Produce#2"].sent_ms - frames["Produce#1"].sent_ms)


def _given_up() -> tuple[str, str]:
    """How long a record was tried: the counter is cut off before it sends the second one."""
    cluster = ran(shelf(*cut_off(1_500, 200_000), work_ms=1_000, transaction_timeout_ms=900_000))
    return _failed(cluster, cluster.trace.frames["Produce#2"].sent_ms)


def _blocked() -> tuple[str, str]:
    """How long a blocking call waited: the counter is cut off from the beginning."""
    cluster = ran(shelf(*cut_off(500, 200_000), work_ms=1_000))
    return _failed(cluster, [e.at_ms for e in cluster.trace.of("invoke") if e.node == "counter"][-1])


def _failed(cluster: Cluster, since_ms: int) -> tuple[str, str]:
    call, error = cluster.results["counter"][0].split(": ")
    return _seconds(told(cluster).at_ms - since_ms), f"{call} fails: {error}"


def _left() -> str:
    trace = ran(shelf(work_ms=400_000, reads=True, transaction_timeout_ms=900_000)).trace
    leave = next(f for f in trace.frames.values() if f.name == "LeaveGroup")
    polled = next(f for f in trace.frames.values() if f.name == "FetchResponse")
    return _seconds(leave.sent_ms - (polled.received_ms or 0))


def _aborted() -> str:
    trace = ran(shelf(work_ms=80_000)).trace
    states = [e for e in trace.of("state", "transaction") if e.data["transactional_id"] == COUNTER]
    began, ended = (next(e.at_ms for e in states if e.data["state"] == name) for name in ("Ongoing", "PrepareAbort"))
    return _seconds(ended - began)
