"""nonmonotonic-poll and int-nonmonotonic-poll: a later poll, or record of a poll, is not behind the earlier one."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks import nonmonotonic_poll as checks
from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.spark.audits import order_of_polls
from kafkalab.spark.audits.check import Audit, audit_of
from kafkalab.spark.audits.view import View


def find(audit: Audit, view: View) -> DataFrame:
    """Going back is allowed after assign, seek or rebalance."""
    inside = F.col("inside") if audit.name.startswith("int-") else ~F.col("inside")
    back = view.jumps.where(inside & (F.col("offset") < F.col("expected")))
    text = F.concat("consumer", F.lit(" went back from "), "expected", F.lit(" to "), "offset", F.lit(" of "), "key")
    policy = F.when(F.col("moved") != "", ALLOWED).otherwise(FORBIDDEN)
    return audit.found(back, text, [F.col("before_step"), F.col("step")], [F.col("key")], [F.col("offset")], policy)


BETWEEN = audit_of(checks.BETWEEN, find, order_of_polls.between)
INSIDE = audit_of(checks.INSIDE, find, order_of_polls.inside)
