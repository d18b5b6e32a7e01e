"""Every protocol rule that matters to a guarantee, by name. Handlers ask `rules.on(DEDUPLICATION)`.

A Kafka version is a set of rules: see kafkalab/protocol/profiles.py. With a rule off, the code does what Kafka did
before the rule, or what a Kafka without it would do; never something invented.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """A protocol rule that can be switched off: its name in plain words, where it comes from, what it protects."""

    name: str
    source: str
    protects: str


# the idempotent producer, at the partition leader
DEDUPLICATION = Rule("duplicates are recognised by producer id and sequence", "KIP-98", "a retried batch lands once")
FIVE_BATCHES = Rule("five batches of a producer are remembered", "KAFKA-5494", "any retry in flight is recognised")
OLD_BATCHES = Rule("a batch too old to be recognised is out of order", "KAFKA-6683", "no acknowledgement by mistake")
SEQUENCE_GAPS = Rule("a gap in the sequence is refused", "KIP-98", "no batch is lost or overtaken unnoticed")
ANY_FIRST_SEQUENCE = Rule("a leader without state takes any first sequence", "KIP-360", "an idle producer goes on")
STATE_OUTLIVES_DATA = Rule("producer state outlives deleted records", "KAFKA-7190", "an idle producer goes on")
MARKERS_KEEP_STATE = Rule("markers keep producer state alive", "KAFKA-9144", "an old coordinator stays fenced")
PRODUCE_EPOCH = Rule("the leader compares the producer epoch", "KIP-98", "a fenced producer cannot write")
INVALID_RECORD_CODE = Rule("a malformed batch has an error of its own", "KIP-467", "what never works is not retried")
TOPIC_WRITE_SUFFICES = Rule("who may write to a topic may be idempotent", "KIP-679", "idempotence needs no extra right")

# verification at the partition leader
VERIFICATION = Rule("a partition is verified before a transactional append", "KIP-890 part 1", "no hanging transaction")
MARKER_TAKES_GUARD = Rule("a marker takes the verification away", "KAFKA-14884", "no hanging transaction")
NEXT_GUARD_STAYS = Rule("a marker leaves the next transaction's verification", "KAFKA-18575", "the next one goes on")
VERIFIED_AT_ONCE = Rule("a verification ignores pending transitions", "KAFKA-14904", "records keep their order")
LOWEST_SEQUENCE = Rule("the lowest verified sequence is appended first", "KAFKA-14920", "records keep their order")
FIRST_SEQUENCE_ZERO = Rule("a producer without state begins at sequence 0", "KAFKA-18202", "records keep their order")
EPOCH_BEFORE_GUARD = Rule("the epoch is compared before the verification", "KAFKA-19690", "a fenced one may recover")

# the transaction coordinator
COORDINATOR_EPOCH_CHECK = Rule("the coordinator compares the producer epoch", "KIP-98", "a fenced producer cannot end")
EXACT_END_EPOCH = Rule("EndTxn with a larger epoch is refused", "KAFKA-9600", "a refused request decides nothing")
FENCED_CODE = Rule("the coordinator says PRODUCER_FENCED", "KIP-588", "clients tell fenced from timed out")
BUMP_ON_INIT = Rule("InitProducerId raises the epoch", "KIP-98", "the older instance is fenced")
ABORT_ON_INIT = Rule("InitProducerId aborts the open transaction", "KIP-98", "nothing of a predecessor stays open")
KEEP_EPOCH_EXPECTED = Rule("InitProducerId takes an expected epoch", "KIP-360", "a producer recovers without a fence")
EPOCH_PER_TRANSACTION = Rule("each transaction has an epoch of its own", "KIP-890 part 2", "no torn transaction")
PENDING_FIRST = Rule("a pending transition is answered before the epoch", "KAFKA-18464", "no self-fencing")
PREPARE_FIRST = Rule("the decision is logged before the markers", "KIP-98", "one outcome on all partitions")
REDRIVE_PREPARE = Rule("a prepared transaction is finished after failover", "KIP-98", "no decided transaction hangs")
COMPLETE_REWRITTEN = Rule("a lost completion is written again", "KIP-98", "no decided transaction hangs")
FENCE_BUMPS_ONCE = Rule("a coordinator's own abort raises the epoch once", "KAFKA-19367", "epochs last longer")
FENCE_ROTATES = Rule("a coordinator's own abort replaces a used-up id", "KAFKA-20090", "nobody gets the last epoch")
ROTATION_LOGGED = Rule("a producer id's successor is logged", "KAFKA-20310", "a rotation survives failover")
MARKERS_BY_EPOCH = Rule("an answer counts for its coordinator epoch only", "KAFKA-16352", "no completion is lost")
LEADER_AWAITED = Rule("markers wait for a partition without a leader", "KAFKA-20734", "no hanging transaction")
TIMEOUT_ABORT = Rule("a transaction that is open too long is aborted", "KIP-98", "readers are not blocked for ever")
TIMEOUT_BUMPS = Rule("an abort by timeout raises the epoch", "KAFKA-6119", "a late producer cannot go on")
TIMEOUT_MAXIMUM = Rule("a timeout has a maximum", "KIP-98", "readers are not blocked for long")

# markers at the partition leader
MARKER_EPOCH = Rule("markers of an older coordinator are refused", "KIP-98", "a deposed coordinator cannot decide")
MARKER_PRODUCER_EPOCH = Rule("markers of an older producer epoch are refused", "KIP-98", "no marker ends a later one")
NEWER_MARKER_EPOCH = Rule("a marker of version 2 needs a newer epoch", "KIP-1228", "no marker ends a later one")
MARKER_RETRY = Rule("a marker of version 2 may come twice", "KAFKA-19999", "no decided transaction hangs")
EMPTY_NOT_COMPLETED = Rule("an empty transaction completes nothing", "after 1.0", "the aborted index stays small")

# groups
GENERATION_CHECK = Rule("transactional offsets name the group's generation", "KIP-447", "a zombie commits no offsets")
OFFSETS_EPOCH = Rule("offsets are refused by producer epoch", "KAFKA-9144", "a fenced producer commits no offsets")
GROUP_SEEN_AGAIN = Rule("a group is looked at after the verification", "KAFKA-15784", "a zombie commits no offsets")
STABLE_OFFSETS = Rule("a reader waits for stable offsets", "KIP-447", "no input is processed twice")
GROUP_LOG_WAITS = Rule("a group's record waits for its replicas", "KIP-848", "a commit outlives a short outage")
NEWEST_OFFSET = Rule("the newest offset wins when a transaction ends", "KAFKA-14505", "an offset never goes back")

# reading and replication
LSO_BOUND = Rule("the last stable offset bounds read_committed", "KIP-98", "undecided records stay unseen")
WATERMARK_ONCE = Rule("a Fetch reads the high watermark once", "KAFKA-9807", "undecided records stay unseen")
LSO_FOR_ALL = Rule("read_uncommitted is told the last stable offset", "KAFKA-7395", "lag is seen by every reader")
ABORTED_FILTER = Rule("the consumer filters aborted transactions", "KIP-98", "aborted records stay unseen")
HIGH_WATERMARK = Rule("readers see only what is replicated", "KAFKA-50", "what was read is never lost")
EFFECTIVE_MIN_ISR = Rule("too few in-sync replicas stop the high watermark", "KAFKA-15583", "what was read has copies")
LEADER_EPOCH = Rule("followers truncate by leader epoch", "KIP-101", "replicas never differ")
CLEAN_ELECTION = Rule("only in-sync replicas are elected", "KAFKA-1028", "what was acknowledged is never lost")

# compaction
DELETE_HORIZON = Rule("a marker's last day is written into its batch", "KIP-534", "markers do go in the end")
NO_NEEDLESS_BATCH = Rule("no empty batch stays below the high watermark", "KAFKA-20452", "a compacted log stays small")
LAST_BATCH_STAYS = Rule("compaction keeps a producer's last batch", "KAFKA-5491", "sequences survive compaction")

REGISTRY: tuple[Rule, ...] = tuple(sorted(rule for rule in globals().values() if isinstance(rule, Rule)))
"""All rules, by name in alphabetical order."""
