"""Faults of the cluster as a whole: its clocks jump, its level of transaction.version rises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from kafkalab.broker.controller import Controller
from kafkalab.faults.check import check_duration
from kafkalab.faults.durations import JUMPS_MS, draw_duration
from kafkalab.faults.fault import Fault, TimedFault, Words
from kafkalab.faults.world import Scene, Targets, World
from kafkalab.limits import quote
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.trace import Event


@dataclass(frozen=True, slots=True, repr=False)
class AdvanceClock(TimedFault):
    """All clocks jump forward by `ms`. What was due in between happens at once, in order; repeated timers fire once."""

    ms: int
    at_step: int = -1
    at_ms: int = -1
    target_kind = "clock"
    press = "advance"
    kind = "clock"
    number = "ms", 10_000
    words = Words(
        label="advance", title="All clocks jump forward", chapter="clocks jump",
        event="All clocks jump forward by {ms} ms.", explanation="all clocks jump forward by {ms:,} ms{after}",
    )  # fmt: skip

    @classmethod
    def targets(cls, world: World, target: str) -> Iterator[Fault]:
        """Yield nothing: a jump of the clock is always possible."""
        return iter(())

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, Any], nodes: Sequence[str]) -> Fault:
        """Return the jump by the milliseconds of the press."""
        return cls(details.get("ms", cls.number[1]))

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless the jump is one."""
        check_duration("ms", self.ms)

    def why_not(self, world: World) -> str:
        """Return "": it always changes something."""
        return ""

    def why_not_now(self, world: World) -> str:
        """Return "": it always changes something."""
        return ""

    def strike(self, world: World, cause: int) -> bool:
        """Move the clocks."""
        world.schedule.advance(self.ms)
        self.note(world, Controller.name, cause, {"ms": self.ms})
        return True

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield the jumps right after an append."""
        if event.kind == "append":
            yield from ((cls(ms, at_step=event.step),) for ms in JUMPS_MS)

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Draw the distance."""
        return (cls(draw_duration(chance), at_step=step),)


@dataclass(frozen=True, slots=True, repr=False)
class Upgrade(TimedFault):
    """The cluster's feature `transaction.version` rises to `level` (`kafka-features.sh upgrade`).

    A producer speaks the new version from its next transaction on: it ends the present one as it began it, then takes
    a new epoch by InitProducerId (KIP-890).
    """

    level: int = 2
    at_step: int = -1
    at_ms: int = -1
    target_kind = "cluster"
    kind = "upgrade"
    words = Words(
        label="transaction.version 2", title="The feature rises; a producer follows with its next transaction",
        chapter="{node} upgrade", event="The cluster's transaction.version rises to {level}.",
        explanation="transaction.version rises to {level}{after}",
    )  # fmt: skip

    def check_target(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError unless there is such a level."""
        if self.level not in (1, 2) or isinstance(self.level, bool):
            raise ValueError(f"level is 1 or 2, not {quote(self.level)}: the levels of transaction.version")

    def why_not_now(self, world: World) -> str:
        """Return why not: the level is reached."""
        level = next(iter(world.brokers.values())).state.transaction_version
        return "" if level < self.level else f"transaction.version is {level} already"

    def strike(self, world: World, cause: int) -> bool:
        """Raise the level at every broker: one that is down has read it when it is back."""
        states = [broker.state for broker in world.brokers.values()]
        if states[0].transaction_version >= self.level:
            return False
        for state in states:
            state.config = replace(state.config, transaction_version=self.level)
        self.note(world, Controller.name, cause, {"level": self.level})
        return True

    @classmethod
    def sequences(cls, scene: Scene, event: Event) -> Iterator[tuple[Fault, ...]]:
        """Yield the upgrade right after an append, where the cluster began at a lower level."""
        if event.kind == "append" and scene.first_level < 2:
            yield (cls(at_step=event.step),)

    @classmethod
    def draw(cls, run: Targets, node: str, step: int, end_ms: int, chance: Random) -> tuple[Fault, ...]:
        """Return the upgrade."""
        return (cls(at_step=step),)


FAULTS: tuple[type[Fault], ...] = (AdvanceClock, Upgrade)
__all__ = ["AdvanceClock", "Upgrade"]
