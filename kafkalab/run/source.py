"""What a run can be made of: a cluster, whatever has recorded one, or a run itself."""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

from kafkalab.run.run import Cast, Run, Simulator


@runtime_checkable
class Recorded(Protocol):
    """Whatever can tell what has passed by now: a tap, or a file that one saved."""

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
    scenario = cluster.scenario
    alive = [program.node for program in scenario.programs if cluster.nodes[program.node].alive]
    written = sorted({partition for broker in cluster.brokers.values() for partition in broker.state.logs})
    return Run(
        trace=cluster.trace,
        cast=Cast(
            rules=cluster.rules,
            topics=scenario.topics,
            nodes=scenario.nodes,
            brokers=cluster.broker_names,
            metadata=cluster.controller.metadata,
            seed=scenario.seed,
            faults=scenario.faults,
            config=scenario.config,
        ),
        start=cluster.start,
        logs={partition: cluster.log_of(partition) for partition in written},
        refusing=tuple(_list_refusing(cluster)),
        end_ms=cluster.now,
        scenario=scenario,
        waiting=tuple(node for node in alive if node not in cluster.results),
        unused_faults=cluster.unused_faults,
        cluster=cluster,
    )


def _list_refusing(cluster: Simulator) -> list[str]:
    states = {name: broker.state for name, broker in cluster.brokers.items()}
    led = [(key, states[info.leader]) for key, info in cluster.controller.metadata.partitions.items() if info.leader]
    held = [(key, state) for key, state in led if key in state.logs and state.logs[key].log_end_offset]
    return [key for key, state in held if state.is_under_min_isr(key)]
