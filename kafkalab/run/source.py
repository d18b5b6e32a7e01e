"""The sources of a run: a cluster, a recording of one, or a run itself."""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

from kafkalab.run.run import Cast, Run, Simulator


@runtime_checkable
class Recorded(Protocol):
    """A recording of frames: a tap, or a file that one saved."""

    def recording(self) -> Run:
        """Return the run so far."""


Source: TypeAlias = Run | Simulator | Recorded


def run_of(source: Source) -> Run:
    """Return the run, of a cluster as far as it has come. TypeError for anything that has none."""
    if isinstance(source, Run):
        return source
    if isinstance(source, Simulator):
        return _run_of_cluster(source)
    if isinstance(source, Recorded):
        return source.recording()
    raise TypeError(f"a picture shows a Scenario or a Cluster, such as Sequence(lab03()), not {type(source).__name__}")


def finish_run(source: Source) -> Run:
    """Run a cluster to its end; return the run. Whatever else there is of a run is as it is."""
    if isinstance(source, Simulator):
        source.run()
    return run_of(source)


def _run_of_cluster(cluster: Simulator) -> Run:
    scenario, metadata, logs = cluster.scenario, cluster.controller.metadata, cluster.logs
    states = {name: broker.state for name, broker in cluster.brokers.items()}
    held = [(key, info.leader) for key, info in metadata.partitions.items() if key in logs and logs[key].log_end_offset]
    alive = [program.node for program in scenario.programs if cluster.nodes[program.node].alive]
    return Run(
        trace=cluster.trace,
        cast=Cast(
            rules=cluster.rules,
            topics=scenario.topics,
            nodes=scenario.nodes,
            brokers=cluster.broker_names,
            metadata=metadata,
            seed=scenario.seed,
            faults=scenario.faults,
            config=scenario.config,
        ),
        start=cluster.start,
        logs=logs,
        refusing=tuple(key for key, leader in held if leader and states[leader].is_under_min_isr(key)),
        end_ms=cluster.now,
        scenario=scenario,
        waiting=tuple(node for node in alive if node not in cluster.results),
        unused_faults=cluster.unused_faults,
        cluster=cluster,
    )
