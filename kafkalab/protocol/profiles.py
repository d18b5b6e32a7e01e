"""A Kafka version, for what concerns the guarantees: which rules it has, and which transaction version is spoken."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.protocol.rules import (
    ANY_FIRST_SEQUENCE,
    DELETE_HORIZON,
    EMPTY_NOT_COMPLETED,
    EPOCH_BEFORE_GUARD,
    EPOCH_PER_TRANSACTION,
    EXACT_END_EPOCH,
    FENCE_BUMPS_ONCE,
    FENCE_ROTATES,
    FENCED_CODE,
    FIRST_SEQUENCE_ZERO,
    FIVE_BATCHES,
    GENERATION_CHECK,
    GROUP_SEEN_AGAIN,
    KEEP_EPOCH_EXPECTED,
    LOWEST_SEQUENCE,
    MARKER_RETRY,
    MARKER_TAKES_GUARD,
    MARKERS_BY_EPOCH,
    MARKERS_KEEP_STATE,
    NEWER_MARKER_EPOCH,
    NEXT_GUARD_STAYS,
    OLD_BATCHES,
    PENDING_FIRST,
    REGISTRY,
    ROTATION_LOGGED,
    STABLE_OFFSETS,
    STATE_OUTLIVES_DATA,
    TIMEOUT_BUMPS,
    TOPIC_WRITE_SUFFICES,
    VERIFICATION,
    VERIFIED_AT_ONCE,
    Rule,
)

_SINCE_1_0 = (
    OLD_BATCHES,
    ANY_FIRST_SEQUENCE,
    STATE_OUTLIVES_DATA,
    MARKERS_KEEP_STATE,
    VERIFICATION,
    MARKER_TAKES_GUARD,
    NEXT_GUARD_STAYS,
    LOWEST_SEQUENCE,
    FIRST_SEQUENCE_ZERO,
    EPOCH_BEFORE_GUARD,
    EXACT_END_EPOCH,
    FENCED_CODE,
    KEEP_EPOCH_EXPECTED,
    EPOCH_PER_TRANSACTION,
    PENDING_FIRST,
    ROTATION_LOGGED,
    MARKERS_BY_EPOCH,
    NEWER_MARKER_EPOCH,
    MARKER_RETRY,
    EMPTY_NOT_COMPLETED,
    GENERATION_CHECK,
    GROUP_SEEN_AGAIN,
    STABLE_OFFSETS,
    DELETE_HORIZON,
    VERIFIED_AT_ONCE,
    FENCE_BUMPS_ONCE,
    FENCE_ROTATES,
    TOPIC_WRITE_SUFFICES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """`client_version` and `cluster_version` are transaction versions (0, 1 or 2); `lacks` the rules of later days."""

    name: str
    client_version: int
    cluster_version: int
    lacks: tuple[Rule, ...] = ()


PROFILES: dict[str, Profile] = {
    p.name: p
    for p in (
        Profile(name="0.11", client_version=0, cluster_version=0, lacks=(*_SINCE_1_0, FIVE_BATCHES, TIMEOUT_BUMPS)),
        Profile(name="1.0", client_version=0, cluster_version=0, lacks=_SINCE_1_0),
        Profile(name="4.x/TV1", client_version=1, cluster_version=2),
        Profile(name="4.x/TV2", client_version=2, cluster_version=2),
    )
}
"""What a scenario may name. In "4.x/TV1" the brokers are today's and the clients do not speak version 2."""


RULE_NAMES = tuple(rule.name for rule in REGISTRY)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force: a profile, less the rules switched off (by name). ValueError for a name that is none."""

    profile: str = "4.x/TV2"
    off: tuple[str, ...] = ()
    _off: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"no profile {self.profile!r}; there are {', '.join(PROFILES)}")
        for name in self.off:
            if name not in RULE_NAMES:
                raise ValueError(f"no rule {name!r}; there are: {'; '.join(RULE_NAMES)}")
        object.__setattr__(self, "_off", frozenset((*(r.name for r in PROFILES[self.profile].lacks), *self.off)))

    def on(self, rule: Rule) -> bool:
        """Whether the rule is in force."""
        return rule.name not in self._off

    @property
    def client_version(self) -> int:
        """The transaction version that clients speak: 0, 1 or 2."""
        return PROFILES[self.profile].client_version

    @property
    def cluster_version(self) -> int:
        """The transaction version of the cluster: 0, 1 or 2 (the feature `transaction.version`)."""
        return PROFILES[self.profile].cluster_version
