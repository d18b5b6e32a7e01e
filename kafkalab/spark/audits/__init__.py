"""The audits: one file per anomaly, each the DataFrame form of the pure-Python check of the same name."""

from __future__ import annotations

from kafkalab.spark.audits import (
    duplicate,
    exactly_once,
    g0,
    g1a,
    g1c,
    hanging_transaction,
    inconsistent_offsets,
    int_send_skip,
    lost_write,
    lso_regression,
    markers_and_decisions,
    nonmonotonic_poll,
    nonmonotonic_send,
    offset_output_split,
    partial_visibility,
    poll_skip,
    precommitted_read,
    sequence_gap,
    torn_transaction,
    unseen,
    zombie_write,
)
from kafkalab.spark.audits.check import Audit as Audit

AUDITS: tuple[Audit, ...] = (
    inconsistent_offsets.AUDIT,
    g1a.AUDIT,
    precommitted_read.AUDIT,
    lost_write.AUDIT,
    unseen.AUDIT,
    duplicate.AUDIT,
    poll_skip.BETWEEN,
    poll_skip.INSIDE,
    nonmonotonic_poll.BETWEEN,
    nonmonotonic_poll.INSIDE,
    nonmonotonic_send.BETWEEN,
    nonmonotonic_send.INSIDE,
    int_send_skip.AUDIT,
    g0.AUDIT,
    g1c.AUDIT,
    torn_transaction.AUDIT,
    partial_visibility.AUDIT,
    zombie_write.AUDIT,
    hanging_transaction.AUDIT,
    offset_output_split.AUDIT,
    sequence_gap.AUDIT,
    lso_regression.AUDIT,
    markers_and_decisions.MARKERS,
    markers_and_decisions.DECISIONS,
    exactly_once.AUDIT,
)
"""In the order of `kafkalab.checks.all.CHECKS`."""

BY_NAME = {audit.name: audit for audit in AUDITS}
