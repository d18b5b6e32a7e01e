"""The cells that every transition table shares."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.protocol.errors import Error


@dataclass(frozen=True, slots=True)
class Same:
    """Nothing to write: the answer is NONE, or there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with this error and write nothing."""

    error: Error
