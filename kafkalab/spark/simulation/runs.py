"""The simulations of a workload: seeds, a profile, rules switched off; a scenario, clients, or by chance."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.history.schema import Label
from kafkalab.limits import quote
from kafkalab.programs.copying import copying, drawn_faults, read_what_is_there
from kafkalab.programs.random_scenarios import Seeded, random_scenario
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.source_header import place_of
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario

SEEDS = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
DEFAULT_PROFILE = "4.x/TV2"
FAULTS, MOST_FAULTS = 3, 9
COMMITTED = "committed offset"
"""The name of the labels that say how far the group of `clients` has committed its inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Simulations, one a seed: of `scenario` (a .klab file), of `clients`, or each drawn by chance.

    `clients` names a configuration of kafkalab.programs.copying: every seed draws one to `faults` faults, the same
    for all configurations. `cluster_level` is the level of `transaction.version` then; below 0 it is the profile's.
    """

    first: int = 1
    last: int = 1
    profile: str = DEFAULT_PROFILE
    rules_off: tuple[str, ...] = ()
    scenario: str = ""
    clients: str = ""
    cluster_level: int = -1
    faults: int = FAULTS

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise ValueError(f"seeds go upwards from 0, like 1-1000, not {self.first}-{self.last}")
        Rules(self.profile, self.rules_off)
        if self.clients and self.scenario:
            raise ValueError("give clients or a scenario, not both: a scenario has its own programs")
        if self.clients:
            copying(self.clients, 1, self.profile, self.rules_off, self.cluster_level)
        elif (self.cluster_level, self.faults) != (-1, FAULTS):
            raise ValueError("a cluster level and a number of faults belong to clients; name a configuration, too")
        if not -1 <= self.cluster_level <= 2:
            raise ValueError(f"a cluster level is 0, 1 or 2, not {self.cluster_level}")
        if not 0 <= self.faults <= MOST_FAULTS:
            raise ValueError(f"a run has 0 to {MOST_FAULTS} faults at most, not {self.faults}")

    @classmethod
    def of(cls, seeds: str = "1", rules_off: str = "", **others: Any) -> Runs:
        """From texts, as options come: seeds "1-1000", rules separated by semicolons; `others` are fields.

        ValueError for what is wrong.
        """
        found = SEEDS.fullmatch(seeds.strip())
        if found is None:
            raise ValueError(f'seeds are like "7" or "1-1000", not {quote(seeds)}')
        rules = tuple(name.strip() for name in rules_off.split(";") if name.strip())
        first = int(found[1])
        return cls(first=first, last=int(found[2] or first), rules_off=rules, **others)

    @property
    def seeds(self) -> range:
        """The seeds, in order."""
        return range(self.first, self.last + 1)

    def scenario_of(self, seed: int) -> Scenario:
        """Return the scenario that the seed runs."""
        if self.scenario:
            return Scenario.load(self.scenario).with_seed(seed)
        if self.clients:
            made = copying(self.clients, seed, self.profile, self.rules_off, self.cluster_level)
            return made.with_faults(*drawn_faults(seed, self.faults))
        return random_scenario(Seeded(seed), self.profile, self.rules_off)


def history_of_seed(runs: Runs, seed: int) -> History:
    """Run the seed's scenario; then read every topic to its end, with both isolation levels.

    Of `clients` the labels named COMMITTED say how far the group has committed each input, as "in-0@9".
    """
    cluster, committed = Cluster(runs.scenario_of(seed)), dict[str, int]()
    try:
        cluster.run()
        if runs.clients:
            committed = read_what_is_there(cluster)
        else:
            read_to_the_end(cluster)
    except (RunawayError, StuckError):
        pass  # what happened until then is a history, too
    history = history_of(cluster)
    said = tuple(Label(name=COMMITTED, value=place_of(key, offset)) for key, offset in committed.items())
    return replace(history, labels=(*history.labels, *said))
