"""The faults that a client is tried with: each frame of its first two transactions, in every way in which one can fail.

The frames come from a run without a fault, with the client's names for them, "rdkafka:EndTxn#1". Which requests a
broker crashes at, or answers with an error, and before which others one may be late, say the classes of the faults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kafkalab.faults.fault import Fault, FrameFault
from kafkalab.faults.frame import ENDINGS, Delay, Drop, Duplicate, Late
from kafkalab.faults.request import HANDLED, CrashAt, RespondWith
from kafkalab.protocol.messages.find_coordinator import TRANSACTION
from kafkalab.trace import Frame
from kafkalab.wire.live import fault_of

LATE_MS = 2_600
"""Later than the clients' request timeout, which is 2 s."""
DOWN_MS, DOWN_AMONG_THREE_MS = 3_000, 12_000
"""The time that a broker is down: alone, and among three, past its session with the controller (9 s)."""
APIS = (*ENDINGS, "Produce")
"""The requests of a transaction; those for coordinators are tried from the producer's beginning on."""
FAILOVER = (CrashAt,)
"""The faults that are tried with three brokers, too: another broker takes over."""
KINDS = {
    "Drop": "lost", "Late": "late before another", "CrashAt": "broker crashes", "RespondWith": "error",
    "Delay": "late", "Duplicate": "doubled",
}  # fmt: skip
"""The columns of the table, by the class of the fault, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of a run that are tried, by name at the client, and all of its frames."""

    tried: Sequence[Frame]
    every: Mapping[str, Frame]


def frames_of(frames: Mapping[str, Frame], own: str) -> Frames:
    """Return the clients' frames of the first two transactions; `own` is the client whose frames are not the client's.

    ValueError unless there are two transactions.
    """
    mine = [f for f in frames.values() if f.client not in ("", own) and not f.copy_of]
    ends = [f.sent_step for f in mine if f.name == "EndTxnResponse"]
    if len(ends) < 2:
        raise ValueError(f"{len(ends)} transactions have been ended, not two")
    asked = [f for f in mine if f.kind == "request" and f.sent_step < ends[1]]
    finds = [f for f in asked if f.name == "FindCoordinator" and f.body.key_type == TRANSACTION]
    begin = min((f.sent_step for f in finds), default=0)
    of_producer = [f for f in asked if f.name == "FindCoordinator" and f.sent_step >= begin]
    tried = {f.id for f in asked if f.name in APIS} | {f.id for f in of_producer}
    return Frames([f for f in mine if f.id in tried or f.of in tried], {f.id: f for f in mine})


def list_faults(frames: Frames, kinds: Iterable[str] = KINDS, failover: bool = False) -> Iterator[str]:
    """Yield the faults of these kinds in words; with `failover` only those that are tried with three brokers."""
    every = [fault for frame in frames.tried for fault in _faults_of(frame, frames.every)]
    for kind in KINDS:
        for fault in every:
            if type(fault).__name__ == kind and kind in kinds and (not failover or isinstance(fault, FAILOVER)):
                if isinstance(fault, CrashAt):
                    fault = replace(fault, down_ms=DOWN_AMONG_THREE_MS if failover else DOWN_MS)
                yield words_of(_as_client_names(fault, frames.every))


def _faults_of(frame: Frame, every: Mapping[str, Frame]) -> Iterator[Fault]:
    yield Drop(frame.id)
    yield Delay(frame.id, LATE_MS)
    if frame.kind == "request":
        yield Duplicate(frame.id)
        for (fault,) in CrashAt.sequences_on(every, frame):
            yield fault
        for (fault,) in Late.sequences_on(every, frame):
            if isinstance(fault, Late) and is_in_next(frame, every[fault.before], every):
                yield fault
        errors = [fault for (fault,) in RespondWith.sequences_on(every, frame)]
        yield from (errors[0], errors[-1]) if errors else ()  # not handled, and handled


def is_in_next(frame: Frame, other: Frame, every: Mapping[str, Frame]) -> bool:
    """Return True if the other request is of the transaction after the frame's, or begins the producer after it."""
    later = [f for f in every.values() if f.kind == "request" and f.sent_step > frame.sent_step]
    ends = [frame.sent_step] * (frame.name == "EndTxn") + [f.sent_step for f in later if f.name == "EndTxn"]
    begins = [f.sent_step for f in later if f.name == "InitProducerId"]
    return bool(ends) and ends[0] < other.sent_step <= min([*ends[1:2], *begins[:1]], default=-1)


def _as_client_names(fault: Fault, every: Mapping[str, Frame]) -> Fault:
    """Return the fault with the client's names of its frames."""
    assert isinstance(fault, FrameFault)
    names = {"frame": every[fault.frame].name_at_client}
    if fault.other:
        names[fault.other] = every[str(getattr(fault, fault.other))].name_at_client
    return replace(fault, **names)


def words_of(fault: Fault) -> str:
    """Return the words that `fault_of` reads."""
    assert isinstance(fault, FrameFault)
    more: list[object] = []
    if isinstance(fault, Delay):
        more = [fault.delay_ms]
    elif isinstance(fault, Late):
        more = [fault.before]
    elif isinstance(fault, CrashAt):
        more = [*[HANDLED] * fault.handled, fault.down_ms]
    elif isinstance(fault, RespondWith):
        more = [fault.error, *[HANDLED] * fault.handled]
    words = ":".join(map(str, (type(fault).__name__, fault.frame, *more)))
    assert fault_of(words) == fault, words
    return words
