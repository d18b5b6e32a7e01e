"""The audits that are DataFrames, because they look at what several clients did: each has the check of its name.

`kafkalab.spark.key_pass` and `kafkalab.spark.client_pass` find the other anomalies.
"""

from __future__ import annotations

from kafkalab.spark.audits import exactly_once, offset_output_split
from kafkalab.spark.audits.check import Audit as Audit

PLANS: dict[str, tuple[Audit, ...]] = {
    "exactly-once effects": (offset_output_split.AUDIT, exactly_once.AUDIT),
}
"""The audits that make one plan, by its title; together they scan and sort what they share once."""
