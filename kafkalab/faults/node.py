"""Faults of a node: its process ends or stops, and what undoes that."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import ClassVar

from kafkalab.faults.check import check_node, milliseconds_of
from kafkalab.faults.durations import AWAY_MS, DOWN_MS
from kafkalab.faults.fault import Fault, TimedFault, Variant, Words
from kafkalab.faults.world import NodeOfWorld, Scene, Targets, World
from kafkalab.limits import quote
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.trace import Event


@dataclass(frozen=True, slots=True, repr=False)
class NodeFault(TimedFault):
    """A fault that happens to one node."""

    node: str
    at_step: int = -1
    at_ms: int = -1
    target_kind = target_field = "node"
    of_brokers_only: ClassVar[bool] = False

    @classmethod
    def targets(cls, world: World, target: str) -> Iterator[Fault]:
        """Yield the fault of this node."""
        if target in world.brokers or not cls.of_brokers_only:
            yield cls(target)

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return the fault of this node, at its milliseconds or at 0."""
        if not target:
            raise ValueError(f"{cls.__name__} needs a node")
        return cls(target, at_ms=milliseconds_of(*words))

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless there is such a node, and it can fail."""
        check_node(self.node, nodes)
        if self.node == "controller":
            raise ValueError("the controller cannot fail: its consensus is not modelled")
        if self.of_brokers_only and not self.node.startswith("b"):
            raise ValueError(f"{quote(self.node)} is a client; only a broker can be restarted")

    def why_not_now(self, world: World) -> str:
        """Return why not: there is no such node, or see `why_not_node`."""
        node = world.nodes.get(self.node)
        if node is None or self.node == "controller":
            return f"{self.node!r} is no client or broker of this run"
        return self.why_not_node(world, node)

    @abstractmethod
    def why_not_node(self, world: World, node: NodeOfWorld) -> str:
        """Return why it would change nothing about this node now."""

    def strike(self, world: World, cause: int) -> bool:
        """Let it happen to the node, unless that is down or paused already, or is not."""
        node = world.nodes[self.node]
        if not self.can_strike(node):
            return False
        self.strike_node(world, node, cause)
        return True

    @abstractmethod
    def can_strike(self, node: NodeOfWorld) -> bool:
        """Return whether it changes anything about the node."""

    @abstractmethod
    def strike_node(self, world: World, node: NodeOfWorld, cause: int) -> None:
        """Let it happen to the node."""


def of_brokers_only(kind: type[Fault]) -> bool:
    """Return whether clients cannot be struck with the fault."""
    return issubclass(kind, NodeFault) and kind.of_brokers_only


def note_silence(world: World, follower: str, since_ms: int, leaders: Iterable[str] = ()) -> None:
    """Tell these leaders (all if none is named) that the follower repeats no fetch from then on; -1: it does."""
    for leader in leaders or world.brokers:
        session = world.brokers[leader].state.sessions.get(follower)
        if session is not None:
            session.silent_since_ms = since_ms


@dataclass(frozen=True, slots=True, repr=False)
class Crash(NodeFault):
    """The node's process ends. A broker's logs stay; a client is gone.

    A frame whose sending is the event `at_step` never leaves; with `sent` it was handed to the network before, and
    arrives. What was sent in earlier events arrives in both cases.
    """

    sent: bool = False
    kind = "crash"
    details = ("sent",)
    words = Words(
        label="crash", title="The process ends; a broker's logs stay. The frame that is being sent never leaves",
        chapter="{node} crashes", explanation="{node} crashes at {at} ms{after}",
    )  # fmt: skip
    variants = (
        Variant({"sent": True}, "crash after sending", "The process ends; the frame that it has just sent arrives"),
    )

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, object], nodes: Sequence[str]) -> Fault:
        """Return the crash, in which the frame that is being sent arrives if the press says so."""
        return cls(target, sent=bool(details.get("sent")))

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError or TypeError for another node or another `sent` than there can be."""
        NodeFault.check_target(self, nodes, topics)
        if not isinstance(self.sent, bool):
            raise TypeError(f"sent is True or False, not {quote(self.sent)}")

    def why_not_node(self, world: World, node: NodeOfWorld) -> str:
        """Return why not: it is down already."""
        return "" if node.alive else f"{self.node} is down already"

    def can_strike(self, node: NodeOfWorld) -> bool:
        """Return whether the process runs."""
        return node.alive

    def strike_node(self, world: World, node: NodeOfWorld, cause: int) -> None:
        """End the process: what waits for it is forgotten, and its connections break."""
        node.alive, node.paused, node.last_frame_leaves = False, False, self.sent
        node.incarnation += 1
        node.inbox.clear()
        data = {"node": node.name, **({"sent": True} if self.sent else {})}
        step = world.record(node.name, "crash", node.name, cause, data)
        world.network.node_died(node.name, step)
        note_silence(world, node.name, world.now)
        if node.name in world.brokers:
            world.brokers[node.name].crash()
            world.sessions.watch(node.name, step)

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield the crash of the event's broker, with its restart, or of the client that sends."""
        if event.node in scene.brokers:
            yield cls(event.node, at_step=event.step), Restart(event.node, at_ms=event.at_ms + DOWN_MS)
        elif event.kind == "send":
            yield (cls(event.node, at_step=event.step, sent=True),)

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw the crash, with a broker's restart."""
        again = (Restart(node, at_ms=end_ms),) if node in run.brokers else ()
        return (cls(node, at_step=step, sent=chance.random() < 0.5), *again)


