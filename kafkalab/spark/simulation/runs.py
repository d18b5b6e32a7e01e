"""Which simulations a workload consists of: seeds, a profile, rules switched off, a scenario or one by chance."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.limits import quoted
from kafkalab.programs.random_scenarios import Seeded, random_scenario
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol.profiles import Rules
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario

SEEDS = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
DEFAULT_PROFILE = "4.x/TV2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Simulations, one a seed. Without `scenario` (a .klab file) each seed draws its own by chance."""

    first: int = 1
    last: int = 1
    profile: str = DEFAULT_PROFILE
    rules_off: tuple[str, ...] = ()
    scenario: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise ValueError(f"seeds go upwards from 0, like 1-1000, not {self.first}-{self.last}")
        Rules(self.profile, self.rules_off)

    @classmethod
    def of(cls, seeds: str = "1", profile: str = DEFAULT_PROFILE, rules_off: str = "", scenario: str = "") -> Runs:
        """From texts, as options come: seeds "1-1000", rules separated by semicolons. ValueError for what is wrong."""
        found = SEEDS.fullmatch(seeds.strip())
        if found is None:
            raise ValueError(f'seeds are like "7" or "1-1000", not {quoted(seeds)}')
        rules = tuple(name.strip() for name in rules_off.split(";") if name.strip())
        first = int(found[1])
        return cls(first=first, last=int(found[2] or first), profile=profile, rules_off=rules, scenario=scenario)

    @property
    def seeds(self) -> range:
        """The seeds, in order."""
        return range(self.first, self.last + 1)

    def scenario_of(self, seed: int) -> Scenario:
        """What the seed runs."""
        if self.scenario:
            return Scenario.load(self.scenario).with_seed(seed)
        return random_scenario(Seeded(seed), self.profile, self.rules_off)


def history_of_seed(runs: Runs, seed: int) -> History:
    """Run the seed's scenario; then every topic is read to its end, with both isolation levels."""
    cluster = Cluster(runs.scenario_of(seed))
    try:
        cluster.run()
        read_to_the_end(cluster)
    except (RunawayError, StuckError):
        pass  # what happened until then is a history, too
    return history_of(cluster)
