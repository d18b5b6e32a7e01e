"""Shared by the commands on a saved scenario: reading it, running it up to a moment, asking its cluster."""

from __future__ import annotations

import argparse
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from kafkalab.cli.command_line import CommandLineError, number_from
from kafkalab.client.exceptions import KafkaError
from kafkalab.limits import QUOTE, RUN, TIME_MS, truncate
from kafkalab.log.partition_log import PartitionLog
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Program, Scenario


def add_scenario_options(parser: argparse.ArgumentParser) -> None:
    """FILE and the moment to ask at."""
    parser.add_argument("file", help="a saved scenario (.klab)")
    milliseconds = number_from(0, "number of milliseconds", TIME_MS.most)
    moment = parser.add_mutually_exclusive_group()
    moment.add_argument("--at-ms", type=milliseconds, help="ask at this virtual time, whatever is still under way")
    moment.add_argument("--after-ms", type=milliseconds, default=0, help="ask this long after the run has ended")


def load_scenario(path: str) -> Scenario:
    """Load the scenario; CommandLineError for anything else."""
    try:
        return Scenario.load(path)
    except OSError as error:
        why = (error.strerror or "no file").lower()
        raise CommandLineError(f"cannot read {truncate(path, QUOTE)}: {why}") from None
    except ValueError as error:
        raise CommandLineError(str(error)) from None


def simulate(scenario: Scenario, at_ms: int | None = None, after_ms: int = 0, limit: int = RUN.most) -> Cluster:
    """Run the scenario and return the cluster at that moment: `at_ms`, or `after_ms` after everything has ended.

    CommandLineError if it cannot be run, or not within `limit` entries of the schedule.
    """
    try:
        cluster = Cluster(scenario)
        if at_ms is not None:
            cluster.run_for(at_ms, limit)
            return cluster
        cluster.run(limit)
        if after_ms:
            cluster.run_for(after_ms, limit)
    except (ValueError, TypeError, StuckError, RunawayError) as error:
        raise CommandLineError(truncate(error)) from None
    return cluster


def log_of(cluster: Cluster, partition: str) -> PartitionLog:
    """Return the log of the partition's leader; CommandLineError for a partition that is not there."""
    try:
        return cluster.log_of(partition)
    except ValueError as error:
        raise CommandLineError(str(error)) from None


def answer(step: Coroutine[Any, Any, Any]) -> Any:
    """Return what the coroutine returns; awaiting a client's method outside of a program drives the cluster."""
    try:
        step.send(None)
    except StopIteration as end:
        return end.value
    except KafkaError as error:
        raise CommandLineError(f"{type(error).__name__}: {error}") from None
    except (StuckError, RunawayError) as error:
        raise CommandLineError(str(error).partition("\n")[0]) from None
    raise AssertionError("a client's method waits, and nothing drives the cluster")


def free_name(cluster: Cluster) -> str:
    """Return a node name that no client has: nothing that a scenario forbids its own clients is forbidden to it."""
    name = "admin"
    while name in cluster.nodes:
        name += "-"
    return name


def with_admin(scenario: Scenario, node: str, program: str, arguments: dict[str, Any]) -> Scenario:
    """Return the scenario with an administrator more, who runs `program` on the node."""
    return replace(scenario, programs=(*scenario.programs, Program(node, program, arguments)))
