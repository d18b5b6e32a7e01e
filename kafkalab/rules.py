"""The protocol rules that handlers ask for, and the profiles that name a set of them.

A Kafka version is a set of rules: `rules.on(DEDUPLICATION)`. Only rules that some handler asks for stand here.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """A protocol rule that can be switched off: its name in plain words, where it comes from, what it protects."""

    name: str
    source: str
    protects: str


DEDUPLICATION = Rule("duplicates are recognised by producer id and sequence", "KIP-98", "a retried batch lands once")
SEQUENCE_GAPS = Rule("a gap in the sequence is refused", "KIP-98", "no batch is lost or overtaken unnoticed")
PRODUCE_EPOCH = Rule("the leader compares the producer epoch", "KIP-98", "a fenced producer cannot write")
COORDINATOR_EPOCH_CHECK = Rule("the coordinator compares the producer epoch", "KIP-98", "a fenced producer cannot end")
VERIFICATION = Rule("a partition is verified before a transactional append", "KIP-890 part 1", "no hanging transaction")
REDRIVE_PREPARE = Rule("a prepared transaction is finished after failover", "KIP-98", "no decided transaction hangs")
MARKER_EPOCH = Rule("markers of an older coordinator are refused", "KIP-98", "a deposed coordinator cannot decide")
LSO_BOUND = Rule("the last stable offset bounds read_committed", "KIP-98", "undecided records stay unseen")
ABORTED_FILTER = Rule("the consumer filters aborted transactions", "KIP-98", "aborted records stay unseen")
STABLE_OFFSETS = Rule("a reader waits for stable offsets", "KIP-447", "no input is processed twice")
TIMEOUT_ABORT = Rule("a transaction that is open too long is aborted", "KIP-98", "readers are not blocked for ever")

REGISTRY: tuple[Rule, ...] = (
    DEDUPLICATION,
    SEQUENCE_GAPS,
    PRODUCE_EPOCH,
    COORDINATOR_EPOCH_CHECK,
    VERIFICATION,
    REDRIVE_PREPARE,
    MARKER_EPOCH,
    LSO_BOUND,
    ABORTED_FILTER,
    STABLE_OFFSETS,
    TIMEOUT_ABORT,
)
PROFILES: dict[str, int] = {"4.x/TV1": 1, "4.x/TV2": 2}
"""Profile to the transaction version that the clients speak; the cluster's own level is 2 in both."""

CLUSTER_TRANSACTION_VERSION = 2


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force: a profile, less the rules switched off (by name). ValueError for a name that is none."""

    profile: str = "4.x/TV2"
    off: tuple[str, ...] = ()
    _off: frozenset[Rule] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"no profile {self.profile!r}; there are {', '.join(PROFILES)}")
        names = {r.name: r for r in REGISTRY}
        for name in self.off:
            if name not in names:
                raise ValueError(f"no rule {name!r}; there are: {'; '.join(names)}")
        object.__setattr__(self, "_off", frozenset(names[n] for n in self.off))

    def on(self, rule: Rule) -> bool:
        """Whether the rule is in force."""
        return rule not in self._off

    @property
    def client_version(self) -> int:
        """The transaction version that clients speak: 1 or 2."""
        return PROFILES[self.profile]
