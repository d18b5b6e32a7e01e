"""Faults of one frame: it is lost, doubled, late, held, overtaken; and the release of one that is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafkalab.faults.check import check_duration, check_frame_id, milliseconds_of
from kafkalab.faults.fault import Fault, FrameFault, TimedFault, Words
from kafkalab.faults.world import Flight, NetworkOfWorld, World
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.trace import Frame

UNNUMBERED = {"TxnOffsetCommit": 4, "EndTxn": 4, "AddOffsetsToTxn": 4, "AddPartitionsToTxn": 3, "WriteTxnMarkers": 2}
"""The requests that neither a sequence number nor a new epoch protects, with the last version below level 2."""
ENDINGS = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
"""The clients' requests before which a search lets such a one arrive."""
MOST_ENDINGS = 12
"""The most of them that are tried for one frame."""


@dataclass(frozen=True, slots=True)
class Drop(FrameFault):
    """The frame is lost on its way: it never arrives."""

    kind = "drop"
    words = Words(
        label="× drop", title="The frame is lost on its way", chapter="the {what} is lost",
        event="{frame} is lost on its way.", explanation="{whose} is lost",
    )  # fmt: skip

    def strike(self, frame: Frame, network: NetworkOfWorld, flight: Flight) -> None:
        """Lose the frame."""
        network.lose(frame)
        flight.copies = 0


@dataclass(frozen=True, slots=True)
class Duplicate(FrameFault):
    """The frame arrives twice, the second time one millisecond after the first."""

    kind = "duplicate"
    words = Words(
        label="×2 duplicate", title="The frame arrives twice", chapter="the {what} arrives twice",
        event="{frame} will arrive twice.", explanation="{whose} arrives twice",
    )  # fmt: skip

    def strike(self, frame: Frame, network: NetworkOfWorld, flight: Flight) -> None:
        """Let it arrive once more."""
        flight.copies = 2

    def why_not_here(self, world: World, frame: Frame, struck: Sequence[FrameFault]) -> str:
        """Return why not: it arrives twice already."""
        return f"{self.frame} arrives twice already" if f"{self.frame}~copy" in world.trace.frames else ""


@dataclass(frozen=True, slots=True)
class Delay(FrameFault):
    """The frame arrives `delay_ms` later than it would have.

    Frames sent after it overtake it, those of the same connection too, which TCP would keep in order.
    """

    delay_ms: int = 1000
    kind = "late"
    number = "delay_ms", delay_ms
    words = Words(
        label="delay", title="The frame arrives later, and is overtaken", chapter="the {what} is delayed",
        event="{frame} is held back.",
    )  # fmt: skip

    @property
    def detail(self) -> str:
        """Return how much later it arrives."""
        return str(self.delay_ms)

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, Any], nodes: Sequence[str]) -> Fault:
        """Return it with the milliseconds of the press."""
        return cls(target, details.get("delay_ms", cls.number[1]))

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return it with its milliseconds, which must be given."""
        (ms,) = words
        return cls(target, milliseconds_of(ms))

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError for another frame or another time than there can be."""
        check_frame_id(self.frame)
        check_duration("delay_ms", self.delay_ms)

    def strike(self, frame: Frame, network: NetworkOfWorld, flight: Flight) -> None:
        """Let it arrive later."""
        flight.extra_ms = self.delay_ms

    def why_not_here(self, world: World, frame: Frame, struck: Sequence[FrameFault]) -> str:
        """Return why not: it is so late already."""
        return f"{self.frame} is {self.delay_ms} ms late already" if self in struck else ""


class _KeptFrame(FrameFault):
    """The frame stays on its way until something releases it."""

    __slots__ = ()
    keeps = True

    def strike(self, frame: Frame, network: NetworkOfWorld, flight: Flight) -> None:
        """Let nothing arrive by itself."""
        flight.copies = 0


@dataclass(frozen=True, slots=True)
class Hold(_KeptFrame):
    """The frame stays on its way until a `Release` of it; without one it never arrives."""

    excludes = "held"
    words = Words(
        label="hold", title="The frame stays on its way until it is released", chapter="the {what} is held",
        event="{frame} is held.", explanation="{whose} is held",
    )  # fmt: skip

    def catch(self, frame: Frame, network: NetworkOfWorld) -> None:
        """Keep the frame."""
        network.links.hold(frame)


