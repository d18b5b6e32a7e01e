"""Every move of a classic group at its coordinator: one total table (`GroupMetadataManager`, `ClassicGroup`).

The guards in `guards.py` run before the table. What is left depends on the state alone. The diagrams,
the widgets and the tests are made from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from kafkalab.protocol.errors import Error
from kafkalab.protocol.transition_tables.outcomes import Refuse, Same


class GroupState(Enum):
    """States of a classic group, by the names that Kafka's tools print."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    @property
    def label(self) -> str:
        """The name, as Kafka writes it."""
        return self.value

    def __repr__(self) -> str:
        return f"GroupState.{self.name}"


class GroupAsk(Enum):
    """A question put to the coordinator about one group."""

    JOIN = "JoinGroup of a new member"
    REJOIN = "JoinGroup, nothing changed"
    CHANGE = "JoinGroup of the leader, or with other protocols"
    REPLACE = "JoinGroup of a static member under a new id"
    JOINED = "every member has joined"
    NOBODY = "nobody has joined"
    SYNC = "SyncGroup"
    ASSIGNED = "the assignment is replicated"
    HEARTBEAT = "Heartbeat"
    LEAVE = "a member leaves, or its session ends"
    COMMIT = "OffsetCommit of a member"
    TXN_COMMIT = "TxnOffsetCommit of a member"
    EXPIRE = "no member, no offset, no transaction"

    def __repr__(self) -> str:
        return f"GroupAsk.{self.name}"


@dataclass(frozen=True, slots=True)
class Move:
    """The group goes into this state; a JoinGroup or SyncGroup is answered when it goes on from there."""

    state: GroupState


@dataclass(frozen=True, slots=True)
class Wait:
    """Stay, and answer when the group moves on."""


GroupOutcome: TypeAlias = Move | Same | Wait | Refuse

EM, PR, CR, ST, DE = GroupState
_empty, _prepare, _complete, _stable, _dead = (Move(s) for s in GroupState)
_same, _wait = Same(), Wait()
_unknown, _rebalance = Refuse(Error.UNKNOWN_MEMBER_ID), Refuse(Error.REBALANCE_IN_PROGRESS)
_gone = Refuse(Error.COORDINATOR_NOT_AVAILABLE)

# fmt: off
_CELLS: dict[GroupState, tuple[GroupOutcome, ...]] = {
    #    JOIN      REJOIN    CHANGE    REPLACE   JOINED     NOBODY   SYNC        ASSIGNED
    #    HEARTBEAT   LEAVE     COMMIT      TXN_COMMIT  EXPIRE
    EM: (_prepare, _unknown, _unknown, _unknown, _same,     _same,   _unknown,   _same,
         _unknown,   _same,    _same,      _same,      _dead),
    PR: (_wait,    _wait,    _wait,    _wait,    _complete, _empty,  _rebalance, _same,
         _rebalance, _same,    _same,      _same,      _same),
    CR: (_prepare, _same,    _prepare, _prepare, _same,     _same,   _wait,      _stable,
         _same,      _prepare, _rebalance, _same,      _same),
    ST: (_prepare, _same,    _prepare, _same,    _same,     _same,   _same,      _same,
         _same,      _prepare, _same,      _same,      _same),
    DE: (_gone,    _gone,    _gone,    _gone,    _same,     _same,   _gone,      _same,
         _gone,      _same,    _gone,      _gone,      _same),
}
# fmt: on

GROUP_TABLE: dict[GroupState, dict[GroupAsk, GroupOutcome]] = {
    state: dict(zip(GroupAsk, cells, strict=True)) for state, cells in _CELLS.items()
}
"""`GROUP_TABLE[GroupState.COMPLETING_REBALANCE][GroupAsk.COMMIT] == Refuse(Error.REBALANCE_IN_PROGRESS)`.

A static member that comes back to a stable group changes nothing as long as the group would choose the same protocol
again; else its JoinGroup counts as CHANGE.
"""
assert set(GROUP_TABLE) == set(GroupState), "the table must have a row for every state"