@dataclass(frozen=True, slots=True, repr=False)
class Restart(NodeFault):
    """The crashed broker starts again, with its logs."""

    of_brokers_only = True
    words = Words(
        label="restart", title="The broker starts again, with its logs", chapter="{node} restarts",
        explanation="{node} restarts at {at} ms",
    )  # fmt: skip

    def why_not_node(self, world: World, node: NodeOfWorld) -> str:
        """Return why not: it is no broker, or runs."""
        if self.node not in world.brokers:
            return f"{self.node} is a client; only a broker can be restarted"
        return f"{self.node} is not down" if node.alive else ""

    def can_strike(self, node: NodeOfWorld) -> bool:
        """Return whether the process is down."""
        return not node.alive

    def strike_node(self, world: World, node: NodeOfWorld, cause: int) -> None:
        """Start the process; it reads its logs."""
        node.alive = True
        step = world.record(node.name, "recover", node.name, cause, {"node": node.name})
        world.sessions.on_restart(node.name)
        world.brokers[node.name].restart(step)


@dataclass(frozen=True, slots=True, repr=False)
class Pause(NodeFault):
    """The node stops doing anything (a long garbage collection); what arrives waits."""

    kind = "pause"
    words = Words(
        label="pause", title="It stops doing anything; what arrives waits", chapter="{node} pauses",
        event="{node} pauses; what arrives waits.", explanation="{node} is paused at {at} ms{after}",
    )  # fmt: skip

    def why_not_node(self, world: World, node: NodeOfWorld) -> str:
        """Return why not: it is down, or paused already."""
        if not node.alive:
            return f"{self.node} is down"
        return f"{self.node} is paused already" if node.paused else ""

    def can_strike(self, node: NodeOfWorld) -> bool:
        """Return whether the process runs and is not paused."""
        return node.alive and not node.paused

    def strike_node(self, world: World, node: NodeOfWorld, cause: int) -> None:
        """Stop the process."""
        node.paused = True
        note_silence(world, node.name, world.now)
        step = world.record(node.name, "fault", "Pause", cause, {"node": node.name})
        if node.name in world.brokers:
            world.sessions.watch(node.name, step)

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield a pause of the event's broker past its session, or pauses of the client that sends."""
        is_broker = event.node in scene.brokers
        if is_broker or event.kind == "send":
            for ms in AWAY_MS[:1] if is_broker else AWAY_MS:
                yield cls(event.node, at_step=event.step), Resume(event.node, at_ms=event.at_ms + ms)

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw the pause and its end."""
        return cls(node, at_step=step), Resume(node, at_ms=end_ms)


@dataclass(frozen=True, slots=True, repr=False)
class Resume(NodeFault):
    """The paused node continues, first with all that has waited."""

    words = Words(
        label="resume", title="It goes on, first with all that has waited", chapter="{node} resumes",
        event="{node} resumes.", explanation="{node} continues at {at} ms",
    )  # fmt: skip

    def why_not_node(self, world: World, node: NodeOfWorld) -> str:
        """Return why not: it is not paused."""
        return "" if node.paused else f"{self.node} is not paused"

    def can_strike(self, node: NodeOfWorld) -> bool:
        """Return whether the process is paused."""
        return node.paused

    def strike_node(self, world: World, node: NodeOfWorld, cause: int) -> None:
        """Let the process go on."""
        node.paused = False
        note_silence(world, node.name, -1)
        step = world.record(node.name, "fault", "Resume", cause, {"node": node.name})
        for action in node.inbox:
            world.schedule.at(world.now, node.name, node.incarnation, action)
        node.inbox.clear()
        if node.name in world.brokers:
            world.sessions.heard_again(node.name, step)


FAULTS: tuple[type[Fault], ...] = (Crash, Restart, Pause, Resume)
__all__ = ["Crash", "Pause", "Restart", "Resume"]
