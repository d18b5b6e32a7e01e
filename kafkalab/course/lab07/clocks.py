"""Every clock that runs during a transaction, each measured in a run in which only it strikes."""

from __future__ import annotations

from kafkalab.course.lab07.scenario import cut_off, find_first_error, lost_request, shelf
from kafkalab.course.lab07.timeline import Bar, Lane, Part, Timeline
from kafkalab.programs.counting import COUNTER
from kafkalab.sim.cluster import ran


def clocks() -> Timeline:
    """A row for each setting: its default, who watches it, how long it took in the run, and what happened then."""
    lanes = (
        _lane("request.timeout.ms", "client", 30_000, _asked_again(), "client asks again"),
        _lane("max.block.ms", "client", 60_000, _measure_blocking(), "client gives the call up"),
        _lane("transaction.timeout.ms", "coordinator", 60_000, _measure_abort(), "coordinator aborts"),
        _lane("delivery.timeout.ms", "client", 120_000, _given_up(), "client gives the record up"),
        _lane("max.poll.interval.ms", "client", 300_000, _measure_leaving(), "client leaves its group"),
    )
    return Timeline(parts=(Part(title="", lanes=lanes),))


def _lane(name: str, keeper: str, limit_ms: int, struck_ms: int, says: str) -> Lane:
    return Lane(name, keeper, (Bar(start_ms=0, end_ms=struck_ms, limit_ms=limit_ms, says=says, struck=True),))


def _asked_again() -> int:
    frames = ran(lost_request()).trace.frames
    return frames["Produce#2"].sent_ms - frames["Produce#1"].sent_ms


def _given_up() -> int:
    """Return how long a record was tried: the counter is cut off before it sends the second one."""
    cluster = ran(shelf(*cut_off(1_500, 200_000), work_ms=1_000, transaction_timeout_ms=900_000))
    assert cluster.results["counter"] == ["send: KafkaTimeoutError"]
    return find_first_error(cluster).at_ms - cluster.trace.frames["Produce#2"].sent_ms


def _measure_blocking() -> int:
    """Return how long a blocking call waited: the counter is cut off from the beginning."""
    cluster = ran(shelf(*cut_off(500, 200_000), work_ms=1_000))
    assert cluster.results["counter"] == ["init_transactions: KafkaTimeoutError"]
    return find_first_error(cluster).at_ms - [e.at_ms for e in cluster.trace.of("invoke") if e.node == "counter"][-1]


def _measure_leaving() -> int:
    trace = ran(shelf(work_ms=400_000, reads=True, transaction_timeout_ms=900_000)).trace
    leave = next(f for f in trace.frames.values() if f.name == "LeaveGroup")
    polled = next(f for f in trace.frames.values() if f.name == "FetchResponse")
    return leave.sent_ms - (polled.received_ms or 0)


def _measure_abort() -> int:
    trace = ran(shelf(work_ms=80_000)).trace
    states = [e for e in trace.of("state", "transaction") if e.data["transactional_id"] == COUNTER]
    began, ended = (next(e.at_ms for e in states if e.data["state"] == name) for name in ("Ongoing", "PrepareAbort"))
    return ended - began
