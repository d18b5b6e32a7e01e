"""A member's heartbeats: sent whatever the application does, and stopped if it does not poll for too long."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.connection import RETRY_BACKOFF_MS, Connection
from kafkalab.client.consumer.membership import LOOK_UP, UNKNOWN, Membership
from kafkalab.client.exceptions import KafkaError, exception_for
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.find_coordinator import GROUP
from kafkalab.protocol.messages.heartbeat import Heartbeat, HeartbeatResponse

SUCCEEDED = (Error.NONE, Error.REBALANCE_IN_PROGRESS)
"""The answers that prove the member's session; after any other the next heartbeat follows retry.backoff.ms later."""


class Heartbeats:
    """Send one every heartbeat.interval.ms; after max.poll.interval.ms without a poll call `leave`.

    Their timers are deadlines: alone they keep no run going. A paused process sends none, so its session expires.
    """

    def __init__(
        self, membership: Membership, config: ConsumerConfig, connection: Connection, leave: Callable[[], None]
    ) -> None:
        self.membership, self.config, self.connection, self.leave = membership, config, connection, leave

    def start(self) -> None:
        """Begin: the member has a generation."""
        self._later(self.membership.begin_heartbeats(), self.config.heartbeat_interval_ms)

    def _later(self, number: int, delay_ms: int) -> None:
        self.connection.port.deadline(delay_ms, lambda: self._due(number))

    def _due(self, number: int) -> None:
        if number != self.membership.heartbeat_round:
            return
        port = self.connection.port
        if port.now - self.membership.last_poll_ms >= self.config.max_poll_interval_ms:
            self.leave()
        else:
            port.spawn(self._beat(number))

    async def _beat(self, number: int) -> None:
        member, failed = self.membership, True
        try:
            node = await self.connection.coordinator_now(GROUP, member.group_id)
        except KafkaError:
            node = ""  # poll will meet it too, and raise it
        if node and number == member.heartbeat_round:
            body = Heartbeat(
                group_id=member.group_id,
                generation_id=member.generation,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
            )
            response = await self.connection.call(node, body)
            if number == member.heartbeat_round:
                self._handle(response)
                failed = response is None or response.error not in SUCCEEDED
        if number == member.heartbeat_round:
            self._later(number, RETRY_BACKOFF_MS if failed else self.config.heartbeat_interval_ms)

    def _handle(self, response: HeartbeatResponse | None) -> None:
        """Do what the answer asks for; after an error that is not listed here the heartbeat is only sent again."""
        error = Error.NETWORK_EXCEPTION if response is None else response.error
        if response is None or error in LOOK_UP:
            self.connection.forget_coordinator(GROUP, self.membership.group_id)
        elif error is Error.REBALANCE_IN_PROGRESS:
            self.membership.request_rejoin()
        elif error in UNKNOWN:
            self.membership.forget(error)
        elif error is Error.FENCED_INSTANCE_ID:
            self.membership.fail(exception_for(error))
