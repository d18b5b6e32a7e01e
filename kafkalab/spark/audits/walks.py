"""What consumers went over: their polls key by key, where they jumped, and how far each passage came.

The same as checks/order_of_polls.py and checks/reading.py, by windows instead of loops.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.storage.frames import Histories

EACH = ("run", "consumer", "key")


def stretches(histories: Histories) -> DataFrame:
    """One row for each poll of each key: start, end, moved, step, and first, last, highest offset and number of reads.

    Where the history knows no positions, start and end are -1. `place` counts a consumer's polls of a key from 1.
    """
    read = histories.reads.groupBy(*EACH, "poll").agg(
        F.min("step").alias("read_step"),
        F.count(F.lit(1)).alias("reads"),
        F.min_by("offset", "index").alias("first"),
        F.max_by("offset", "index").alias("last"),
        F.max("offset").alias("highest"),
    )
    polls = histories.polls.select(*EACH, "poll", "start", "end", "moved", "step")
    found = polls.join(read, [*EACH, "poll"], "full").select(
        *EACH,
        "poll",
        F.coalesce("start", F.lit(-1)).alias("start"),
        F.coalesce("end", F.lit(-1)).alias("end"),
        F.coalesce("moved", F.lit("")).alias("moved"),
        F.coalesce("step", "read_step").alias("step"),
        F.coalesce("reads", F.lit(0)).alias("reads"),
        "first",
        "last",
        "highest",
    )
    order = Window.partitionBy(*EACH).orderBy("poll")
    return found.withColumn("place", F.row_number().over(order))


def positions(walk: DataFrame) -> DataFrame:
    """Each stretch with `expected` (where the consumer was before it, -1 if unknown), `begin`, and `before_step`.

    A stretch with reads, or one that was moved to a known position, sets the position anew; others only raise it.
    """
    order = Window.partitionBy(*EACH).orderBy("poll")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    read = F.col("reads") > 0
    known = read | (F.col("start") >= 0) | (F.col("end") >= 0)
    first_known = known & (F.sum(known.cast("int")).over(so_far) == 1)
    anew = read | ((F.col("moved") != "") & (F.col("start") >= 0)) | F.col("_first")
    there = (
        F.when(read, F.greatest(F.col("last") + 1, "end"))
        .when(F.col("_anew"), F.greatest("start", "end"))
        .otherwise(F.col("end"))
    )
    found = walk.withColumn("_first", first_known).withColumn("_anew", anew)
    found = found.withColumn("_part", F.sum(F.col("_anew").cast("int")).over(so_far)).withColumn("_there", there)
    inside = Window.partitionBy(*EACH, "_part").orderBy("poll")
    inside = inside.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    found = found.withColumn("_after", F.max("_there").over(inside))
    begin = F.when(F.col("start") >= 0, F.col("start")).otherwise(F.coalesce("first", F.lit(-1)))
    return (
        found.withColumn("expected", F.lag("_after", 1, -1).over(order))
        .withColumn("before_step", F.coalesce(F.lag("step").over(order), F.col("step")))
        .withColumn("begin", begin)
        .drop("_first", "_anew", "_part", "_there", "_after")
    )


def jumps(walk: DataFrame, reads: DataFrame) -> DataFrame:
    """Every place where a consumer did not go on where it was; legal gaps in offsets are among them.

    Columns: run, consumer, key, poll, expected, offset, inside, moved, before_step, step (of the poll), index.
    """
    here = positions(walk)
    found_begin = (F.col("begin") >= 0) & ((F.col("expected") < 0) | (F.col("moved") != ""))
    here = here.withColumn("entered", F.when(found_begin, F.col("begin")).otherwise(F.col("expected")))
    came_to = F.when(F.col("reads") > 0, F.col("last") + 1).otherwise(F.col("entered"))
    here = here.withColumn("came_to", came_to)
    kept = [*EACH, "poll", "step"]
    moved = here.where(
        (F.col("expected") >= 0)
        & (F.col("begin") >= 0)
        & (F.col("moved") != "")
        & (F.col("begin") != F.col("expected"))
    ).select(*kept, "before_step", "expected", F.col("begin").alias("offset"), F.lit(False).alias("inside"), "moved")
    none = F.lit("").alias("moved")
    first = here.where((F.col("reads") > 0) & (F.col("first") != F.col("entered"))).select(
        *kept, "before_step", F.col("entered").alias("expected"), F.col("first").alias("offset"),
        F.lit(False).alias("inside"), none,
    )  # fmt: skip
    end = here.where((F.col("end") > F.col("came_to")) & (F.col("came_to") >= 0)).select(
        *kept, F.col("step").alias("before_step"), F.col("came_to").alias("expected"), F.col("end").alias("offset"),
        F.lit(False).alias("inside"), none,
    )  # fmt: skip
    return moved.unionByName(first).unionByName(end).unionByName(_inside(here, reads))


def _inside(here: DataFrame, reads: DataFrame) -> DataFrame:
    """Jumps between two records of one poll."""
    order = Window.partitionBy(*EACH, "poll").orderBy("index")
    pairs = reads.select(*EACH, "poll", "index", "offset", (F.lag("offset").over(order) + 1).alias("expected"))
    found = pairs.where(F.col("expected").isNotNull() & (F.col("offset") != F.col("expected")))
    steps = here.select(*EACH, "poll", "step")
    return found.join(steps, [*EACH, "poll"]).select(
        *EACH, "poll", "step", F.col("step").alias("before_step"), "expected", "offset",
        F.lit(True).alias("inside"), F.lit("").alias("moved"),
    )  # fmt: skip


def missed(found: DataFrame, known: DataFrame, start: str, end: str) -> DataFrame:
    """The rows of `found` (with run and key) between whose offsets start <= o < end lies something known.

    With `missed`: those offsets in order, and `missed_step`: the step of the first. What misses nothing is sorted out
    before anything is counted.
    """
    by = ("run", "key")
    order = Window.partitionBy(*by).orderBy("_known")
    numbered = known.select(*by, F.col("offset").alias("_known"), F.col("step").alias("_step"))
    numbered = numbered.withColumn("_n", F.row_number().over(order))
    names = found.columns
    found = last_before(found, numbered, by, F.col(end), F.col("_known"), "_last")
    found = found.where(F.col("_last._known") >= F.col(start))
    found = last_before(found, numbered, by, F.col(start), F.col("_known"), "_first")
    lowest = F.coalesce(F.col("_first._n"), F.lit(0)) + 1
    each = found.select(*names, F.explode(F.sequence(lowest, F.col("_last._n"))).alias("_n"))
    each = each.join(numbered, [*by, "_n"])
    return each.groupBy(*names).agg(
        F.array_sort(F.collect_list("_known")).alias("missed"), F.min_by("_step", "_known").alias("missed_step")
    )


def passages(walk: DataFrame, reads: DataFrame) -> DataFrame:
    """What was read in one go, for each key: run, key, start, last (the highest offset seen), step (when).

    A seek or an assignment begins another passage; where no position is known one begins at 0.
    """
    order = Window.partitionBy(*EACH).orderBy("poll")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    begins = (F.col("moved") != "") | (F.row_number().over(order) == 1)
    parts = walk.withColumn("_begins", begins.cast("int")).withColumn("_part", F.sum("_begins").over(so_far))
    step_of = reads.groupBy(*EACH, "poll", "offset").agg(F.min("step").alias("at"))
    step_of = step_of.groupBy(*EACH, "poll").agg(F.max_by("at", "offset").alias("at"))
    parts = parts.join(step_of, [*EACH, "poll"], "left")
    found = parts.groupBy(*EACH, "_part").agg(
        F.greatest(F.min_by("start", "poll"), F.lit(0)).alias("start"),
        F.max("highest").alias("last"),
        F.max(F.struct("highest", -F.col("poll"), "at")).getField("at").alias("step"),
    )
    return found.where(F.col("last") >= 0).select("run", "key", "start", "last", "step")


def passed_over(asked: DataFrame, passed: DataFrame, offset: str) -> DataFrame:
    """The rows of `asked` (with run and key) whose offset some passage came by, with `passed_step` of the first."""
    names = asked.columns
    spans = passed.groupBy("run", "key").agg(
        F.array_sort(F.collect_list(F.struct("start", "last", "step"))).alias("_all")
    )
    found = asked.join(spans, ["run", "key"])
    at = F.col(offset)
    first = F.filter("_all", lambda span: (span["start"] <= at) & (at <= span["last"]))
    found = found.withColumn("_hit", F.get(first, F.lit(0))).where(F.col("_hit").isNotNull())
    return found.select(*names, F.col("_hit.step").alias("passed_step"))
