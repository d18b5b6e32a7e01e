"""What `make bench` measures runs to its end, within the limits that scenarios have."""

from __future__ import annotations

from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.benchmarks.__main__ import workload


def test_the_simulators_workload_has_a_hundred_producers() -> None:
    cluster = workload("4.x/TV2", 100, 1)
    cluster.run()
    assert cluster.results == {f"p{i}": 1 for i in range(100)}


def test_the_workload_is_the_run_of_its_scenario() -> None:
    programs = tuple(Program(f"p{i}", "transactions", {"transactional_id": f"t{i}", "count": 3}) for i in range(4))
    cluster = Cluster(Scenario(topics={"out": 1}, profile="4.x/TV1", programs=programs), keep=False)
    assert len(workload("4.x/TV1", 4, 3).run()) == len(cluster.run())
