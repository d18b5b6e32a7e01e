"""Every check of a ConsumerGroupHeartbeat, in Kafka's order, and of commits by members of consumer groups."""

from __future__ import annotations

from typing import Protocol

from kafkalab.broker.group_coordinator.guards import group_error
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import LEFT, ConsumerGroup, ConsumerMember
from kafkalab.protocol.acls import DESCRIBE, GROUP, READ, TOPIC
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.consumer_group_heartbeat import (
    JOIN,
    LEAVE,
    LEAVE_FOR_A_WHILE,
    ConsumerGroupHeartbeat,
)
from kafkalab.protocol.messages.txn_offset_commit import BY_TOPIC_ID
from kafkalab.protocol.rules import GROUP_LOG_WAITS

ASSIGNORS = ("uniform", "range")
"""The names of the assignors (`group.consumer.assignors`); the first is the default."""
MEMBER_NAMES_ITSELF, COMMITS_BY_EPOCH = 1, 9
"""The version of a heartbeat whose member id comes from the member (KIP-1082), and that of OffsetCommit which members
of consumer groups must use."""


def check_heartbeat(broker: BrokerState, request: ConsumerGroupHeartbeat, header: Header) -> Error:
    """NONE, or why the request is refused whatever the group is (`KafkaApis.handleConsumerGroupHeartbeat`).

    A Kafka before the new group coordinator has no consumer protocol.
    """
    if not broker.rules.on(GROUP_LOG_WAITS):
        return Error.UNSUPPORTED_VERSION
    if broker.denies(header.sender, READ, GROUP, request.group_id):
        return Error.GROUP_AUTHORIZATION_FAILED
    topics = request.subscribed_topic_names or ()
    if any(broker.denies(header.sender, DESCRIBE, TOPIC, topic) for topic in topics):
        return Error.TOPIC_AUTHORIZATION_FAILED
    error = _request_error(request, header.version)
    return error if error is not Error.NONE else group_error(broker, request.group_id)


def _request_error(request: ConsumerGroupHeartbeat, version: int) -> Error:
    """`GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid`."""
    epoch = request.member_epoch
    must_be_named = version >= MEMBER_NAMES_ITSELF or epoch > JOIN or epoch == LEAVE
    if request.member_id.strip() == "" and must_be_named:
        return Error.INVALID_REQUEST
    texts = (request.group_id, request.instance_id, request.rack_id)
    if any(text is not None and text.strip() == "" for text in texts):
        return Error.INVALID_REQUEST
    if epoch == JOIN and not (is_full(request) and request.topic_partitions == ()):
        return Error.INVALID_REQUEST
    if epoch < LEAVE_FOR_A_WHILE or (epoch == LEAVE_FOR_A_WHILE and request.instance_id is None):
        return Error.INVALID_REQUEST
    known = request.server_assignor is None or request.server_assignor in ASSIGNORS
    return Error.NONE if known else Error.UNSUPPORTED_ASSIGNOR


def is_full(request: ConsumerGroupHeartbeat) -> bool:
    """Return True if the member says all that it can: its time, what it wants, and what it has."""
    wants = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and wants and request.topic_partitions is not None


def check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeat) -> Error:
    """NONE for the member's epoch; for its previous one, too, if it has nothing but what it was given: then the answer
    that raised its epoch was lost."""
    epoch, owned = request.member_epoch, request.topic_partitions
    if epoch in (JOIN, member.member_epoch):
        return Error.NONE
    was_lost = owned is not None and all(p in member.assigned for p in owned)
    if epoch < member.member_epoch and epoch == member.previous_member_epoch and was_lost:
        return Error.NONE
    return Error.FENCED_MEMBER_EPOCH


def check_instance(group: ConsumerGroup, instance_id: str, member_id: str) -> Error:
    """NONE for the member that has this instance id."""
    known = group.static_member(instance_id)
    if known is None:
        return Error.UNKNOWN_MEMBER_ID
    return Error.NONE if known.member_id == member_id else Error.FENCED_INSTANCE_ID


def check_join(group: ConsumerGroup, request: ConsumerGroupHeartbeat, most: int) -> Error:
    """NONE, or why the group does not take the request's member: it has no room, or the instance id is in use."""
    known = group.static_member(request.instance_id)
    if known is None and len(group.members) >= most and request.member_id not in group.members:
        return Error.GROUP_MAX_SIZE_REACHED
    if request.member_epoch == JOIN and known is not None and known.member_epoch != LEFT:
        return Error.UNRELEASED_INSTANCE_ID
    return Error.NONE


# OffsetCommit, TxnOffsetCommit


class Commit(Protocol):
    """The fields of OffsetCommit and TxnOffsetCommit that say who commits what."""

    @property
    def member_id(self) -> str: ...

    @property
    def group_instance_id(self) -> str | None: ...

    @property
    def generation_id(self) -> int: ...

    @property
    def offsets(self) -> dict[str, int]: ...


def check_commit(
    group: ConsumerGroup, request: Commit, refused: dict[str, Error], version: int, transactional: bool
) -> Error:
    """NONE if this member may commit for what is not in `refused` (`ConsumerGroup.validateOffsetCommit`).

    Its epoch may be older than the group knows, as long as it was assigned each partition in that epoch or before and
    still has it (KIP-1251).
    """
    member_id, epoch = request.member_id, request.generation_id
    names_no_member = epoch == -1 and member_id == "" and request.group_instance_id is None
    if (epoch < 0 and not group.members) or (transactional and names_no_member):
        return Error.NONE
    member = group.members.get(member_id)
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    if not transactional and version < COMMITS_BY_EPOCH:
        return Error.UNSUPPORTED_VERSION
    if epoch == member.member_epoch:
        return Error.NONE
    since = {**member.pending_revocation, **member.assigned}
    committed = [p for p in request.offsets if p not in refused]
    is_stale = epoch > member.member_epoch or any(p not in since or epoch < since[p] for p in committed)
    if is_stale and transactional and version < BY_TOPIC_ID:
        return Error.ILLEGAL_GENERATION
    return Error.STALE_MEMBER_EPOCH if is_stale else Error.NONE
