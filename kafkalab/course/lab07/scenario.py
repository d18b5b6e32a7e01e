"""The scenarios of lab 7: a stock count that takes too long, and one that nobody has needed for a week."""

from __future__ import annotations

from typing import Any

from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.programs.counting import SHELVES, STOCK
from kafkalab.protocol.acls import Deny
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario
from kafkalab.trace import Event

BROKERS = ("b1", "b2", "b3")
SLOW_MS, SECOND_MS, DAY_MS = 75_000, 1_000, 86_400_000
AWAY_MS = 5 * SECOND_MS
"""The time at which a week passes, between the first shelf and the second, which is counted at twice that time."""


def shelf(
    *faults: Fault,
    title: str = "A shelf is counted",
    seed: int = 1,
    profile: str = "4.x/TV2",
    config: dict[str, Any] | None = None,
    acls: tuple[Deny, ...] = (),
    other: dict[str, Any] | None = None,
    **args: Any,
) -> Scenario:
    """A counter counts shelf A in one transaction; `args` are its program's, `other` those of a second counter."""
    others = () if other is None else (Program("other", "count_shelf", other),)
    return Scenario(
        title=title,
        profile=profile,
        seed=seed,
        topics={STOCK: 1, SHELVES: 1},
        records={f"{SHELVES}-0": ("A", "B")},
        programs=(Program("counter", "count_shelf", args), *others),
        faults=faults,
        config=config or {},
        acls=acls,
    )


@register_scenario
def lab07(seed: int = 1, profile: str = "4.x/TV2", remedy: str = "abort") -> Scenario:
    """A shelf takes 75 seconds, and the transaction may take 60. The counter aborts, and counts again quickly."""
    return shelf(title="A shelf that takes too long", seed=seed, profile=profile, work_ms=SLOW_MS, remedy=remedy)


@register_scenario
def crashed_counter(seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """A counter dies in the middle of a shelf; another one, under its own name, has counted a shelf and committed."""
    other = {"transactional_id": "counter-1", "begin_ms": 8_000, "work_ms": 2_000}
    crash = Crash("counter", at_ms=5_000)
    return shelf(crash, title="A counter that never comes back", seed=seed, profile=profile, other=other)


@register_scenario
def idle_for(
    days: int = 8, seed: int = 1, profile: str = "4.x/TV2", remedy: str = "none", keep_days: int = 7
) -> Scenario:
    """A shelf is counted; then the clocks jump by `days`, and the same producer counts the next one.

    `keep_days` is the brokers' transactional.id.expiration.ms, in days.
    """
    return shelf(
        AdvanceClock(days * DAY_MS, at_ms=AWAY_MS),
        title=f"Idle for {days} days",
        seed=seed,
        profile=profile,
        config={"transactional_id_expiration_ms": keep_days * DAY_MS},
        idle_ms=2 * AWAY_MS,
        work_ms=100,
        remedy=remedy,
    )


@register_scenario
def ninety_seconds(how: str = "slow", seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """The counter loses ninety seconds: it is "slow", a "long GC" stops it, or its cluster's clocks "jump"."""
    faults: dict[str, tuple[Fault, ...]] = {
        "slow": (),
        "long GC": (Pause("counter", at_ms=2_000), Resume("counter", at_ms=92_000)),
        "jump": (AdvanceClock(90_000, at_ms=2_000),),
    }
    if how not in faults:
        raise ValueError(f"how is one of {', '.join(faults)}, not {how!r}")
    work_ms = 90_000 if how == "slow" else 5_000
    return shelf(
        *faults[how], title=f"Ninety seconds: {how}", seed=seed, profile=profile, work_ms=work_ms, remedy="abort"
    )


def cut_off(from_ms: int, until_ms: int) -> tuple[Fault, Fault]:
    """The counter reaches no broker between these times."""
    return Cut("counter", BROKERS, at_ms=from_ms), Heal("counter", BROKERS, at_ms=until_ms)


def lost_request(seed: int = 1) -> Scenario:
    """The counter's first Produce is lost."""
    return shelf(Drop("Produce#1"), title="A lost Produce", seed=seed, work_ms=1_000)


def find_first_error(cluster: Cluster) -> Event:
    """The event at which the counter learns of its first error; the last answer to it if there is none."""
    errors = [e for e in cluster.trace.of("state", "chapter") if e.node == "counter"]
    answers = [e for e in cluster.trace.of("complete") if e.node == "counter"]
    return errors[0] if errors else answers[-1] if answers else cluster.trace.events[-1]


def ended_at(cluster: Cluster) -> int:
    """The step at which a program learned its last: an error, or the answer to its last call."""
    ends = (*cluster.trace.of("state", "chapter"), *cluster.trace.of("complete"))
    return max(e.step for e in ends)


def told_at(cluster: Cluster) -> int:
    """Its step."""
    return find_first_error(cluster).step
