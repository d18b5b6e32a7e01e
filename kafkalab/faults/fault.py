"""The parts of a fault: its data, the check of its arguments, its effect, and its words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from random import Random
from typing import Any, ClassVar, NamedTuple, TypeAlias

from kafkalab.faults.check import check_frame_id, check_moment
from kafkalab.faults.world import Flight, NetworkOfWorld, Scene, Targets, World
from kafkalab.protocol import lazy_dataclass
from kafkalab.protocol.arguments import check_fields
from kafkalab.trace import Event, Frame, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A fault in words: `{…}` stands for a value of its event, `{node}`, `{frame}` and `{at}` for whom and when.

    `label` and `title` are those of its button and the button's tooltip, `chapter` the title of the chapter that it
    begins, `event` the sentence of its event in a picture, `explanation` a part of a sentence of `explain`. An empty
    `event` or `explanation` is told by the code that draws the event.
    """

    label: str
    title: str
    chapter: str
    event: str = ""
    explanation: str = ""


class Variant(NamedTuple):
    """A second button of a fault: the details with which it is pressed, its label, its title."""

    details: Mapping[str, Any]
    label: str
    title: str


class FaultBase(ABC):
    """The common part of all faults."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    target_kind: ClassVar[str]
    """The kind of its target: "frame", "node", "link", "clock", "cluster", "leader" or "log"."""
    press: ClassVar[str] = ""
    """The name of its button's action."""
    words: ClassVar[Words]
    variants: ClassVar[tuple[Variant, ...]] = ()
    details: ClassVar[tuple[str, ...]] = ()
    """The names of the details that a press has beside its target."""
    number: ClassVar[tuple[str, int] | None] = None
    """The field that a person types as a number from 1 on, and the number that is there before."""
    other: ClassVar[str] = ""
    """The field that names a second frame, which is sent later; it is a detail, too."""
    kind: ClassVar[str] = ""
    """The name under which a search tries it; empty for faults that only undo another, or that another stands for."""

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if "press" not in cls.__dict__:
            cls.press = cls.__name__.lower()
        if cls.number and not cls.details:
            cls.details = cls.number[:1]
        if cls.other and not cls.details:
            cls.details = (cls.other,)

    target_field: ClassVar[str] = ""
    """The field that says whom or what it strikes; empty for what strikes all."""

    @property
    def target(self) -> str:
        """Return its target as a button names it: a frame, a node, two nodes, a partition; "" for what strikes all."""
        return str(getattr(self, self.target_field)) if self.target_field else ""

    @property
    def detail(self) -> str:
        """Return the words of its button beside the target: "1000", "b2 unclean"."""
        return ""

    @property
    def key(self) -> str:
        """Return the name of its button in the payload: "crash b1", "delay EndTxn#1 1000", "elect out-0 b2 unclean"."""
        return f"{self.press} {self.target}" + (f" {self.detail}" if self.detail else "")

    @classmethod
    def targets(cls, world: World, target: str) -> Iterator[Fault]:
        """Yield the faults of this class that could strike a frame, node, link or partition of this name."""
        yield cls.of_press(target, {}, ())

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, object], nodes: Sequence[str]) -> Fault:
        """Return the fault that a button adds; `nodes` are those of the run."""
        made: Fault = cls(*[target] * bool(cls.target_field))  # type: ignore[assignment]
        return made

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return the fault that a command line names after its class: "Delay:EndTxn#1:500".

        ValueError or TypeError for other words than it takes.
        """
        raise ValueError(f"{cls.__name__} cannot be given as words")

    @abstractmethod
    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError or TypeError, saying what would be right, unless it fits these nodes and topics."""

    @abstractmethod
    def why_not(self, world: World) -> str:
        """Return why it would change nothing if it struck now, as the rest of a sentence; "" if it would."""

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield it with what undoes it, as a search tries it right after an event."""
        return iter(())

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw it right after a step, with what undoes it at `end_ms`; `node` is drawn for those that strike one."""
        raise NotImplementedError(f"no search draws {cls.__name__}")


