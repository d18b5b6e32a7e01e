"""The fault of a window: one thread of a broker stands still between two steps, while the others go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kafkalab.faults.check import check_duration, check_frame_id, milliseconds_of
from kafkalab.faults.fault import Fault, FrameFault, Words
from kafkalab.faults.request import api_of, message_of
from kafkalab.faults.world import Flight, NetworkOfWorld, World
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.windows import WINDOWS, window_named
from kafkalab.trace import Frame

MOST_ENDS = 12
"""The most ends of a stall that a search tries."""


@dataclass(frozen=True, slots=True)
class Stall(FrameFault):
    """The broker's thread that handles the request stands still in a window for `stall_ms`; its other threads go on.

    `window` is a name of `WINDOWS`. Without a Stall no handler has a window.
    """

    frame: str
    window: str
    stall_ms: int = 1000
    target_kind = "window"
    waits = True
    of_requests_only = True
    kind = "stall"
    words = Words(
        label="stall", title="The thread that handles the request stands still between two steps",
        chapter="the {what} is interrupted", event="The thread that handles {frame} will stand still at {window}.",
        explanation="the thread that handles {whose} stands still at {window}",
    )  # fmt: skip

    @classmethod
    def targets(cls, world: World, target: str) -> Iterator[Fault]:
        """Yield nothing: whether its window will be met is known only when the request is handled."""
        return iter(())

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, object], nodes: Sequence[str]) -> Fault:
        """Return it with the window of the press, or the only one of its request."""
        api = api_of(target)
        window = details.get("window") or next((w.name for w in WINDOWS.values() if w.api == api), "")
        return cls(target, str(window))

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return it for "Stall:Fetch#3:fetch-bound:20"."""
        window, ms = words
        return cls(target, window, milliseconds_of(ms))

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless the frame is a request whose handling has this window."""
        check_frame_id(self.frame)
        window_named(self.window, message_of(self.frame))
        check_duration("stall_ms", self.stall_ms)

    @property
    def awaited(self) -> str:
        """Return what has not happened."""
        return f"no broker has come to the window {self.window} while it handled {self.frame}"

    def event_data(self, frame: Frame) -> dict[str, object]:
        """Return the window and the broker."""
        return {"broker": frame.receiver, "window": self.window, "stall_ms": self.stall_ms}

    def catch(self, frame: Frame, network: NetworkOfWorld) -> None:
        """Wait until the broker comes to the window."""

        def stall() -> int:
            network.frame_faults.note_used(self)
            return self.stall_ms

        network.frame_faults.stalls[frame.id, self.window] = stall

    def strike(self, frame: Frame, network: NetworkOfWorld, flight: Flight) -> None:
        """Let the request fly on."""

    def why_not_here(self, world: World, frame: Frame, struck: Sequence[FrameFault]) -> str:
        """Return why not: the request never arrives."""
        return self.why_never_received(frame)

    @classmethod
    def sequences_on(cls, frames: Mapping[str, Frame], frame: Frame) -> Iterator[tuple[Fault, ...]]:
        """Yield it for each window of the request; it ends right after one of the frames that the broker gets next."""
        windows = [window.name for window in WINDOWS.values() if window.api == frame.name]
        if windows and frame.received_ms >= 0 and not frame.copy_of:
            arrivals = (f.received_ms - frame.received_ms for f in frames.values() if f.receiver == frame.receiver)
            ends = sorted({ms + 1 for ms in arrivals if ms > 0})[:MOST_ENDS]
            yield from ((cls(frame.id, window, ms),) for window in windows for ms in ends)


FAULTS: tuple[type[Fault], ...] = (Stall,)
__all__ = ["Stall"]
