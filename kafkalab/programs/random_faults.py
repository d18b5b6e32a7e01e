"""Faults by chance: mishaps of every kind, each with what undoes it, if that is meant to come."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.sim.faults import (
    AdvanceClock,
    Compact,
    Crash,
    Cut,
    Delay,
    DeleteSegment,
    Drop,
    Duplicate,
    ElectLeader,
    Fault,
    Heal,
    Hold,
    Pause,
    Release,
    Reorder,
    Restart,
    Resume,
    Roll,
    Upgrade,
)
from kafkalab.sim.outstanding import REQUEST_TIMEOUT_MS

T = TypeVar("T")
BROKERS = ("b1", "b2", "b3")
UNTIL_MS = 20_000
LATER_MS = (50, 2_000, 15_000)
FRAMES = (
    "Produce", "ProduceResponse", "EndTxn", "EndTxnResponse", "AddPartitionsToTxn", "AddPartitionsToTxnResponse",
    "WriteTxnMarkers", "WriteTxnMarkersResponse", "InitProducerId", "InitProducerIdResponse", "Fetch", "FetchResponse",
    "FindCoordinatorResponse", "ReplicaFetchResponse",
)  # fmt: skip


class Pick(Protocol):
    """Where chance comes from."""

    def number(self, least: int, most: int) -> int:
        """A whole number of least to most; the smaller the simpler."""

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options; the earlier the simpler."""


class Seeded:
    """The same picks for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def one_of(self, options: Sequence[T]) -> T:
        return options[self._random.randrange(len(options))]


def random_fault(pick: Pick, clients: Sequence[str], partitions: Sequence[str]) -> list[Fault]:
    """One mishap: of a frame, a node, the network, the clock or a feature, a leader or a log.

    `partitions` are those of the scenario's topics and at least one of an internal topic. Elections are clean
    ones: an unclean election loses records, and is meant to.
    """
    kind = pick.one_of((_of_a_frame, _of_a_broker, _of_a_client, _of_the_network, _of_the_clock, _of_a_log))
    return kind(pick, clients, partitions)


def outlives_its_retry(fault: Fault) -> bool:
    """Whether an EndTxn comes after the request that its sender has made instead (KAFKA-17754)."""
    if isinstance(fault, Hold | Reorder):
        return fault.frame.startswith("EndTxn#")
    return isinstance(fault, Delay) and fault.frame.startswith("EndTxn#") and fault.delay_ms > REQUEST_TIMEOUT_MS


def _frame(pick: Pick) -> str:
    return f"{pick.one_of(FRAMES)}#{pick.number(1, 12)}"


def _of_a_frame(pick: Pick, clients: Sequence[str], partitions: Sequence[str]) -> list[Fault]:
    kind, frame = pick.one_of(("lose", "double", "delay", "hold", "overtake")), _frame(pick)
    if kind == "delay":
        return [Delay(frame, pick.one_of((20, 200, 3_000, 31_000)))]
    if kind == "hold":
        return [Hold(frame), Release(frame, at_ms=pick.number(0, 2 * UNTIL_MS))]
    if kind == "overtake":
        other = _frame(pick)
        return [Reorder(frame, other)] if frame != other else [Drop(frame)]
    return [Drop(frame) if kind == "lose" else Duplicate(frame)]


def _moments(pick: Pick) -> tuple[int, int]:
    at = pick.number(0, UNTIL_MS)
    return at, at + pick.one_of(LATER_MS)


def _of_a_broker(pick: Pick, clients: Sequence[str], partitions: Sequence[str]) -> list[Fault]:
    dies, node = pick.one_of((True, False)), pick.one_of(BROKERS)
    at, later = _moments(pick)
    if dies:
        return [Crash(node, at_ms=at), Restart(node, at_ms=later)]
    return [Pause(node, at_ms=at), Resume(node, at_ms=later)]


def _of_a_client(pick: Pick, clients: Sequence[str], partitions: Sequence[str]) -> list[Fault]:
    dies, node = pick.one_of((True, False)), pick.one_of(clients)
    at, later = _moments(pick)
    return [Crash(node, at_ms=at)] if dies else [Pause(node, at_ms=at), Resume(node, at_ms=later)]


def _of_the_network(pick: Pick, clients: Sequence[str], partitions: Sequence[str]) -> list[Fault]:
    """One node cut off from another, from the controller, or from all brokers."""
    one = pick.one_of((*BROKERS, *clients))
    others = tuple(b for b in BROKERS if b != one)
    sides: tuple[str | tuple[str, ...], ...] = (*others, others)
    other = pick.one_of((*sides, "controller", (*others, "controller")) if one in BROKERS else sides)
    at, later = _moments(pick)
    return [Cut(one, other, at_ms=at), Heal(one, other, at_ms=later)]


def _of_the_clock(pick: Pick, clients: Sequence[str], partitions: Sequence[str]) -> list[Fault]:
    if pick.one_of((False, False, False, True)):
        return [Upgrade(at_ms=pick.number(0, UNTIL_MS))]
    return [AdvanceClock(pick.one_of((500, 5_000, 31_000, 70_000)), at_ms=pick.number(0, UNTIL_MS))]


def _of_a_log(pick: Pick, clients: Sequence[str], partitions: Sequence[str]) -> list[Fault]:
    """Its leader moves, it begins a segment, it is cleaned if it is an internal one, or loses its oldest segment."""
    kind, at = pick.one_of(("elect", "roll", "compact", "delete")), pick.number(0, UNTIL_MS)
    if kind == "elect":
        return [ElectLeader(pick.one_of(partitions), pick.one_of(BROKERS), at_ms=at)]
    if kind == "compact":
        return [Compact(pick.one_of([p for p in partitions if topic_of(p) in INTERNAL_TOPICS]), at_ms=at)]
    partition = pick.one_of([p for p in partitions if kind == "roll" or topic_of(p) not in INTERNAL_TOPICS])
    return [Roll(partition, at_ms=at) if kind == "roll" else DeleteSegment(partition, at_ms=at)]