@lazy_dataclass.dataclass(frozen=True, slots=True)
class FrameFault(FaultBase):
    """A fault that strikes a frame when it is sent.

    `frame` is the name of a frame, "EndTxn#1", or a client's name of it: "app:EndTxn#1" counts only the requests that
    the client app sends, "app:EndTxnResponse#1" the responses that it gets.
    """

    frame: str
    target_kind = target_field = "frame"
    waits: ClassVar[bool] = False
    """True if the fault waits for another event, which may never happen."""
    of_requests_only: ClassVar[bool] = False
    """True if it can strike requests only."""
    of_clients_only: ClassVar[bool] = False
    """True if it can strike frames of clients only."""
    keeps: ClassVar[bool] = False
    """True if the frame stays where it is until another fault lets it continue."""

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return the fault of this frame."""
        return cls(target, *words)

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless the frame is named like "EndTxn#1"."""
        check_frame_id(self.frame)

    @classmethod
    def fits(cls, frame: str) -> bool:
        """Return whether it can strike a frame of this name."""
        return True

    def why_never_received(self, frame: Frame) -> str:
        """Return why it cannot happen at the frame's receiver: the frame never arrives; "" if it does, or may."""
        return f"{self.frame} never arrives" if frame.fate not in ("in flight", "delivered") else ""

    @property
    def frames(self) -> tuple[str, ...]:
        """Return the names of its frames."""
        return (self.frame, getattr(self, self.other)) if self.other else (self.frame,)

    @property
    def awaited(self) -> str:
        """Return what has not happened if the frame was sent and the fault is unused, as the rest of a sentence."""
        return f"{getattr(self, self.other)} was not sent after it" if self.other else ""

    def event_data(self, frame: Frame) -> dict[str, object]:
        """Return what its event says of the frame beside the fault itself."""
        return {self.other: getattr(self, self.other)} if self.waits and self.other else {}

    @classmethod
    def sequences_on(cls, frames: Mapping[str, Frame], frame: Frame) -> Iterator[tuple[Fault, ...]]:
        """Yield it as a search tries it on a frame; `frames` are those of the run."""
        return iter(())

    def strikes(self, frame: Frame, network: NetworkOfWorld) -> bool:
        """Return False where it has no effect although its frame is sent."""
        return True

    def catch(self, frame: Frame, network: NetworkOfWorld) -> None:
        """Keep the frame, before the event of the fault is recorded."""
        return

    @abstractmethod
    def strike(self, frame: Frame, network: NetworkOfWorld, flight: Flight) -> None:
        """Change the frame's flight, right after the event of the fault."""

    def why_not(self, world: World) -> str:
        """Return why no fault would change anything about the frame, or see `why_not_here` of each class."""
        reason, struck = why_no_fault(world, self.frame), _faults_of(world, self.frame)
        frame = world.trace.find_frame(self.frame)
        return reason or (self.why_not_here(world, frame, struck) if frame else "")

    excludes: ClassVar[str] = ""
    """The reason why no other fault can strike the same frame: "held"."""

    def why_not_here(self, world: World, frame: Frame, struck: Sequence[FrameFault]) -> str:
        """Return why it would change nothing about a frame that flies; `struck` are the faults that strike it."""
        return ""


def _faults_of(world: World, frame: str) -> list[FrameFault]:
    return [f for f in world.faults if isinstance(f, FrameFault) and frame in names_of(world.trace, f.frame)]


def names_of(trace: Trace, name: str) -> tuple[str, ...]:
    """Return both names of a frame of which one is given: "EndTxn#7" and a client's "app:EndTxn#2"."""
    frame = trace.find_frame(name)
    return (frame.id, frame.name_at_client) if frame else (name,)


def why_no_fault(world: World, name: str) -> str:
    """Return why no fault would change anything about the frame of this name; "" if one would."""
    frame = world.trace.find_frame(name)
    if frame is None or frame.copy_of:
        return f"no frame {name!r} flies in this run"
    if frame.fate == "dropped":
        return f"{name} is dropped already"
    if reason := next(filter(None, (fault.excludes for fault in _faults_of(world, name))), ""):
        return f"{name} is {reason} already"
    if frame.fate == "lost" and _never_left(world, frame):
        return f"{name} never leaves: {frame.sender} crashes in that moment"
    return ""


def _never_left(world: World, frame: Frame) -> bool:
    """Return True if the frame's sender crashed right after the event of sending it, and took it along."""
    for event in world.trace.events[frame.sent_step + 1 :]:
        if event.at_ms > frame.sent_ms:
            return False
        if event.kind == "crash" and event.cause == frame.sent_step and event.node == frame.sender:
            return "sent" not in event.data
    return False


class TimedFault(FaultBase):
    """A fault that strikes right after event `at_step`, or at `at_ms`; -1 is "not given"."""

    __slots__ = ()
    at_step: int
    at_ms: int

    def __repr__(self) -> str:
        shown = []
        for f in fields(self):
            value = getattr(self, f.name)
            if f.default != value:
                shown.append(repr(value) if not isinstance(f.default, (int, bool)) else f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @abstractmethod
    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError or TypeError unless what it strikes is there; its moment is checked afterwards."""

    @abstractmethod
    def strike(self, world: World, cause: int) -> bool:
        """Let it happen because of event `cause`; return whether anything is different now, which left an event."""

    @abstractmethod
    def why_not_now(self, world: World) -> str:
        """Return why it would change nothing now; see `why_not`."""

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError or TypeError unless its target is there and it has one moment."""
        self.check_target(nodes, topics)
        check_fields(self)
        check_moment(self, self.at_step, self.at_ms)

    def why_not(self, world: World) -> str:
        """Return why it would change nothing now, also because the scenario plans the same for this step."""
        reason = self.why_not_now(world)
        return reason or ("this happens right after this step already" if self._is_planned(world) else "")

    def _is_planned(self, world: World) -> bool:
        """Return True if the scenario has the same fault for this step; that of the set-up strikes at its end."""
        step = world.trace.steps - 1
        planned = [f for f in world.faults if isinstance(f, TimedFault) and f.at_step >= 0]
        now = [f for f in planned if max(f.at_step, world.start) == step]
        return bool(now) and _at_step(self, -1) in [replace(f, at_step=-1) for f in now]

    def note(self, world: World, node: str, cause: int, data: dict[str, object], frame: str = "") -> int:
        """Record the fault's event; return its step."""
        name = type(self).__name__
        return world.record(node, "fault", name, cause, {"fault": repr(self), **data}, frame)


def _at_step(fault: TimedFault, step: int) -> TimedFault:
    moved: TimedFault = replace(fault, at_step=step, at_ms=-1)
    return moved


Fault: TypeAlias = FrameFault | TimedFault


def describe_unused(fault: Fault, was_sent: Callable[[str], bool]) -> str:
    """Return a sentence about a fault that has changed nothing; `was_sent` says of a frame's name whether it was."""
    missing = "its time has not come, or it would have changed nothing"
    if isinstance(fault, FrameFault):
        missing = fault.awaited if was_sent(fault.frame) and fault.awaited else f"{fault.frame} has not been sent"
    return f"unknown: the fault {fault!r} never struck: {missing}"
