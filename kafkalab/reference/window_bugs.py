"""The historical bugs that need two threads of one broker: each run has a `Stall` in a window."""

from __future__ import annotations

from kafkalab.protocol import rules
from kafkalab.reference.bug import Bug, result

READ_TWICE = Bug(
    number="KAFKA-9807",
    title="A Fetch that reads the high watermark twice",
    broke="Isolation: the read ended at a high watermark that had risen since the comparison, above the last "
    "stable offset. A reader with read_committed was given a record that was aborted later.",
    cure="Since 2.5.0 a Fetch reads the high watermark once.",
    rule=rules.WATERMARK_ONCE,
    sign=result("reader"),
    good="[]",
    bad="[['out-0', 0, 'a']]",
    anomaly="G1a",
)
