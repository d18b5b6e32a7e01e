"""ConsumerGroupDescribe: a consumer group's epochs, members and partitions, as administrators see them (KIP-848)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1
"""The types of members (KIP-1099); in the lab all of a consumer group are of the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribe:
    group_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumer:
    """`assignment` are the partitions that the member has or must still give up, `target_assignment` those it is to
    have."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    assignment: tuple[str, ...] = ()
    target_assignment: tuple[str, ...] = ()
    member_type: int = since(1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumerGroup:
    error: Error = Error.NONE
    group_id: str
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[DescribedConsumer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeResponse:
    groups: tuple[DescribedConsumerGroup, ...]


API = Api(
    69,
    range(0, 2),
    ConsumerGroupDescribe,
    ConsumerGroupDescribeResponse,
    "metadata",
    "Asks who the members of groups of the consumer protocol are, and which partitions they have and are to have.",
)
