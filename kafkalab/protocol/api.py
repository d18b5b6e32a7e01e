"""The parts of an API: key, versions, request and response. Each file of protocol/messages has one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Header(NamedTuple):
    """The header of a request: the version that both sides agreed on, and who sends it."""

    version: int
    sender: str


@dataclass(frozen=True, slots=True)
class Api:
    """One Kafka API; `about` is one sentence for learners.

    `category` groups the frames of a picture: "metadata" (who is where) and "replication" (what followers fetch) are
    shown only when they are asked for, all else is "transaction".
    """

    key: int
    versions: range
    request: type
    response: type
    category: str
    about: str

    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.request.__name__)
