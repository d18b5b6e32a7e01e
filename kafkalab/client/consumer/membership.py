"""A consumer's membership: state, generation, member id (`AbstractCoordinator.Generation` and `MemberState`)."""

from __future__ import annotations

from enum import Enum

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.exceptions import KafkaError
from kafkalab.client.results import GroupMetadata
from kafkalab.protocol.errors import Error

LOOK_UP = (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)
UNKNOWN = (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION)


class MemberState(Enum):
    """The states of a member between two assignments."""

    UNJOINED = "unjoined"
    JOINING = "joining"
    STABLE = "stable"


class Membership:
    """The state that a group member, its heartbeats and its commits share.

    `metadata` is what the last successful join returned; it does not change when the group drops the member, so that an
    older transaction names the older generation (KIP-447). `heartbeat_round` changes when heartbeats begin or end.
    `must_join`: the next poll joins; `error`: it raises this. `closed`: the consumer was closed.
    """

    def __init__(self, config: ConsumerConfig) -> None:
        self.group_id, self.group_instance_id = config.group_id or "", config.group_instance_id
        self.state = MemberState.UNJOINED
        self.generation, self.member_id = -1, ""
        self.metadata = GroupMetadata(self.group_id, group_instance_id=self.group_instance_id)
        self.last_poll_ms = self.heartbeat_round = 0
        self.must_join, self.closed = True, False
        self.error: KafkaError | None = None

    def begin_join(self) -> None:
        """Join, without heartbeats."""
        self.end_heartbeats()
        self.state, self.must_join = MemberState.JOINING, False

    def enter_generation(self, generation: int, member_id: str) -> None:
        """Take what JoinGroup returned."""
        self.generation, self.member_id = generation, member_id

    def take_assignment(self) -> None:
        """Remember the present generation as the one of the assignment."""
        self.metadata = GroupMetadata(self.group_id, self.generation, self.member_id, self.group_instance_id)

    def stabilise(self) -> None:
        """Note that the group has assigned partitions."""
        self.state = MemberState.STABLE

    def request_rejoin(self) -> None:
        """Let the next poll join again: the group rebalances."""
        self.must_join = True

    def restart(self) -> None:
        """Let the next poll join again, after an error that no retry cures."""
        self.state, self.must_join = MemberState.UNJOINED, True

    def forget(self, error: Error) -> None:
        """Drop the generation, which the coordinator does not know, and the member id unless only that is old."""
        self.end_heartbeats()
        self.state, self.generation, self.must_join = MemberState.UNJOINED, -1, True
        if error is not Error.ILLEGAL_GENERATION:
            self.member_id = ""

    def fail(self, error: KafkaError) -> None:
        """Let the next poll raise `error`."""
        self.end_heartbeats()
        self.error, self.must_join = error, True

    def take_error(self) -> KafkaError | None:
        """Return the error to raise, once."""
        error, self.error = self.error, None
        return error

    def leave(self) -> None:
        """Drop the generation and the member id."""
        self.forget(Error.UNKNOWN_MEMBER_ID)

    def begin_heartbeats(self) -> int:
        """Begin a round of heartbeats and return its number."""
        self.heartbeat_round += 1
        return self.heartbeat_round

    def end_heartbeats(self) -> None:
        """End the round."""
        self.heartbeat_round += 1

    def close(self) -> None:
        """Stop joining, retrying and heartbeats."""
        self.closed = True
        self.end_heartbeats()
