"""What a campaign of random scenarios has covered: rules, faults, moments, frames and the cells of the state tables.

Counts of several processes are added up; `tables()` is what a person reads, with everything that was never met by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from kafkalab.faults.fault import FrameFault, TimedFault
from kafkalab.faults.registry import TYPES
from kafkalab.programs.moments import MOMENTS, QUIET, Situation
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.profiles import RULE_NAMES, Rules
from kafkalab.protocol.rules import Rule
from kafkalab.sim.cluster import Cluster
from kafkalab.trace import Event
from tests.test_every_cell import unreachable

OF_OTHERS = (
    "ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "DescribeTopicPartitions", "DescribeConfigs", "ListGroups",
)  # fmt: skip
"""APIs that only real clients and Kafka's command line tools ask; no client of the simulator does."""
FRAMES = tuple(name + kind for name in BY_NAME if name not in OF_OTHERS for kind in ("", "Response"))
IN_A_FRAME = ("Drop", "Duplicate", "Delay", "Hold", "Reorder")
INSIDE = (*MOMENTS[:3],)
"""An open transaction, a decided one, a rebalance: where faults should strike."""
OUTCOMES = ("PrepareCommit", "PrepareAbort")


@dataclass(slots=True)
class Coverage:
    """Counts by name. `drawn` and `struck` are faults by kind; `places` has (kind, moment) of those that struck."""

    runs: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    decided: dict[str, int] = field(default_factory=dict)
    drawn: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    places: Counter[tuple[str, str]] = field(default_factory=Counter)
    inside: int = 0
    timed: int = 0
    sent: Counter[str] = field(default_factory=Counter)
    met: Counter[tuple[str, str]] = field(default_factory=Counter)
    breadth: Counter[int] = field(default_factory=Counter)
    traits: Counter[str] = field(default_factory=Counter)
    cells: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, other: Coverage) -> None:
        """Add the counts of another part of the campaign."""
        for name in (f.name for f in fields(self)):
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, int):
                setattr(self, name, mine + theirs)
            elif isinstance(mine, Counter):
                mine.update(theirs)
            else:
                mine.update({**theirs, **mine})

    def note(self, cluster: Cluster) -> None:
        """Count one run that has ended."""
        self.runs += 1
        scenario, used = cluster.scenario, [*cluster.injector.used, *cluster.network.frame_faults.used]
        self.drawn.update(type(fault).__name__ for fault in scenario.faults)
        for fault in used:
            self.struck[type(fault).__name__] += 1
            if isinstance(fault, FrameFault):
                self.met[fault.frame.partition("#")[0], type(fault).__name__] += 1
        self.sent.update(frame.name for frame in cluster.trace.frames.values())
        self.traits.update(traits_of(cluster))
        situation = Situation()
        for event in cluster.trace.events:
            if (kind := _timed_fault(event)) in TYPES:
                self._place(kind, situation.moments)
            elif _decides(event):
                self.breadth[len(event.data["partitions"])] += 1
            situation.note(event)

    def _place(self, kind: str, moments: tuple[str, ...]) -> None:
        self.timed += 1
        self.inside += any(moment in INSIDE for moment in moments)
        self.places.update((kind, moment) for moment in moments or (QUIET,))

    def never(self) -> dict[str, list[str]]:
        """Name what was never met, by what it is."""
        return {
            "rules never asked for": [rule for rule in RULE_NAMES if not self.asked[rule]],
            "rules that never decided": [rule for rule in RULE_NAMES if rule not in self.decided],
            "kinds of fault that never struck": [kind for kind in TYPES if not self.struck[kind]],
            "frames never sent": [name for name in FRAMES if not self.sent[name]],
            "frames never struck": [name for name in FRAMES if not any(self.met[name, k] for k in IN_A_FRAME)],
        }


    def blank_cells(self) -> dict[str, list[str]]:
        """Name by table the cells that were never visited and can be (tests/test_every_cell.py)."""
        found: dict[str, list[str]] = {}
        for (table, cell), count in self.cells.items():
            found.setdefault(table, [])
            if not count and not unreachable(table, cell):
                found[table].append(cell)
        return found


def _decides(event: Event) -> bool:
    """Return True if a coordinator has logged with this event how a transaction ends."""
    if event.kind != "state" or event.name != "transaction":
        return False
    return event.data["state"] in OUTCOMES and not event.data["pending"]


def _timed_fault(event: Event) -> str:
    """Return the kind of the timed fault that struck with this event; "" for any other event."""
    if event.kind in ("crash", "recover"):
        return "Crash" if event.kind == "crash" else "Restart"
    return event.name if event.kind == "fault" and issubclass(TYPES[event.name], TimedFault) else ""


def traits_of(cluster: Cluster) -> list[str]:
    """Return what is special about a run's scenario, in words that are counted."""
    scenario = cluster.scenario
    found = [f"{scenario.brokers} broker(s)", scenario.profile, *(f"config {name}" for name in scenario.config)]
    found += [f"program {name}" for name in dict.fromkeys(str(p.run) for p in scenario.programs)]
    special = (("fresh cluster", scenario.fresh), ("epochs near their end", scenario.producer_epochs))
    found += [name for name, there in (*special, ("ACLs", scenario.acls)) if there]
    args = [{**p.args, **(p.args.get("settings") or {})} for p in scenario.programs]
    settings = ("group_instance_id", "session_timeout_ms", "auto_commit_interval_ms", "linger_ms", "keys")
    found += [f"setting {name}" for name in settings if any(one.get(name) for one in args)]
    for fault in cluster.injector.used:
        if getattr(fault, "unclean", False):
            found.append("unclean election")
        if type(fault).__name__ == "Compact" and not getattr(fault, "partition", "__").startswith("__"):
            found.append("compaction of a data topic")
    return list(dict.fromkeys(found))


@contextmanager
def rules_noted(asked: Counter[str]) -> Iterator[None]:
    """Count in `asked` every rule that a run asks for."""
    plain = Rules.on

    def on(self: Rules, rule: Rule) -> bool:
        asked[rule.name] += 1
        return plain(self, rule)

    Rules.on = on  # type: ignore[method-assign]
    try:
        yield
    finally:
        Rules.on = plain  # type: ignore[method-assign]
