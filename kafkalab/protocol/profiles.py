"""A Kafka version, for what concerns the guarantees: its rules, the cluster level, and the client protocol."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from kafkalab.limits import QUOTE, list_names, quote
from kafkalab.protocol import rules
from kafkalab.protocol.api import USUAL
from kafkalab.protocol.rules import REGISTRY, Rule

_SINCE_4_3 = (rules.NO_NEEDLESS_BATCH,)
_SINCE_1_0 = (
    rules.OLD_BATCHES,
    rules.ANY_FIRST_SEQUENCE,
    rules.STATE_OUTLIVES_DATA,
    rules.MARKERS_KEEP_STATE,
    rules.VERIFICATION,
    rules.MARKER_TAKES_GUARD,
    rules.NEXT_GUARD_STAYS,
    rules.LOWEST_SEQUENCE,
    rules.FIRST_SEQUENCE_ZERO,
    rules.EPOCH_BEFORE_GUARD,
    rules.EXACT_END_EPOCH,
    rules.FENCED_CODE,
    rules.KEEP_EPOCH_EXPECTED,
    rules.EPOCH_PER_TRANSACTION,
    rules.PENDING_FIRST,
    rules.ROTATION_LOGGED,
    rules.MARKERS_BY_EPOCH,
    rules.NEWER_MARKER_EPOCH,
    rules.MARKER_RETRY,
    rules.EMPTY_NOT_COMPLETED,
    rules.GENERATION_CHECK,
    rules.GROUP_SEEN_AGAIN,
    rules.STABLE_OFFSETS,
    rules.DELETE_HORIZON,
    rules.VERIFIED_AT_ONCE,
    rules.FENCE_BUMPS_ONCE,
    rules.FENCE_ROTATES,
    rules.TOPIC_WRITE_SUFFICES,
    rules.EFFECTIVE_MIN_ISR,
    rules.GROUP_LOG_WAITS,
    rules.INVALID_RECORD_CODE,
    rules.LSO_FOR_ALL,
    rules.WATERMARK_ONCE,
    *_SINCE_4_3,
)
_SINCE_0_11 = (*_SINCE_1_0, rules.FIVE_BATCHES, rules.TIMEOUT_BUMPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The rules, the cluster level and the client protocol of a version.

    `cluster_level` is the finalized level of the feature `transaction.version`, 0 to 2. `client_protocol` is the newest
    form of the transactional requests that the clients speak, 0 to 2: a client speaks 2 only on a cluster of level 2.
    `lacks` has the rules that came later. `kafka` is the release whose versions of APIs clients and brokers know.
    """

    name: str
    client_protocol: int
    cluster_level: int
    lacks: tuple[Rule, ...] = ()
    kafka: str = USUAL


PROFILES: dict[str, Profile] = {
    p.name: p
    for p in (
        Profile(name="0.11", client_protocol=0, cluster_level=0, lacks=_SINCE_0_11),
        Profile(name="1.0", client_protocol=0, cluster_level=0, lacks=(*_SINCE_1_0, rules.OFFSETS_EPOCH)),
        Profile(name="4.x/TV1", client_protocol=1, cluster_level=2, lacks=_SINCE_4_3),
        Profile(name="4.x/TV2", client_protocol=2, cluster_level=2, lacks=_SINCE_4_3),
        Profile(name="4.4/TV1", client_protocol=1, cluster_level=2, kafka="4.4"),
        Profile(name="4.4/TV2", client_protocol=2, cluster_level=2, kafka="4.4"),
    )
}
"""The profiles that a scenario may name.

0.11 refused a fenced producer's offsets, 1.0 to 2.4 did not. "4.x" is 4.0 to 4.3. "4.x/TV1" has clients of client
protocol 1, such as librdkafka's, on a cluster of level 2: the level does not protect such a client.
"""


SERVED = {(p.kafka, p.client_protocol): name for name, p in PROFILES.items() if p.client_protocol}
"""The profile whose rules brokers follow that serve real clients, by release and cluster level; data folders name it.
"""

RULE_NAMES = tuple(rule.name for rule in REGISTRY)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force: a profile, less the rules switched off (by name). ValueError for a name that is none."""

    profile: str = "4.x/TV2"
    off: tuple[str, ...] = ()
    _off: frozenset[str] = field(init=False, repr=False, compare=False)
    client_protocol: int = field(init=False, repr=False, compare=False)
    """The newest form of the transactional requests that clients speak: 0, 1 or 2."""
    cluster_level: int = field(init=False, repr=False, compare=False)
    """The finalized level of the feature `transaction.version`: 0, 1 or 2."""
    kafka: str = field(init=False, repr=False, compare=False)
    """The release whose versions of APIs are known, such as "4.3"."""

    def __post_init__(self) -> None:
        if not isinstance(self.profile, str) or self.profile not in PROFILES:
            raise ValueError(f"no profile {quote(self.profile)}; there are {', '.join(PROFILES)}")
        for name in self.off:
            if name not in RULE_NAMES:
                near = difflib.get_close_matches(name, RULE_NAMES, 1) if len(name) <= QUOTE else []
                hint = f"; did you mean {near[0]}?" if near else f"; there are: {list_names(RULE_NAMES, '; ')}"
                raise ValueError(f"no rule {quote(name)}{hint}")
        profile = PROFILES[self.profile]
        object.__setattr__(self, "_off", frozenset((*(r.name for r in profile.lacks), *self.off)))
        object.__setattr__(self, "client_protocol", profile.client_protocol)
        object.__setattr__(self, "cluster_level", profile.cluster_level)
        object.__setattr__(self, "kafka", profile.kafka)

    def on(self, rule: Rule) -> bool:
        """Return True if the rule is in force."""
        return rule.name not in self._off
