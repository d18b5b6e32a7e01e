"""The number of rows that each task of a query reads, measured in a run, not guessed from its plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COALESCE = "spark.sql.adaptive.coalescePartitions.enabled"
TASKS_MAX = 10_000


def count_rows_by_task(frame: DataFrame) -> list[int]:
    """Run the query; of the stage in which a task reads the most rows, return what each task reads.

    The largest comes first. Small partitions of a shuffle stay apart meanwhile, as large ones would.
    """
    spark = frame.sparkSession
    group = f"rows by task {uuid4()}"
    with separate_partitions(spark), _job_group(spark, group):
        frame.write.format("noop").mode("overwrite").save()
    stages = (sorted(_count_reads(spark, stage), reverse=True) for stage in _list_stages(spark, group))
    return max(stages, key=lambda reads: reads[:1], default=[])


@contextmanager
def separate_partitions(spark: SparkSession) -> Iterator[None]:
    """Within, adaptive execution joins no small partitions of a shuffle into one."""
    before = spark.conf.get(COALESCE)
    spark.conf.set(COALESCE, "false")
    try:
        yield
    finally:
        spark.conf.set(COALESCE, str(before))


@contextmanager
def _job_group(spark: SparkSession, group: str) -> Iterator[None]:
    spark.sparkContext.setJobGroup(group, group)
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def _list_stages(spark: SparkSession, group: str) -> list[int]:
    """Return the stages of the group's jobs, when Spark has noted how all of them ended."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    tracker = context.statusTracker()
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
    return sorted({stage for job in jobs if job for stage in job.stageIds})


def _count_reads(spark: SparkSession, stage: int) -> list[int]:
    """Return the rows that each task of a stage has read, of files and of shuffles, without those that read none."""
    context: Any = spark.sparkContext
    tasks = context._jsc.sc().statusStore().taskList(stage, 0, TASKS_MAX)
    metrics = (tasks.apply(place).taskMetrics() for place in range(tasks.size()))
    found = (m.get() for m in metrics if m.isDefined())
    reads = (m.inputMetrics().recordsRead() + m.shuffleReadMetrics().recordsRead() for m in found)
    return [int(read) for read in reads if read]
