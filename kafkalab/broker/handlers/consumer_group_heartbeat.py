"""ConsumerGroupHeartbeat: refused, as by a Kafka whose `group.version` is 0 (`isConsumerGroupProtocolEnabled`)."""

from __future__ import annotations

from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse


def handle(broker: BrokerState, request: ConsumerGroupHeartbeat, header: Header) -> ConsumerGroupHeartbeatResponse:
    """Refuse with UNSUPPORTED_VERSION, before the group's permissions are looked at."""
    return ConsumerGroupHeartbeatResponse(error=Error.UNSUPPORTED_VERSION)
