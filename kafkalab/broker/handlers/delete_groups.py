"""DeleteGroups and OffsetDelete: what administrators take away from groups (`GroupCoordinatorShard.deleteGroups`)."""

from __future__ import annotations

from kafkalab.broker.effects import Append, Appended, Effect, Respond, Then
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.guards import (
    find_group,
    group_error,
    group_note,
    offsets_append_error,
    offsets_of,
)
from kafkalab.broker.group_coordinator.offsets import GroupOffsets, group_key, offset_key
from kafkalab.broker.group_coordinator.transition_table import GroupAsk, GroupState, Move
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.delete_groups import DeleteGroups, DeleteGroupsResponse
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch, Record


def handle(broker: BrokerState, request: DeleteGroups, now: int, header: Header) -> list[Effect]:
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
    return effects or [Respond(DeleteGroupsResponse(errors=errors))]


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
    return [Respond(DeleteGroupsResponse(errors={g: errors[g] for g in request.groups}))]
