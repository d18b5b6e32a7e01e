"""Rules that no scenario can show to matter to a promise about data: what stops without them instead, rule by rule."""

from __future__ import annotations

from kafkalab.protocol import rules
from kafkalab.protocol.rules import Rule

REASONS: dict[Rule, str] = {
    rules.ANY_FIRST_SEQUENCE: "Without it the batch of a producer that was idle for long is refused "
    "(UNKNOWN_PRODUCER_ID), and nothing is written; the rule protects the producer's right to go on.",
    rules.TOPIC_WRITE_SUFFICES: "It decides who may ask for a producer id, not what becomes of records; without it "
    "idempotence needs one more right.",
    rules.NEXT_GUARD_STAYS: "Without it the first batch of the next transaction is refused (INVALID_TXN_STATE) and its "
    "producer ends; nothing is written that should not be, and nothing is lost that was acknowledged.",
    rules.VERIFIED_AT_ONCE: "Without it a batch has to wait (NOT_ENOUGH_REPLICAS) and may come behind a later one, "
    "which the leader then refuses by the lowest sequence that it has seen; that is another rule, with a row above.",
    rules.EPOCH_BEFORE_GUARD: "The batch is refused with it and without it; it decides with which error, so whether "
    "the producer may abort and go on, or has to end.",
    rules.FENCED_CODE: "Whoever is fenced is refused with it and without it; it decides with which error, so whether a "
    "producer whose transaction has timed out may go on.",
    rules.PENDING_FIRST: "Without it a producer that uses its new epoch while the markers are under way is told that "
    "it is fenced; it ends, and its transactions are whole.",
    rules.FENCE_BUMPS_ONCE: "Without it a takeover or a timeout uses two epochs up; the one that is left out belongs "
    "to nobody, and at the last one the producer id is replaced all the same.",
    rules.EMPTY_NOT_COMPLETED: "Without it the aborted index has an entry for a marker without records; a reader that "
    "is told of it takes it back at the marker, so it costs room in the index and in answers to Fetch, and no record.",
    rules.DELETE_HORIZON: "Without it the day is reckoned from the times of files, which every cleaning renews, so "
    "markers and tombstones stay; what is read is the same, from a log that grows.",
}
"""One sentence for each rule: why no check can show it to be missing, and what it protects."""
