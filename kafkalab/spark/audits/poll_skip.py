"""poll-skip and int-poll-skip: a consumer jumps over known committed values, between two polls or inside one."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks import poll_skip as checks
from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.spark.audits import order_of_polls
from kafkalab.spark.audits.check import Audit, audit_of
from kafkalab.spark.audits.view import View
from kafkalab.spark.audits.walks import missed


def find(audit: Audit, view: View) -> DataFrame:
    """Markers, aborted records and what was removed may be jumped over; after assign or seek all may."""
    inside = F.col("inside") if audit.name.startswith("int-") else ~F.col("inside")
    forwards = view.jumps.where(inside & (F.col("offset") > F.col("expected")) & ~F.col("moved").isin("assign", "seek"))
    over = missed(forwards, view.known, "expected", "offset")
    text = F.concat(
        "consumer", F.lit(" went from "), "expected", F.lit(" to "), "offset", F.lit(" of "), "key",
        F.lit(", over committed values"),
    )  # fmt: skip
    policy = F.when(F.col("moved") != "", ALLOWED).otherwise(FORBIDDEN)
    steps = [F.col("missed_step"), F.col("before_step"), F.col("step")]
    return audit.found(over, text, steps, [F.col("key")], F.col("missed"), policy)


BETWEEN = audit_of(checks.BETWEEN, find, order_of_polls.between)
INSIDE = audit_of(checks.INSIDE, find, order_of_polls.inside)
