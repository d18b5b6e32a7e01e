"""unseen: committed, but not polled by the end of the history; perhaps only late."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.unseen import CHECK
from kafkalab.spark.audits.check import Audit, audit_of, counted
from kafkalab.spark.audits.view import View


def _known(view: View) -> DataFrame:
    """The committed values of keys that were polled at all."""
    polled = view.histories.reads.select("run", "key").distinct()
    return view.known.join(F.broadcast(polled), ["run", "key"], "left_semi")


def find(audit: Audit, view: View) -> DataFrame:
    """One finding for each key, with what nobody was given."""
    given = view.histories.reads.select("run", "key", "offset", "value").alias("g")
    same = F.col("k.value").eqNullSafe(F.col("g.value"))
    for name in ("run", "key", "offset"):
        same = same & (F.col(f"k.{name}") == F.col(f"g.{name}"))
    rest = _known(view).alias("k").join(given, same, "left_anti")
    found = rest.groupBy("run", "key").agg(
        F.array_sort(F.collect_list("offset")).alias("offsets"), F.min_by("step", "offset").alias("step")
    )
    number = F.size("offsets").cast("string")
    text = F.concat(
        "key", F.lit(": "), number, F.lit(" committed value(s) were not polled, the first at offset "),
        F.get("offsets", F.lit(0)).cast("string"),
    )  # fmt: skip
    return audit.found(found, text, [F.col("step")], [F.col("key")], F.col("offsets"))


def count(view: View) -> DataFrame:
    """The committed values of keys that were polled."""
    return counted(_known(view))


AUDIT = audit_of(CHECK, find, count)
