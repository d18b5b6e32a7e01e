"""Faults by chance, aimed: what they strike is drawn from a run of the same scenario without them.

Frames are drawn by name first, so that rare ones are struck as often as fetches. Moments are drawn by what the run is
in the middle of, so that most of them lie in transactions, rebalances and elections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.faults.cluster import AdvanceClock, Upgrade
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Release, Reorder
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.storage import Compact, DeleteSegment, Roll
from kafkalab.programs.moments import MOMENTS, DryRun
from kafkalab.programs.randomness import Pick, once_in
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.sim.in_flight_requests import REQUEST_TIMEOUT_MS

LATER_MS = (50, 2_000, 15_000)
SOON = 120
"""A step is soon after another if fewer events than this lie between them."""


def random_fault(pick: Pick, run: DryRun, unclean: bool = False) -> list[Fault]:
    """Draw one fault of a frame, a node, the network, the clock or a feature, a leader or a log, with what undoes it.

    With `unclean` an election may be an unclean one: it loses records, and is meant to.
    """
    if len(run.steps) == 0:
        return []
    if unclean and once_in(pick, 2) and (found := _election(pick, run, True)):
        return found
    return pick.one_of(KINDS)(pick, run)


NAMELESS = ("EndTxn#", "WriteTxnMarkers#", "TxnOffsetCommit#")
"""Requests that before transaction version 2 do not say which transaction of an epoch they are of."""


def outlives_its_retry(fault: Fault) -> bool:
    """Return True if an EndTxn, a marker or a TxnOffsetCommit comes after the request that its sender has made instead.

    See KAFKA-17754 and KIP-890.
    """
    if not isinstance(fault, Hold | Reorder | Delay) or not fault.frame.startswith(NAMELESS):
        return False
    return not isinstance(fault, Delay) or fault.delay_ms > REQUEST_TIMEOUT_MS


def lets_a_batch_be_overtaken(fault: Fault) -> bool:
    """Return True if a Produce arrives after its producer's next one: on one connection TCP keeps their order.

    A leader that knows nothing of an idempotent producer takes its second batch as its first.
    """
    return isinstance(fault, Hold | Reorder | Delay) and fault.frame.startswith("Produce#")


# frames


def _of_a_frame(pick: Pick, run: DryRun) -> list[Fault]:
    names = list(run.frames)
    name = pick.one_of(names)
    if not once_in(pick, 3):  # the rarer one of two
        name = min(name, pick.one_of(names), key=lambda name: len(run.frames[name]))
    frame = pick.one_of(run.frames[name])
    kind = pick.one_of(("lose", "double", "delay", "hold", "overtake"))
    if kind == "delay":
        return [Delay(frame.id, pick.one_of((20, 200, 3_000, 31_000)))]
    if kind == "hold":
        return [Hold(frame.id), Release(frame.id, **_moment(pick, run, frame.sent_step))]
    if kind == "overtake":
        later = [f.id for of in run.frames.values() for f in of if 0 < f.sent_step - frame.sent_step < SOON]
        return [Reorder(frame.id, pick.one_of(later))] if later else [Drop(frame.id)]
    return [Drop(frame.id) if kind == "lose" else Duplicate(frame.id)]


# moments


def _step(pick: Pick, run: DryRun, after: int = -1) -> int:
    """Draw a step behind `after`: three times in four one of those in the middle of something, if there are any."""
    steps = {moment: found for moment, found in run.steps.items() if found[-1] > after}
    aimed = [moment for moment in MOMENTS if moment in steps]
    moment = pick.one_of(aimed) if aimed and not once_in(pick, 4) else pick.one_of(list(steps))
    found = [step for step in steps[moment] if step > after]
    return pick.one_of(found)


def _at(pick: Pick, run: DryRun, step: int) -> dict[str, Any]:
    """Return the moment of a step: right after that event, or at its virtual time."""
    return {"at_step": step} if once_in(pick, 2) else {"at_ms": run.at_ms(step)}


def _moment(pick: Pick, run: DryRun, after: int = -1) -> dict[str, Any]:
    """Draw the moment of a fault; behind step `after`, if one is given, also some time later."""
    if after >= 0 and (once_in(pick, 2) or after >= run.last):
        return {"at_ms": run.at_ms(after) + pick.one_of(LATER_MS)}
    return _at(pick, run, _step(pick, run, after))


def _from_to(pick: Pick, run: DryRun) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw when something begins and ends, by the clock: a step may come earlier or later with other faults, or never,
    and what is never undone says little.
    """
    step = _step(pick, run)
    begin = run.at_ms(step)
    if once_in(pick, 2) and run.at_ms(run.last) > begin:
        end = run.at_ms(_step(pick, run, step))
    else:
        end = begin + pick.one_of(LATER_MS)
    return {"at_ms": begin}, {"at_ms": max(end, begin + 1)}


