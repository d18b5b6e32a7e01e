"""Faults of one partition, and the first of them: its leader moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from kafkalab.broker.controller import Controller
from kafkalab.faults.check import check_node, check_partition
from kafkalab.faults.fault import Fault, TimedFault, Words
from kafkalab.faults.world import Scene, Targets, World
from kafkalab.protocol.acls import is_server
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.trace import Event


class PartitionFault(TimedFault):
    """A fault that happens to one partition: to its log (storage.py) or to its leader."""

    __slots__ = ()
    target_field = "partition"
    partition: str

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless there is such a partition."""
        check_partition(self.partition, topics)


def is_own(scene: Scene, event: Event, *also: str) -> bool:
    """Return True for the append to a partition of the scenario: no fault can name the topic that a program makes."""
    return event.kind == "append" and topic_of(event.name) in (*also, *scene.topics)


def draw_own(run: Targets, chance: Random) -> str:
    """Draw a partition of the scenario's topics."""
    return chance.choice([name for name in run.partitions if topic_of(name) not in INTERNAL_TOPICS])


@dataclass(frozen=True, slots=True, repr=False)
class ElectLeader(PartitionFault):
    """The controller makes a live replica the partition's leader: one that is in sync, or with `unclean` any.

    After an unclean election the leader alone is in sync, and the others truncate what they have beyond its log.
    """

    partition: str
    broker: str
    unclean: bool = False
    at_step: int = -1
    at_ms: int = -1
    target_kind = "leader"
    press = "elect"
    details = ("broker", "unclean")
    kind = "elect"
    words = Words(
        label="elect", title="The controller makes it the leader", chapter="{node} electleader",
        event="The controller elects {broker} as leader of {partition}.",
        explanation="the controller elects {broker} as leader of {partition}{after}",
    )  # fmt: skip

    @property
    def detail(self) -> str:
        """The new leader, and whether the election is unclean."""
        return self.broker + (" unclean" if self.unclean else "")

    @classmethod
    def targets(cls, world: World, target: str) -> Iterator[Fault]:
        """Yield the election of each replica, clean and unclean."""
        replicas = world.controller.metadata.partitions[target].replicas
        yield from (cls(target, replica, unclean) for replica in replicas for unclean in (False, True))

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, object], nodes: Sequence[str]) -> Fault:
        """Return the election of the press's broker."""
        return cls(target, str(details["broker"]), unclean=bool(details.get("unclean")))

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless there are such a partition and such a broker."""
        check_partition(self.partition, topics)
        check_node(self.broker, tuple(n for n in nodes if is_server(n) and n != Controller.name))

    def why_not_now(self, world: World) -> str:
        """Return why the broker cannot be elected now."""
        controller, partition, name = world.controller, self.partition, self.broker
        info = controller.metadata.partitions.get(partition)
        if info is None:
            return f"no partition {partition!r} in this run"
        if name not in info.replicas:
            return f"{name} is no replica of {partition}; there are {', '.join(info.replicas)}"
        if info.leader == name:
            return f"{name} leads {partition} already"
        if name not in controller.metadata.alive:
            return f"{name} is not alive for the controller"
        cleanly = controller.can_lead(partition, name)
        if self.unclean:
            return f"{name} is in sync: elect it cleanly" if cleanly else ""
        return "" if cleanly else f"{name} is not in sync for {partition}: only an unclean election can"

    def strike(self, world: World, cause: int) -> bool:
        """Let the controller elect the broker, if it can lead."""
        if not world.controller.can_lead(self.partition, self.broker, self.unclean):
            return False
        data: dict[str, object] = {"partition": self.partition, "broker": self.broker}
        world.controller.elect(self.partition, self.broker, self.note(world, Controller.name, cause, data))
        return True

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield the election of each other replica right after an append."""
        info = scene.metadata.partitions.get(event.name)
        if info is not None and is_own(scene, event, *INTERNAL_TOPICS):
            others = (replica for replica in info.replicas if replica != event.node)
            yield from ((cls(event.name, replica, at_step=event.step),) for replica in others)

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw the partition and its leader."""
        return (cls(chance.choice(run.partitions), chance.choice(run.brokers), at_step=step),)


FAULTS: tuple[type[Fault], ...] = (ElectLeader,)
__all__ = ["ElectLeader"]
