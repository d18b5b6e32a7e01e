"""A member's heartbeats: sent while the application does what it likes, and stopped if it does so for too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.client.exceptions import KafkaError
from kafkalab.protocol.messages.find_coordinator import GROUP
from kafkalab.protocol.messages.heartbeat import Heartbeat

if TYPE_CHECKING:
    from kafkalab.client.consumer.group_member import GroupMember


class Heartbeats:
    """One every heartbeat.interval.ms. Their timers are deadlines: alone they keep no run going.

    A process that is paused sends none, so its session ends at the coordinator.
    """

    def __init__(self, member: GroupMember) -> None:
        self.member = member
        self._round = 0

    def start(self) -> None:
        """The member has a generation: keep its session."""
        self._round += 1
        self._later(self._round)

    def stop(self) -> None:
        """No more, until started again."""
        self._round += 1

    def _later(self, number: int) -> None:
        interval = self.member.config.heartbeat_interval_ms
        self.member.port.deadline(interval, lambda: self._due(number))

    def _due(self, number: int) -> None:
        if number != self._round:
            return
        member = self.member
        if member.port.now - member.last_poll_ms >= member.config.max_poll_interval_ms:
            member.polls_too_late()
        else:
            member.port.spawn(self._beat(number))

    async def _beat(self, number: int) -> None:
        member = self.member
        try:
            node = await member.connection.coordinator_now(GROUP, member.group_id)
        except KafkaError:
            node = ""  # poll will meet it too, and raise it
        if node and number == self._round:
            body = Heartbeat(
                group_id=member.group_id,
                generation_id=member.generation,
                member_id=member.member_id,
                group_instance_id=member.config.group_instance_id,
            )
            response = await member.connection.call(node, body)
            if number == self._round:
                member.heard(response)
        if number == self._round:
            self._later(number)
