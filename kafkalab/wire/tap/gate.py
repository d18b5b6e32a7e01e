"""A tap's power over frames: none, unless faults were allowed; then it can hold, drop and delay them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from kafkalab.faults.fault import FrameFault
from kafkalab.faults.frame import Delay, Drop, Hold, Release
from kafkalab.faults.registry import fault_of_words
from kafkalab.limits import quote, whole_number
from kafkalab.trace import Frame
from kafkalab.wire.tap.frames import is_api
from kafkalab.wire.tap.session import Exchange, Session

READ_ONLY = "this tap only reads; `Tap(..., faults=True)` or `--faults` lets it hold, drop and delay frames"


def fault_of(text: str) -> FrameFault:
    """`fault_of("Delay:EndTxn#2:500") == Delay("EndTxn#2", 500)`. ValueError for what no tap does to a frame."""
    api, _, number = text.partition(":")[2].partition(":")[0].partition("#")
    is_named = is_api(api.removesuffix("Response")) and whole_number(number) >= 1
    examples = "Drop:EndTxnResponse#1, Hold:EndTxn#1 or Delay:Produce#1:500"
    fault = fault_of_words(text, (Drop, Hold, Delay) if is_named else (), examples)
    assert isinstance(fault, FrameFault)
    return fault


@dataclass(slots=True)
class Gate:
    """`planned` has the faults of frames to come, by their ids; `held` the frames that wait, and `names` what waits:
    APIs ("EndTxn"), answers ("EndTxnResponse"), clients, brokers, or "" for every frame."""

    allowed: bool = False
    planned: dict[str, FrameFault] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    held: dict[str, asyncio.Event] = field(default_factory=dict)

    def plan(self, fault: FrameFault) -> None:
        """Do this when its frame comes. ValueError if faults are not allowed."""
        self.check()
        self.planned[fault.frame] = fault

    def check(self) -> None:
        """Raise ValueError, which says what would allow it, if faults are not allowed."""
        if not self.allowed:
            raise ValueError(READ_ONLY)

    def let_go(self, frame: str) -> None:
        """Let a held frame go on. ValueError for one that is not held."""
        if frame not in self.held:
            raise ValueError(f"{quote(frame)} is not held; held are {', '.join(self.held) or 'none'}")
        self.held.pop(frame).set()

    async def meet(self, session: Session, exchange: Exchange, now: Callable[[], int]) -> bool:
        """Wait as long as the faults of the latest frames say; return False if they are dropped."""
        if not self.allowed:
            return True
        for frame in exchange.latest:
            fault = self.planned.pop(frame.id, None) or (Hold(frame.id) if self._waits(frame) else None)
            if fault is None:
                continue
            session.fault(now(), exchange, frame, fault)
            if isinstance(fault, Drop):
                return False
            if isinstance(fault, Delay):
                await asyncio.sleep(fault.delay_ms / 1000)
            else:
                self.held[frame.id] = asyncio.Event()
                await self.held[frame.id].wait()
                session.fault(now(), exchange, frame, Release(frame.id))
        return True

    def _waits(self, frame: Frame) -> bool:
        return any(name in ("", frame.name, frame.sender, frame.receiver) for name in self.names)
