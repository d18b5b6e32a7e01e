"""What an API is: key, versions, request, reply, handler. One constant of this type per file of this folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect


class Header(NamedTuple):
    """What a request carries besides its body: the version that both sides agreed on, and who sends it."""

    version: int
    sender: str


Handler = Callable[[BrokerState, Any, int, Header], list[Effect]]


@dataclass(frozen=True, slots=True)
class Api:
    """One Kafka API. `group` says which frames belong together in a picture; `about` is one sentence for learners."""

    key: int
    versions: range
    request: type
    reply: type
    handle: Handler | None
    group: str
    about: str

    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.request.__name__)
