"""The parts of an API: key, versions, request and response. Each file of protocol/messages has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

REFERENCES = {"4.3": "4.3.1", "4.4": "4.4.0"}
"""By release of Kafka, in order, the version whose answers are recorded; the first is the one that labs follow."""
USUAL, NEWEST = next(iter(REFERENCES)), list(REFERENCES)[-1]
EVERY = range(-1, 0)
BETWEEN_SERVERS = range(0)


class Header(NamedTuple):
    """The header of a request: the version that both sides agreed on, and who sends it."""

    version: int
    sender: str


@dataclass(frozen=True, slots=True)
class Api:
    """One Kafka API; `about` is one sentence for learners.

    `category` groups the frames of a picture: "metadata" (who is where) and "replication" (what followers fetch) are
    shown only when they are asked for, all else is "transaction".

    `versions` are those that the lab speaks, `offered` those of them that a broker offers to clients: every one, unless
    the rest is for brokers only. `since` has, by release of Kafka, the first version that came with it.
    """

    key: int
    versions: range
    request: type
    response: type
    category: str
    about: str
    offered: range = field(default=EVERY, kw_only=True)
    since: Mapping[str, int] = field(default_factory=dict, kw_only=True, hash=False)

    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.request.__name__)
        if self.offered == EVERY:
            object.__setattr__(self, "offered", self.versions)

    def known_to(self, kafka: str) -> range:
        """Return the versions that a release of Kafka, such as "4.3", knows."""
        releases = list(REFERENCES)
        later = [self.since[release] for release in releases[releases.index(kafka) + 1 :] if release in self.since]
        return range(self.versions.start, min([self.versions.stop, *later]))

    def offered_by(self, kafka: str) -> range:
        """Return the versions that a broker of this release offers to clients."""
        return range(self.offered.start, min(self.offered.stop, self.known_to(kafka).stop))
