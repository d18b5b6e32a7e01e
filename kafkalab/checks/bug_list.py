"""The historical bugs that can be replayed, in the order of their numbers."""

from __future__ import annotations

from kafkalab import rules
from kafkalab.checks.bug import Bug, answers, stable, state

BUGS: tuple[Bug, ...] = (
    Bug(
        number="KAFKA-5494",
        title="Two batches in flight, and a leader that remembers one",
        broke="Availability, and no duplicates: the retry of the older batch was taken for a new one out of order.",
        cure="Since 1.0.0 a leader remembers the last five batches of a producer, so five may be in flight.",
        rule=rules.FIVE_BATCHES,
        sign=answers("p", "Produce", 2),
        good="NONE, NONE",
        bad="OUT_OF_ORDER_SEQUENCE_NUMBER, NONE",
    ),
    Bug(
        number="KAFKA-14402",
        title="The hanging transaction",
        broke="Liveness: readers with read_committed stand still, and compaction too, until someone intervenes.",
        cure="Since 3.6.0 a leader asks the coordinator before it opens a transaction (KIP-890, part 1).",
        rule=rules.VERIFICATION,
        sign=stable("out-0"),
        good="2 of 2",
        bad="2 of 3",
        anomaly="hanging transaction",
    ),
    Bug(
        number="KAFKA-19999",
        title="A marker that must not be repeated",
        broke="Liveness: the coordinator gives up, and the transaction stays decided but unfinished.",
        cure="Since 4.2.0 a leader takes a marker of version 2 again if its transaction is already ended.",
        rule=rules.MARKER_RETRY,
        sign=state("pay"),
        good="CompleteCommit",
        bad="PrepareCommit",
        anomaly="decision without marker",
    ),
)
