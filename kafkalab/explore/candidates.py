"""The faults that could come next in a run: those that strike its support, those that follow from a fault first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from operator import attrgetter

from kafkalab.explore.fault_sequence import (
    ALL_KINDS,
    ISOLATED,
    KINDS,
    OTHERS_SHARE,
    SEARCHED,
    SHARES,
    FaultSequence,
    Rank,
)
from kafkalab.explore.lineage import PLUMBING
from kafkalab.explore.moments import LEFT_OUT, Moments, place_of
from kafkalab.explore.redundant_faults import given_up_ms, is_heard_once
from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.link import Cut, nodes_of
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame

OF_FRAMES = {name: kind for name, kind in SEARCHED.items() if issubclass(kind, FrameFault)}
OVERTAKEN_MS = 1_000
DELAYS_MS = (200, 3_000, 31_500, 40_000)
"""The delays of a frame where losing it is not allowed: past its retry, and past the transaction that follows."""
POINTS = 12
"""At how many moments a late frame is tried at most."""
UNSUPPORTED_TOO = ("stall",)
"""The kinds that take nothing away, but let others come in: they matter where no outcome rests on the event, too."""
DECIDING = (
    "InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn", "WriteTxnMarkers", "OffsetCommit", "TxnOffsetCommit",
)  # fmt: skip
"""Requests that carry records, offsets, or what becomes of them."""


def sequences_after(
    run: Run, after: int, kinds: tuple[str, ...] = KINDS, unsupported: bool = False, absorbed: int | None = None
) -> tuple[list[FaultSequence], int]:
    """Return the faults that may follow step `after` in the order of trying, and how many events were left out.

    Left out, unless `unsupported`, are sent frames and appends on which no outcome rests, and frames that are sent
    again while nothing else happens. What strikes behind step `absorbed`, where the run is as usual again, comes last.
    """
    moments = Moments.of(run, after, absorbed)
    groups: dict[tuple[int, str, str], list[tuple[bool, Event, tuple[Fault, ...]]]] = {}
    left_out = 0
    for event in moments.events():
        if event.kind not in ("send", "append"):
            continue
        tier = moments.tier(event.step, event.name)
        tried = kinds
        if tier in LEFT_OUT and not unsupported:
            left_out += 1
            tried = tuple(kind for kind in kinds if kind in UNSUPPORTED_TOO)
        decides = _decides(event)
        for kind, faults in _at(moments, event, tried):
            groups.setdefault((tier, kind, _sort(kind, faults)), []).append((decides, event, faults))
    found: list[FaultSequence] = []
    for (tier, kind, sort), group in groups.items():
        number, share = -1 if sort == ISOLATED else ALL_KINDS.index(kind), SHARES.get(sort, OTHERS_SHARE)
        for turn, (_, event, faults) in enumerate(_spread(group), 1):
            lasts_ms = max(getattr(faults[-1], "at_ms", 0) - event.at_ms, 0)
            rank, place = Rank(tier, turn * share, number, event.step), place_of(event)
            found.append(FaultSequence(kind, faults, event.step, rank, lasts_ms, place))
    return sorted(found, key=attrgetter("rank")), left_out


def _sort(kind: str, faults: tuple[Fault, ...]) -> str:
    """Return what the fault takes its turns with: all of its kind, but for two sorts of network partitions."""
    cut = faults[0]
    return ISOLATED if isinstance(cut, Cut) and "controller" not in nodes_of(cut.b) else kind


def _decides(event: Event) -> bool:
    """Return True if the event is an append of a decision, an offset or a marker, or a frame that carries one."""
    if event.kind == "append":
        return topic_of(event.name) in INTERNAL_TOPICS or event.data.control is not None
    return event.name.removesuffix("Response") in DECIDING


def _spread(group: list[tuple[bool, Event, tuple[Fault, ...]]]) -> list[tuple[bool, Event, tuple[Fault, ...]]]:
    """Order what is in the order of time so that each beginning covers the whole run; what decides comes first.

    Number i of n comes in the order of i's bits, read backwards: the first, the middle, the quarters, and so on.
    """
    ordered = []
    for decides in (True, False):
        part = [one for one in group if one[0] is decides]
        ordered += [part[i] for i in _spread_numbers(len(part))]
    return ordered


@cache
def _spread_numbers(count: int) -> list[int]:
    width = max(count - 1, 1).bit_length()
    return sorted(range(count), key=lambda i: int(f"{i:0{width}b}"[::-1], 2))


def late_arrivals(lost: Run, sequence: FaultSequence) -> list[FaultSequence]:
    """Return the frame that `sequence` loses, arriving late: right after each thing that its receiver does without it.

    `lost` is the run in which it never arrives. An arrival that nobody hears is left out.
    """
    fault = sequence.faults[-1]
    assert isinstance(fault, Drop)
    frame = lost.trace.frames[fault.frame]
    moments: dict[int, None] = {}
    for event in lost.trace.events[frame.sent_step + 1 :]:
        mine = event.node == frame.receiver and event.kind in ("append", "recover", "complete", "invoke")
        if mine or (event.kind == "state" and event.name == "transaction" and event.node == frame.receiver):
            moments[event.at_ms] = None
    last_ms = given_up_ms(lost, frame)
    times = [ms for ms in moments if frame.sent_ms < ms and (last_ms is None or ms < last_ms)]
    if len(times) > POINTS:
        times = [times[number * (len(times) - 1) // (POINTS - 1)] for number in range(POINTS)]
    share, kind = SHARES["late"], ALL_KINDS.index("late")
    turn = sequence.rank.turn // SHARES["drop"] * share
    delays = dict.fromkeys(ms - frame.sent_ms for ms in times)
    ranks = [sequence.rank._replace(turn=turn + number * share, kind=kind) for number in range(len(delays))]
    both = zip(delays, ranks, strict=True)
    step, place = sequence.step, sequence.place
    return [FaultSequence("late", (Delay(frame.id, ms),), step, rank, place=place) for ms, rank in both]


def _at(moments: Moments, event: Event, kinds: tuple[str, ...]) -> Iterator[tuple[str, tuple[Fault, ...]]]:
    """The faults of these kinds that begin with this event."""
    if event.kind == "send":
        frame: Frame = event.data
        yield from ((kind, faults) for kind, faults in _of_frame(moments, frame, kinds) if kind in kinds)
        if "drop" not in kinds and "late" in kinds:  # no run without the frame says when it matters
            yield from (("late", (Delay(frame.id, ms),)) for ms in DELAYS_MS)
    if event.kind not in ("send", "append") or event.name in PLUMBING or event.node == "controller":
        return
    for kind in kinds:
        if kind not in OF_FRAMES:
            yield from ((kind, faults) for faults in SEARCHED[kind].sequences(moments.run.cast, event))


def _of_frame(moments: Moments, frame: Frame, kinds: tuple[str, ...]) -> list[tuple[str, tuple[Fault, ...]]]:
    found: list[tuple[str, tuple[Fault, ...]]] = [("drop", (Drop(frame.id),))]
    if not is_heard_once(moments.run, frame):
        found.append(("duplicate", (Duplicate(frame.id),)))
    behind = moments.behind.get(frame.id)
    if behind is not None and 0 <= behind.received_ms - frame.sent_ms < OVERTAKEN_MS and frame.fate == "delivered":
        found.append(("late", (Delay(frame.id, behind.received_ms - frame.received_ms + 1),)))
    for kind in kinds:
        if kind in OF_FRAMES:
            found += [(kind, faults) for faults in OF_FRAMES[kind].sequences_on(moments.run.trace.frames, frame)]
    return found
