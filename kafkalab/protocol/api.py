"""The parts of an API: key, versions, request and response. Each file of protocol/messages has one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

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
    the rest is for brokers only.
    """

    key: int
    versions: range
    request: type
    response: type
    category: str
    about: str
    offered: range = field(default=EVERY, kw_only=True)

    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.request.__name__)
        if self.offered == EVERY:
            object.__setattr__(self, "offered", self.versions)