class _BesideAnother(_KeptFrame):
    """The frame stays on its way until another one, which is sent later, arrives."""

    __slots__ = ()
    excludes = "overtaken"

    @property
    def _other(self) -> str:
        return str(getattr(self, self.other))

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, Any], nodes: Sequence[str]) -> Fault:
        """Return it with the other frame of the press."""
        return cls.of_words(target, details[cls.other])

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless both frames are named, and are two."""
        check_frame_id(self.frame)
        check_frame_id(self._other)
        if self._other == self.frame:
            raise ValueError(f"{self.frame} cannot arrive {self.other} itself")

    def strikes(self, frame: Frame, network: NetworkOfWorld) -> bool:
        """Return False if the other frame was sent before."""
        return not network.was_sent(self._other)

    def why_not_here(self, world: World, frame: Frame, struck: Sequence[FrameFault]) -> str:
        """Return why the other frame cannot overtake it."""
        other = world.trace.find_frame(self._other)
        if other is None or other.copy_of:
            return f"{self.press} needs the frame {self.other} which {self.frame} arrives"
        if other.sent_step <= frame.sent_step:
            return f"{self._other} is not sent later than {self.frame}, so it cannot overtake it"
        return ""


@dataclass(frozen=True, slots=True)
class Reorder(_BesideAnother):
    """The frame arrives right after `after`, which must be sent later; if `after` is never sent, it never arrives."""

    after: str
    other = "after"
    words = Words(
        label="reorder", title="The frame arrives right after another one", chapter="the {what} is overtaken",
        event="{frame} will be overtaken.",
    )  # fmt: skip

    @classmethod
    def targets(cls, world: World, target: str) -> Iterator[Fault]:
        """Yield it after each frame that is sent later."""
        frames = world.trace.frames
        later = (f for f in frames.values() if not f.copy_of and f.sent_step > frames[target].sent_step)
        yield from (cls(target, frame.id) for frame in later)

    def catch(self, frame: Frame, network: NetworkOfWorld) -> None:
        """Keep the frame until the other one has arrived."""
        network.links.hold(frame, self.after)


@dataclass(frozen=True, slots=True)
class Late(_BesideAnother):
    """The frame arrives just before `before`, which must be sent later, and waits until a request has been answered.

    It arrives, too, when `before` is lost. If `before` is never sent it never arrives, and the fault counts as unused.
    """

    before: str
    other = "before"
    waits = True
    kind = "before"
    words = Words(
        label="late until just before", title="The frame arrives just before another one", chapter="the {what} is late",
        event="{frame} is held until just before {before}.",
        explanation="{whose} is late: it arrives just before {before}",
    )  # fmt: skip

    @classmethod
    def targets(cls, world: World, target: str) -> Iterator[Fault]:
        """Yield nothing: whether the other frame will be sent is known only when it is."""
        return iter(())

    def catch(self, frame: Frame, network: NetworkOfWorld) -> None:
        """Keep the frame until the other one is about to arrive."""
        network.frame_faults.wait_before(frame, self.before, self)

    @classmethod
    def sequences_on(cls, frames: Mapping[str, Frame], frame: Frame) -> Iterator[tuple[Fault, ...]]:
        """Yield it for a request without a sequence number, before later ones that decide something."""
        markers = frame.body.markers if frame.name == "WriteTxnMarkers" else ()
        is_protected = any(marker.transaction_version >= 2 for marker in markers)
        if frame.version <= UNNUMBERED.get(frame.name, -1) and not is_protected:
            later = [f for f in frames.values() if f.sent_step > frame.sent_step and f.client and not f.copy_of]
            for other in [f for f in later if f.name in ENDINGS][:MOST_ENDINGS]:
                yield (cls(frame.id, other.id),)


@dataclass(frozen=True, slots=True, repr=False)
class Release(TimedFault):
    """The frame that a `Hold` keeps on its way arrives now, if its receiver still runs."""

    frame: str
    at_step: int = -1
    at_ms: int = -1
    target_kind = target_field = "frame"
    words = Words(
        label="release", title="The held frame arrives now", chapter="the {what} is released",
        event="{frame} is released.", explanation="{frame} goes on its way at {at} ms",
    )  # fmt: skip

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless the frame is named like "EndTxn#1"."""
        check_frame_id(self.frame)

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return the release of this frame, at its milliseconds or at 0."""
        return cls(target, at_ms=milliseconds_of(*words))

    def why_not_now(self, world: World) -> str:
        """Return why not: the frame is not held."""
        return "" if world.network.links.find_held(self.frame) else f"{self.frame} is not held at this step"

    def strike(self, world: World, cause: int) -> bool:
        """Let the frame arrive."""
        frame = world.network.links.find_held(self.frame)
        if frame is None:
            return False
        world.network.links.release(self.frame)
        self.note(world, frame.sender, cause, {}, frame.id)
        return True


FAULTS: tuple[type[Fault], ...] = (Drop, Duplicate, Delay, Hold, Release, Reorder, Late)
__all__ = ["Delay", "Drop", "Duplicate", "Hold", "Late", "Release", "Reorder"]
