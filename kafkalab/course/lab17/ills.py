"""Find the payments that a run of lab 17 loses or doubles, and the transaction that its timeout ends."""

from __future__ import annotations

from kafkalab.course.lab17.parts import LOST, ONCE, TWICE
from kafkalab.course.lab17.scenario import fate
from kafkalab.sim.cluster import Cluster


def find_ills(cluster: Cluster, may_wait: bool = False) -> str:
    """Return what a run should not have, in a sentence without its end; "" if it has nothing of it.

    That is a payment with no committed receipt or with two, and, unless it `may_wait`, a transaction that its timeout
    ended.
    """
    of_fate = {LOST: "a payment has no receipt", TWICE: "a payment has two receipts", ONCE: ""}[fate(cluster)]
    waited = not may_wait and cluster.trace.of("state", "timeout")
    return " and ".join(filter(None, (of_fate, "a transaction stays open until its timeout" if waited else "")))
