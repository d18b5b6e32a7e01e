"""Faults of the links between nodes: a network partition, and its end."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

from kafkalab.broker.controller import Controller
from kafkalab.faults.check import check_duration, check_node, milliseconds_of
from kafkalab.faults.durations import AWAY_MS, draw_duration
from kafkalab.faults.fault import Fault, TimedFault, Words
from kafkalab.faults.node import note_silence
from kafkalab.faults.world import Scene, Targets, World
from kafkalab.limits import quote
from kafkalab.protocol.arguments import misfit
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.trace import Event

Side: TypeAlias = str | tuple[str, ...]


def nodes_of(side: Side) -> tuple[str, ...]:
    """Return the nodes of one side of a network partition."""
    return (side,) if isinstance(side, str) else side


def sides_of(target: str, nodes: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the two sides that a button names: of "b1|b2,b3" b1, and b2 and b3; of "b1" alone b1, and all others."""
    first, bar, second = target.partition("|")
    a = tuple(name.strip() for name in first.split(",") if name.strip())
    if bar:
        return a, tuple(name.strip() for name in second.split(",") if name.strip())
    return a, tuple(name for name in nodes if name not in a)


def _side(nodes: tuple[str, ...]) -> Side:
    return nodes[0] if len(nodes) == 1 else nodes


