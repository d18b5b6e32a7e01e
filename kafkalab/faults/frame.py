"""Faults of one frame: it is lost, doubled, late, held, overtaken; and the release of one that is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafkalab.faults.check import check_duration, check_frame_id, milliseconds_of
from kafkalab.faults.fault import Fault, FrameFault, TimedFault, Words
from kafkalab.faults.world import Flight, NetworkOfWorld, World
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.trace import Frame


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

    def strike(self, frame: Frame, network: NetworkOfWorld, flight: Flight) -> None:
        """Let nothing arrive by itself."""
        flight.copies = 0


@dataclass(frozen=True, slots=True)
class Hold(_KeptFrame):
    """The frame stays on its way until a `Release` of it; without one it never arrives."""

    excludes = "held"
    words = Words(
        label="hold", title="The frame stays on its way until it is released", chapter="the {what} is held",
        event="{frame} is kept on its way.", explanation="{whose} is held",
    )  # fmt: skip

    def catch(self, frame: Frame, network: NetworkOfWorld) -> None:
        """Keep the frame."""
        network.links.hold(frame)


@dataclass(frozen=True, slots=True)
class Reorder(_KeptFrame):
    """The frame arrives right after `after`, which must be sent later; if `after` is never sent, it never arrives."""

    after: str
    details = ("after",)
    excludes = "overtaken"
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

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, Any], nodes: Sequence[str]) -> Fault:
        """Return it with the other frame of the press."""
        return cls(target, details["after"])

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless both frames are named, and are two."""
        check_frame_id(self.frame)
        check_frame_id(self.after)
        if self.after == self.frame:
            raise ValueError(f"{self.frame} cannot arrive after itself")

    def strikes(self, network: NetworkOfWorld) -> bool:
        """Return False if the other frame was sent before."""
        return not network.was_sent(self.after)

    def catch(self, frame: Frame, network: NetworkOfWorld) -> None:
        """Keep the frame until the other one has arrived."""
        network.links.hold(frame, self.after)

    def why_not_here(self, world: World, frame: Frame, struck: Sequence[FrameFault]) -> str:
        """Return why the other frame cannot overtake it."""
        after = world.trace.frames.get(self.after)
        if after is None or after.copy_of:
            return f"reorder needs the frame after which {self.frame} arrives"
        if after.sent_step <= frame.sent_step:
            return f"{self.after} is not sent later than {self.frame}, so it cannot overtake it"
        return ""


@dataclass(frozen=True, slots=True, repr=False)
class Release(TimedFault):
    """The frame that a `Hold` keeps on its way arrives now, if its receiver still runs."""

    frame: str
    at_step: int = -1
    at_ms: int = -1
    target_kind = target_field = "frame"
    words = Words(
        label="release", title="The held frame arrives now", chapter="the {what} is released",
        event="{frame} is let go.", explanation="{frame} goes on its way at {at} ms",
    )  # fmt: skip

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless the frame is named like "EndTxn#1"."""
        check_frame_id(self.frame)

    def why_not_now(self, world: World) -> str:
        """Return why not: the frame is not held."""
        return "" if world.network.links.find_held(self.frame) else f"{self.frame} is not held at this step"

    def strike(self, world: World, cause: int) -> bool:
        """Let the frame arrive."""
        frame = world.network.links.find_held(self.frame)
        if frame is None:
            return False
        world.network.links.release(self.frame)
        self.note(world, frame.sender, cause, {}, self.frame)
        return True


FAULTS: tuple[type[Fault], ...] = (Drop, Duplicate, Delay, Hold, Release, Reorder)
__all__ = ["Delay", "Drop", "Duplicate", "Hold", "Release", "Reorder"]
