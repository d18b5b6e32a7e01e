"""Simulations as DataFrames: the tables of their histories, or their arrivals as a stream."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafkalab.sim.scenario import Scenario
from kafkalab.spark.simulation.bundle import BUNDLE, table_of
from kafkalab.spark.simulation.runs import Runs
from kafkalab.spark.simulation.source import ARGUMENTS, register
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.schemas import TABLES
from kafkalab.spark.streaming.arrivals import ARRIVALS


def simulate_histories(spark: SparkSession, seeds: str = "1", *, partitions: int = 0, **given: Any) -> Histories:
    """Return the runs of these seeds ("1-1000"); executors simulate them once, when the first table is used.

    `given` is profile, rules_off (names with semicolons between), and what all seeds run: `scenario`, a .klab file;
    or two members of a group that copy records in the configuration `clients` (such as "acks=1", "idempotent",
    "transactions"), at this `cluster_level`, under one to `faults` drawn faults; without both, each seed draws
    its own scenario. ValueError for what no simulation can be.
    """
    if Runs.of(seeds, **given).scenario:
        Scenario.load(given["scenario"])
    register(spark)
    options = {option: given[name] for option, name in ARGUMENTS.items() if given.get(name, -1) != -1}
    reader = spark.read.format("kafkalab").options(**options, seeds=seeds, partitions=partitions)
    bundle = reader.option("table", BUNDLE).load().persist()
    return Histories(**{name: table_of(bundle, name) for name in TABLES})


def stream_of_simulations(spark: SparkSession, seeds: str = "1-1000", seeds_at_once: int = 10) -> DataFrame:
    """Return the arrivals of these seeds' simulations, `seeds_at_once` whole runs in each micro-batch."""
    register(spark)
    reader = spark.readStream.format("kafkalab").option("table", ARRIVALS).option("seeds", seeds)
    return reader.option("seedsPerBatch", str(seeds_at_once)).load()
