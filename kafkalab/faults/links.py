"""The links between nodes: network partitions, slow links, and frames that are held until they are released."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.trace import Frame


class Links:
    """`arrive` is called for a frame that is released: it shall arrive now."""

    def __init__(self, arrive: Callable[[Frame], None]) -> None:
        self.arrive = arrive
        self.cuts: dict[tuple[str, str], bool] = {}
        self.slow: dict[tuple[str, str], int] = {}  # link -> the milliseconds that it takes for each frame
        self._held: dict[str, Frame] = {}
        self.followers: dict[str, list[str]] = {}  # frame -> those that shall arrive after it

    # network partitions

    def is_cut(self, a: str, b: str) -> bool:
        """Return whether a network partition keeps frames between the two from arriving."""
        return (a, b) in self.cuts

    def cut(self, a: str, b: str) -> bool:
        """Cut the link both ways; return whether it was whole before."""
        new = (a, b) not in self.cuts
        self.cuts[a, b] = self.cuts[b, a] = True
        return new

    def throttle(self, a: str, b: str, frame_ms: int) -> bool:
        """Let the link carry one frame in `frame_ms`, each way; return False if it is slow already."""
        if (a, b) in self.slow:
            return False
        self.slow[a, b] = self.slow[b, a] = frame_ms
        return True

    def heal(self, a: str, b: str) -> bool:
        """Heal the link both ways; return whether it was cut or slow before."""
        was = [(a, b) in links for links in (self.cuts, self.slow)]
        for link in ((a, b), (b, a)):
            self.cuts.pop(link, None)
            self.slow.pop(link, None)
        return any(was)

    # held frames

    def hold(self, frame: Frame, after: str = "") -> None:
        """Hold the frame on its way until it is released or, if `after` names one, until that frame has arrived."""
        self._held[frame.id] = frame
        if after:
            self.followers.setdefault(after, []).append(frame.id)

    def find_held(self, name: str) -> Frame | None:
        """Return the frame of this name, "EndTxn#1" or a client's "app:EndTxn#1", if it is held on its way."""
        if ":" in name:
            return next((frame for frame in self._held.values() if frame.name_at_client == name), None)
        return self._held.get(name)

    @property
    def all_held(self) -> list[str]:
        """The ids of the frames that are held on their way, in the order in which they were sent."""
        return list(self._held)

    def take(self, name: str) -> Frame | None:
        """Hold the frame no longer, and return it if it was held; what becomes of it is the caller's."""
        frame = self.find_held(name)
        return frame and self._held.pop(frame.id)

    def release(self, name: str) -> bool:
        """Let the frame arrive if it is held on its way; return whether it is."""
        frame = self.take(name)
        if frame is not None:
            self.arrive(frame)
        return frame is not None

    def release_followers(self, frame: Frame) -> None:
        """Release what waits for this frame: it has arrived, or never will."""
        for name in (frame.id, frame.name_at_client):
            for frame_id in self.followers.pop(name, ()):
                self.release(frame_id)
