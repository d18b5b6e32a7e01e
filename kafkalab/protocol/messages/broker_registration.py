"""BrokerRegistration: a broker that has started asks the controller to be let in."""

from __future__ import annotations

from kafkalab.protocol.api import BETWEEN_SERVERS, Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A broker that has (re)started asks to be let in."""

    broker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationResponse:
    error: Error = Error.NONE


API = Api(
    62,
    range(0, 5),
    BrokerRegistration,
    BrokerRegistrationResponse,
    "metadata",
    "A restarted broker asks to be let in.",
    offered=BETWEEN_SERVERS,
)
