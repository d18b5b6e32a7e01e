"""DeleteGroups and OffsetDelete: what administrators take away from groups (`GroupCoordinatorShard.deleteGroups`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.api.api import Api, Header
from kafkalab.api.group_coordinator import find_group, group_error, group_note, offsets_append_error, offsets_of
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Append, Appended, Effect, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.group import ClassicGroup
from kafkalab.core.group_offsets import GroupOffsets, group_key, offset_key
from kafkalab.core.group_table import GroupAsk, GroupState, Move
from kafkalab.core.partitions import offsets_partition, topic_of
from kafkalab.core.records import Batch, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroups:
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsReply:
    """`errors` are by group."""

    errors: dict[str, Error] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDelete:
    group_id: str
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteReply:
    error: Error = Error.NONE
    errors: dict[str, Error] = field(default_factory=dict)


def handle_groups(broker: BrokerState, request: DeleteGroups, now: int, header: Header) -> list[Effect]:
    """Every group that is empty goes with all its offsets, the pending ones too; answered when that is replicated."""
    errors: dict[str, Error] = {}
    effects: list[Effect] = []
    for name in dict.fromkeys(request.groups):
        error = group_error(broker, name, may_be_empty=True)
        group = find_group(broker, name) if error is Error.NONE else None
        if error is Error.NONE:
            error = _cannot_delete(group)
        if group is None or error is not Error.NONE:
            errors[name] = error
            continue
        known = offsets_of(broker, name)
        keys = [offset_key(name, p) for p in dict.fromkeys([*known.offsets_of(name), *_pending(known, name)])]
        group.move(GroupState.DEAD, now)
        then = Then(_deleted, (name, request, errors))
        effects += [group_note(group), _tombstones(broker, name, [*keys, group_key(name)], now, then)]
    return effects or [Reply(DeleteGroupsReply(errors=errors))]


def _cannot_delete(group: ClassicGroup | None) -> Error:
    if group is None or group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    return Error.NONE if isinstance(group.ask(GroupAsk.EXPIRE), Move) else Error.NON_EMPTY_GROUP


def _pending(known: GroupOffsets, name: str) -> list[str]:
    return [p for offsets in known.pending.values() for group, p in offsets if group == name]


def _tombstones(broker: BrokerState, name: str, keys: list[str], now: int, then: Then) -> Effect:
    batch = Batch(records=tuple(Record(k, None) for k in keys), timestamp_ms=now)
    return Append(offsets_partition(name), batch, broker.config.offsets_commit_timeout_ms, then)


def _deleted(
    broker: BrokerState, result: Appended, now: int, name: str, request: DeleteGroups, errors: dict[str, Error]
) -> list[Effect]:
    errors[name] = offsets_append_error(result.error)
    group = broker.groups.get(name)
    if group is not None and group.state is GroupState.DEAD:
        if result.error is Error.NONE:
            del broker.groups[name]
        else:
            group.state, group.state_since_ms = group.previous_state, now
    if len(errors) < len(dict.fromkeys(request.groups)):
        return []
    return [Reply(DeleteGroupsReply(errors={g: errors[g] for g in request.groups}))]


def handle_offsets(broker: BrokerState, request: OffsetDelete, now: int, header: Header) -> list[Effect]:
    """The group's offsets of these partitions are gone, the pending ones too, except of topics that members read."""
    name = request.group_id
    error = group_error(broker, name)
    group = find_group(broker, name) if error is Error.NONE else None
    if error is Error.NONE and (group is None or group.state is GroupState.DEAD):
        error = Error.GROUP_ID_NOT_FOUND
    if group is not None and group.members and group.protocol_type != "consumer":
        error = Error.NON_EMPTY_GROUP
    if group is None or error is not Error.NONE:
        return [Reply(OffsetDeleteReply(error=error))]
    known = offsets_of(broker, name)
    errors = dict.fromkeys(request.partitions, Error.NONE)
    for partition in request.partitions:
        if partition not in broker.metadata.partitions:
            errors[partition] = Error.UNKNOWN_TOPIC_OR_PARTITION
        elif group.subscribed_to(topic_of(partition)):
            errors[partition] = Error.GROUP_SUBSCRIBED_TO_TOPIC
    there = [*known.offsets_of(name), *_pending(known, name)]
    keys = [offset_key(name, p) for p, e in errors.items() if e is Error.NONE and p in there]
    if not keys:
        return [Reply(OffsetDeleteReply(errors=errors))]
    return [_tombstones(broker, name, keys, now, Then(_offsets_deleted, (errors,)))]


def _offsets_deleted(broker: BrokerState, result: Appended, now: int, errors: dict[str, Error]) -> list[Effect]:
    error = offsets_append_error(result.error)
    return [Reply(OffsetDeleteReply(error=error, errors=errors if error is Error.NONE else {}))]


GROUPS_API = Api(
    42,
    range(0, 3),
    DeleteGroups,
    DeleteGroupsReply,
    handle_groups,
    "metadata",
    "Removes groups that nobody is in, with their offsets.",
)
OFFSETS_API = Api(
    47,
    range(0, 1),
    OffsetDelete,
    OffsetDeleteReply,
    handle_offsets,
    "metadata",
    "Removes a group's offsets of topics that its members do not read.",
)
