"""A tap's power over frames: none, unless faults were allowed; then it holds, drops, delays and doubles them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kafkalab.faults.fault import FrameFault, describe_unused
from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Late, Release
from kafkalab.faults.registry import TYPES, fault_of_words
from kafkalab.faults.request import RespondWith
from kafkalab.limits import quote, whole_number
from kafkalab.trace import Frame
from kafkalab.wire.tap.frames import Unread, is_api
from kafkalab.wire.tap.session import Exchange, Session

READ_ONLY = "this tap only reads; `Tap(..., faults=True)` or `--faults` lets it hold, drop and delay frames"
FAULTS = (Drop, Duplicate, Delay, Hold, Release, Late, RespondWith)
EXAMPLES = (
    "Drop:EndTxnResponse#1, Duplicate:app:Produce#1, Delay:Produce#1:500, Hold:EndTxn#1, Release:EndTxn#1, "
    "Late:TxnOffsetCommit#1:EndTxn#2 or RespondWith:EndTxn#1:NOT_COORDINATOR"
)
TapFault = FrameFault | Release


def fault_of(text: str) -> TapFault:
    """`fault_of("Delay:app:EndTxn#2:500") == Delay("app:EndTxn#2", 500)`. ValueError for what no tap does."""
    name = text.partition(":")[0]
    if name in TYPES and name not in [kind.__name__ for kind in FAULTS]:
        raise ValueError(f"a tap cannot do {name} to a running Kafka; a fault is {EXAMPLES}")
    fault = fault_of_words(text, FAULTS, EXAMPLES)
    assert isinstance(fault, TapFault)
    if not all(map(_is_named, fault.frames if isinstance(fault, FrameFault) else (fault.frame,))):
        raise ValueError(f"a fault is {EXAMPLES}, not {quote(text)}")
    check(fault)
    return fault


def check(fault: TapFault) -> None:
    """Raise ValueError, saying why, for a fault that no tap can do."""
    if isinstance(fault, RespondWith | Late):
        fault.check((), None)
    if isinstance(fault, Duplicate) and "Response#" in fault.frame:
        raise ValueError(f"{fault.frame} is a response: a second one would end its connection; double the request")


def _is_named(frame: str) -> bool:
    api, _, number = frame.rpartition(":")[2].partition("#")
    return is_api(api.removesuffix("Response")) and whole_number(number) >= 1


@dataclass(slots=True)
class Gate:
    """`planned` has the faults of frames to come, by their names; `held` the frames that wait, by their ids, and
    `names` what waits: APIs ("EndTxn"), answers ("EndTxnResponse"), clients, brokers, or "" for every frame.

    `was_sent` says of a frame's name whether it has passed; `when_struck` is called with each fault that strikes.
    """

    allowed: bool = False
    planned: dict[str, list[FrameFault]] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    was_sent: Callable[[str], bool] = field(default=lambda name: False)
    when_struck: Callable[[TapFault], None] = field(default=lambda fault: None)
    _pending: list[TapFault] = field(default_factory=list)  # what waits for another frame, or for its time
    _late: dict[str, list[tuple[Late, Frame]]] = field(default_factory=dict)
    _over: dict[str, asyncio.Event] = field(default_factory=dict)  # by frame that another one waits for
    _own: dict[str, str] = field(default_factory=dict)  # of held frames: the client's name, and the id

    def plan(self, fault: TapFault) -> None:
        """Do this when its frame comes. ValueError if faults are not allowed, and for a frame that has passed."""
        self.check()
        check(fault)
        if isinstance(fault, Release):
            if fault.at_ms > 0:
                self._pending.append(fault)
                asyncio.get_running_loop().call_later(fault.at_ms / 1000, self._release, fault)
            else:
                self.let_go(fault.frame)
                self.when_struck(fault)
            return
        if self.was_sent(fault.frame):
            raise ValueError(f"{fault.frame} has been sent already")
        self.planned.setdefault(fault.frame, []).append(fault)

    def check(self) -> None:
        """Raise ValueError, which says what would allow it, if faults are not allowed."""
        if not self.allowed:
            raise ValueError(READ_ONLY)

    @property
    def unused(self) -> list[TapFault]:
        """The faults that have changed nothing."""
        return [*(fault for faults in self.planned.values() for fault in faults), *self._pending]

    def describe_unused(self) -> list[str]:
        """Return a sentence about each fault that has changed nothing."""
        return [describe_unused(fault, self.was_sent) for fault in self.unused]

    # held frames

    def let_go(self, frame: str) -> None:
        """Let a held frame go on. ValueError for one that is not held."""
        name = self._own.get(frame, frame)
        if name not in self.held:
            raise ValueError(f"{quote(frame)} is not held; held are {', '.join(self.held) or 'none'}")
        self.held.pop(name).set()

    def _release(self, fault: Release) -> None:
        if self._own.get(fault.frame, fault.frame) in self.held:
            self._strike(fault)
            self.let_go(fault.frame)

    async def _hold(self, frame: Frame) -> None:
        self.held[frame.id] = event = asyncio.Event()
        self._own[frame.name_at_client] = frame.id
        await event.wait()

    def _waits(self, frame: Frame) -> bool:
        return any(name in ("", frame.name, frame.sender, frame.receiver) for name in self.names)

    # frames that pass

    async def meet(self, session: Session, exchange: Exchange, now: Callable[[], int]) -> bool:
        """Wait as long as the faults of the latest frames say; return False if they are dropped."""
        if not self.allowed:
            return True
        for frame in exchange.latest:
            await self._let_in(frame)
            faults = [f for name in (frame.id, frame.name_at_client) for f in self.planned.pop(name, ())]
            for fault in faults or ([Hold(frame.id)] if self._waits(frame) else []):
                if isinstance(fault, Late) and self.was_sent(fault.before):
                    self._pending.append(fault)
                    continue
                session.fault(now(), exchange, frame, fault)
                if not await self._meet(fault, exchange, frame):
                    return False
                if isinstance(fault, Hold | Late):
                    session.fault(now(), exchange, frame, Release(frame.id))
        return True

    async def _meet(self, fault: FrameFault, exchange: Exchange, frame: Frame) -> bool:
        """Do what the fault says of a frame; return False if the frame is dropped."""
        if isinstance(fault, Late):
            self._pending.append(fault)
            self._late.setdefault(fault.before, []).append((fault, frame))
        elif isinstance(fault, RespondWith) and isinstance(exchange.asked.bodies[0], Unread):
            self._pending.append(fault)
        else:
            self._strike(fault)
        match fault:
            case Drop():
                return False
            case Delay():
                await asyncio.sleep(fault.delay_ms / 1000)
            case Hold() | Late():
                await self._hold(frame)
            case Duplicate():
                exchange.copies = 2
            case RespondWith():
                exchange.respond_with = fault
        exchange.was_late |= isinstance(fault, Delay | Hold | Late)
        return True

    def _strike(self, fault: TapFault) -> None:
        if fault in self._pending:
            self._pending.remove(fault)
        self.when_struck(fault)

    async def _let_in(self, frame: Frame) -> None:
        """Let in what shall arrive just before the frame; wait until that has been answered."""
        for name in (frame.id, frame.name_at_client):
            for fault, late in self._late.pop(name, ()):
                if late.id in self.held:
                    self._strike(fault)
                    self._over[late.id] = over = asyncio.Event()
                    self.let_go(late.id)
                    await over.wait()

    def end(self, frames: Iterable[Frame]) -> None:
        """Let go on what waits for these frames: they have been answered or written, or never will be."""
        for frame in frames:
            if frame.id in self._over:
                self._over.pop(frame.id).set()
