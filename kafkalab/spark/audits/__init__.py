"""The audits that look at more than one key: one file each, the DataFrame form of the check of the same name.

`kafkalab.spark.key_pass` finds the other fourteen anomalies.
"""

from __future__ import annotations

from kafkalab.spark.audits import (
    cycles,
    exactly_once,
    hanging_transaction,
    markers_and_decisions,
    offset_output_split,
    partial_visibility,
    precommitted_read,
    torn_transaction,
    zombie_write,
)
from kafkalab.spark.audits.check import Audit as Audit

PLANS: dict[str, tuple[Audit, ...]] = {
    "epochs": (zombie_write.AUDIT,),
    "transactions": (
        torn_transaction.AUDIT,
        hanging_transaction.AUDIT,
        markers_and_decisions.MARKERS,
        markers_and_decisions.DECISIONS,
    ),
    "who read what": (precommitted_read.AUDIT, partial_visibility.AUDIT),
    "exactly-once effects": (offset_output_split.AUDIT, exactly_once.AUDIT),
    "cycles": (cycles.G0, cycles.G1C),
}
"""The audits that make one plan, by its title; together they scan and sort what they share once.

Python's workers, which the last plan needs, start when Java has had its largest plans.
"""
