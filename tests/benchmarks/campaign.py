"""A campaign of scenarios by chance: how many schedules a second, and which cells of the tables they visit."""

from __future__ import annotations

import time
from contextlib import ExitStack

from kafkalab.checks.all import check_all
from kafkalab.history.export import history_of
from kafkalab.programs.random_scenarios import Seeded, random_scenario
from kafkalab.sim.cluster import Cluster
from tests.cells import WATCHED, Cell, watching

SCHEDULES = 150


def campaign(schedules: int = SCHEDULES) -> tuple[float, float, dict[str, dict[Cell, int]], list[int]]:
    """Schedules a second without and with the checks, the visits to each table's cells, and the seeds with findings."""
    simulated = checked = 0.0
    bad: list[int] = []
    with ExitStack() as stack:
        seen = {name: stack.enter_context(watching(table)) for name, table in WATCHED.items()}
        for seed in range(schedules):
            began = time.perf_counter()
            cluster = Cluster(random_scenario(Seeded(seed)))
            cluster.run()
            ran = time.perf_counter()
            if check_all(history_of(cluster)).violated:
                bad.append(seed)
            simulated += ran - began
            checked += time.perf_counter() - began
    return schedules / simulated, schedules / checked, seen, bad