# nodes, network, clock


def _of_a_broker(pick: Pick, run: DryRun) -> list[Fault]:
    node, (begin, end) = pick.one_of(run.cluster.broker_names), _from_to(pick, run)
    if pick.one_of((True, False)):
        return [Crash(node, **begin), Restart(node, **end)]
    return [Pause(node, **begin), Resume(node, **end)]


def _of_a_client(pick: Pick, run: DryRun) -> list[Fault]:
    node = pick.one_of(run.clients)
    if once_in(pick, 3):
        return [Crash(node, sent=once_in(pick, 4), **_moment(pick, run))]
    begin, end = _from_to(pick, run)
    return [Pause(node, **begin), Resume(node, **end)]


def _of_the_network(pick: Pick, run: DryRun) -> list[Fault]:
    """One node cut off from another, from the controller, or from all brokers."""
    brokers: tuple[str, ...] = run.cluster.broker_names
    one = pick.one_of((*brokers, *run.clients))
    others = tuple(broker for broker in brokers if broker != one)
    sides: tuple[str | tuple[str, ...], ...] = (*others, others) if others else ()
    if one in brokers:
        sides = (*sides, "controller", (*others, "controller"))
    other, (begin, end) = pick.one_of(sides), _from_to(pick, run)
    return [Cut(one, other, **begin), Heal(one, other, **end)]


def _of_the_clock(pick: Pick, run: DryRun) -> list[Fault]:
    begin = _moment(pick, run)
    if run.version < 2 and once_in(pick, 2):
        return [Upgrade(level=pick.number(run.version + 1, 2), **begin)]
    return [AdvanceClock(pick.one_of((500, 5_000, 31_000, 70_000)), **begin)]


# leaders and logs


def _of_a_log(pick: Pick, run: DryRun) -> list[Fault]:
    """Its leader moves, it begins a segment, it is cleaned, or, if it holds data, loses its oldest segment."""
    kind, begin = pick.one_of(("elect", "roll", "compact", "delete")), _moment(pick, run)
    if kind == "elect":
        return _election(pick, run)
    data = [p for p in run.written if topic_of(p) not in INTERNAL_TOPICS]
    if kind == "delete":
        return [DeleteSegment(pick.one_of(data), **begin)] if data else []
    if not run.written:
        return []
    partition = pick.one_of(run.written)
    return [Compact(partition, **begin) if kind == "compact" else Roll(partition, **begin)]


def _election(pick: Pick, run: DryRun, unclean: bool = False) -> list[Fault]:
    """Draw another leader for a partition; an `unclean` one comes right after it has fallen behind, cut off."""
    several = [p for p in run.written if len(run.replicas(p)) > 1]
    if not several:
        return []
    partition = pick.one_of(several)
    leader, *others = run.replicas(partition)
    other, step = pick.one_of(others), _step(pick, run)
    at_ms = run.at_ms(step)
    if not unclean:
        return [ElectLeader(partition, other, **_at(pick, run, step))]
    behind = at_ms + pick.one_of((10_000, 31_000))  # more than the session or replica.lag.time.max.ms
    return [
        Cut(other, (leader, "controller"), at_ms=at_ms),
        Heal(other, (leader, "controller"), at_ms=behind),
        ElectLeader(partition, other, unclean=True, at_ms=behind + pick.one_of((5, 50, 500))),
    ]


KINDS: tuple[Callable[[Pick, DryRun], list[Fault]], ...] = (
    _of_a_frame, _of_a_frame, _of_a_frame, _of_a_broker, _of_a_client, _of_the_network, _of_the_clock, _of_a_log
)  # fmt: skip