class LinkFault(TimedFault):
    """A fault of all links between a node of side `a` and one of side `b`."""

    __slots__ = ()
    target_kind = "link"
    a: Side
    b: Side

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each link, as its two nodes."""
        return [(a, b) for a in nodes_of(self.a) for b in nodes_of(self.b)]

    @property
    def target(self) -> str:
        """The two sides, as a button names them."""
        return f"{','.join(nodes_of(self.a))}|{','.join(nodes_of(self.b))}"

    @classmethod
    def between(cls, a: Side, b: Side) -> TimedFault:
        """Return the fault of the links between two sides."""
        return cls(a, b)  # type: ignore[call-arg]

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, Any], nodes: Sequence[str]) -> Fault:
        """Return the fault of the links between two sides, of which the second may be all other nodes."""
        a, b = sides_of(target, nodes)
        return cls.between(_side(a), _side(b))

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return the fault of the links "b1|b2,b3", at its milliseconds or at 0."""
        a, b = sides_of(target, ())
        return cls(_side(a), _side(b), at_ms=milliseconds_of(*words))  # type: ignore[call-arg]

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless both sides have nodes, and other ones."""
        for name, side in (("a", self.a), ("b", self.b)):
            if wrong := misfit(side, Side, name):
                raise ValueError(wrong)
        a, b = nodes_of(self.a), nodes_of(self.b)
        for node in (*a, *b):
            check_node(node, nodes)
        if not a or not b or any(node in b for node in a):
            raise ValueError(f"{quote(self)}: each side names other nodes, at least one")

    def strike(self, world: World, cause: int) -> bool:
        """Let it happen to each link that is not so already."""
        new = [pair for pair in self.pairs if self.strike_link(world, *pair)]
        if new:
            self.strike_nodes(world, new, self.note_pairs(world, new, cause))
        return bool(new)

    @abstractmethod
    def strike_link(self, world: World, a: str, b: str) -> bool:
        """Let it happen to one link; return whether anything is different now."""

    def note_pairs(self, world: World, pairs: list[tuple[str, str]], cause: int) -> int:
        """Record the event of these links; return its step."""
        return self.note(world, pairs[0][0], cause, self.data_of(pairs))

    def data_of(self, pairs: list[tuple[str, str]]) -> dict[str, object]:
        """Return what the event says."""
        return {"pairs": pairs}

    def strike_nodes(self, world: World, pairs: list[tuple[str, str]], step: int) -> None:
        """Let the nodes of these links notice it."""
        return


def _cut_off_from_the_controller(world: World, pairs: list[tuple[str, str]]) -> list[str]:
    return [n for pair in pairs if Controller.name in pair for n in pair if n in world.brokers]


@dataclass(frozen=True, slots=True, repr=False)
class Cut(LinkFault):
    """A network partition: no frame gets from `a` to `b` or back, frames in flight included.

    A side is a node, or several in a tuple. A network partition gives no signal: requests time out. The controller
    fences a broker cut off from it when its session expires.
    """

    a: Side
    b: Side
    at_step: int = -1
    at_ms: int = -1
    kind = "cut"
    words = Words(
        label="isolate", title="No frame gets from here to any other node or back", chapter="{node} network cut",
        event="No frame gets through between {pairs}.",
        explanation="from {at} ms on no frame passes between {sorted_pairs}",
    )  # fmt: skip

    def why_not_now(self, world: World) -> str:
        """Return why not: all of it is cut already."""
        cut = all(world.network.links.is_cut(a, b) for a, b in self.pairs)
        return "no frame gets through there already" if cut else ""

    def strike_link(self, world: World, a: str, b: str) -> bool:
        """Cut the link."""
        return world.network.part(a, b)

    def note_pairs(self, world: World, pairs: list[tuple[str, str]], cause: int) -> int:
        """Record the event; a leader hears no more from followers that are cut off."""
        for a, b in [pair for pair in pairs if pair[0] in world.brokers and pair[1] in world.brokers]:
            note_silence(world, b, world.now, (a,))
            note_silence(world, a, world.now, (b,))
        return LinkFault.note_pairs(self, world, pairs, cause)

    def strike_nodes(self, world: World, pairs: list[tuple[str, str]], step: int) -> None:
        """Begin the end of the sessions of brokers that the controller hears no more."""
        for name in _cut_off_from_the_controller(world, pairs):
            world.sessions.watch(name, step)

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield the cut of the event's broker from the others, and from the others and the controller."""
        others = tuple(name for name in scene.brokers if name != event.node)
        if others and event.node in scene.brokers:
            end = event.at_ms + AWAY_MS[2]
            for side in (_side(others), (*others, Controller.name)):
                yield cls(event.node, side, at_step=event.step), Heal(event.node, side, at_ms=end)

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw the other side, and the end."""
        others = [name for name in (*run.clients, *run.brokers, Controller.name) if name != node]
        side = tuple(chance.sample(others, chance.randint(1, len(others))))
        return cls(node, side, at_step=step), Heal(node, side, at_ms=end_ms)


@dataclass(frozen=True, slots=True, repr=False)
class Heal(LinkFault):
    """Frames between `a` and `b` arrive again, as fast as before.

    The controller lets a fenced broker in when its heartbeats arrive.
    """

    a: Side
    b: Side
    at_step: int = -1
    at_ms: int = -1
    words = Words(
        label="rejoin", title="Frames fly to and from here again", chapter="{node} network healed",
        event="Frames fly again: {pairs}.",
        explanation="from {at} ms on frames pass again between {sorted_pairs}",
    )  # fmt: skip

    def why_not_now(self, world: World) -> str:
        """Return why not: nothing is cut or slow."""
        links = world.network.links
        cut = any(links.is_cut(*pair) or pair in links.slow for pair in self.pairs)
        return "" if cut else "nothing is cut there"

    def strike_link(self, world: World, a: str, b: str) -> bool:
        """Heal the link."""
        return world.network.links.heal(a, b)

    def strike_nodes(self, world: World, pairs: list[tuple[str, str]], step: int) -> None:
        """Let the controller and the brokers hear of each other again."""
        for name in _cut_off_from_the_controller(world, pairs):
            world.sessions.heard_again(name, step)
            world.controller.tell_if_alive(name, step)


@dataclass(frozen=True, slots=True, repr=False)
class Throttle(LinkFault):
    """The links between `a` and `b` become slow: each carries one frame in `frame_ms`, each way, until a `Heal`.

    Frames keep their order and wait for each other, so that a request may time out although nothing is lost.
    """

    a: Side
    b: Side
    frame_ms: int = 500
    at_step: int = -1
    at_ms: int = -1
    kind = "throttle"
    number = "frame_ms", frame_ms
    words = Words(
        label="slow", title="Its links carry frames one by one, each way", chapter="{node} throttled",
        event="One frame in {frame_ms} ms gets through between {pairs}.",
        explanation="from {at} ms on one frame in {frame_ms:,} ms passes between {sorted_pairs}",
    )  # fmt: skip

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, Any], nodes: Sequence[str]) -> Fault:
        """Return it with the milliseconds of the press."""
        a, b = sides_of(target, nodes)
        return cls(_side(a), _side(b), details.get(*cls.number))

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return it with its milliseconds, which must be given: "Throttle:b1|b2:200"."""
        a, b = sides_of(target, ())
        frame_ms, *rest = words
        return cls(_side(a), _side(b), milliseconds_of(frame_ms), at_ms=milliseconds_of(*rest))

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError for other sides or another time than there can be."""
        LinkFault.check_target(self, nodes, topics)
        check_duration("frame_ms", self.frame_ms)

    def why_not_now(self, world: World) -> str:
        """Return why not: all links are slow already."""
        slow = all(pair in world.network.links.slow for pair in self.pairs)
        return "frames are slow there already; heal it first" if slow else ""

    def strike_link(self, world: World, a: str, b: str) -> bool:
        """Slow the link down."""
        return world.network.links.throttle(a, b, self.frame_ms)

    def data_of(self, pairs: list[tuple[str, str]]) -> dict[str, object]:
        """Return what the event says: the links, and the time for a frame."""
        return {"pairs": pairs, "frame_ms": self.frame_ms}

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield slow links of the event's broker to all others, until a transaction has timed out."""
        others = tuple(name for name in scene.brokers if name != event.node)
        if others and event.node in scene.brokers:
            side = (*others, Controller.name)
            yield cls(event.node, side, at_step=event.step), Heal(event.node, side, at_ms=event.at_ms + AWAY_MS[2])

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw the other side, the time for a frame, and the end."""
        cut, heal = Cut.draw(run, node, step, end_ms, chance)
        assert isinstance(cut, Cut)
        return cls(cut.a, cut.b, draw_duration(chance), at_step=step), heal


FAULTS: tuple[type[Fault], ...] = (Cut, Heal, Throttle)
__all__ = ["Cut", "Heal", "Throttle"]
