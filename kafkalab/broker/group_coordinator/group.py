"""A classic consumer group at its coordinator: members, generation, leader, state (`ClassicGroup`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.protocol.errors import Error
from kafkalab.protocol.group_record import GroupEntry, MemberEntry
from kafkalab.protocol.messages.join_group import Subscriptions
from kafkalab.protocol.transition_tables.group import GROUP_TABLE, GroupAsk, GroupOutcome, GroupState, Move


@dataclass(slots=True, kw_only=True)
class Member:
    """A member at run time. `deadline_ms` is when its session ends unless it is heard of; `watch` names its timer."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Subscriptions
    assignment: tuple[str, ...] = ()
    awaiting_join: bool = False
    awaiting_sync: bool = False
    is_new: bool = False
    deadline_ms: int = -1
    watch: int = 0


@dataclass(slots=True)
class ClassicGroup:
    """One group. A group without `protocol_type` is a simple one: offsets, and nobody who ever joined."""

    group: str
    created_epoch: int = 0
    state: GroupState = GroupState.EMPTY
    previous_state: GroupState = GroupState.EMPTY
    state_since_ms: int = -1
    protocol_type: str = ""
    protocol: str = ""
    generation: int = 0
    subscribed: frozenset[str] | None = None
    """The topics that the members of the present generation subscribe to; None before the first one."""
    leader: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    statics: dict[str, str] = field(default_factory=dict)  # group.instance.id -> member id
    pending: dict[str, int] = field(default_factory=dict)  # member id given out, not yet joined -> deadline
    pending_sync: dict[str, None] = field(default_factory=dict)
    new_member_added: bool = False
    join_watch: int = 0  # the timer that ends the present join phase
    ids_given: int = 0

    # the table and the checks before it

    def ask(self, question: GroupAsk) -> GroupOutcome:
        """The cell of the table."""
        return GROUP_TABLE[self.state][question]

    def move(self, state: GroupState, now: int) -> None:
        """Go into a state."""
        self.previous_state, self.state, self.state_since_ms = self.state, state, now

    def member_error(self, member_id: str, instance_id: str | None) -> Error:
        """NONE for a member: its instance id first, then its member id (`validateMember`)."""
        if instance_id is not None:
            known = self.statics.get(instance_id)
            if known is None:
                return Error.UNKNOWN_MEMBER_ID
            if known != member_id:
                return Error.FENCED_INSTANCE_ID
        return Error.NONE if member_id in self.members else Error.UNKNOWN_MEMBER_ID

    def generation_error(self, member_id: str, instance_id: str | None, generation: int) -> Error:
        """NONE for a member of the present generation: instance, member, generation, in this order."""
        error = self.member_error(member_id, instance_id)
        if error is Error.NONE and generation != self.generation:
            return Error.ILLEGAL_GENERATION
        return error

    # members

    def new_member_id(self, client_id: str, instance_id: str | None) -> str:
        """An id that no member of any time has (Kafka draws a UUID behind the client or instance id)."""
        self.ids_given += 1
        return f"{instance_id or client_id}-{self.created_epoch}-{self.ids_given}"

    def add(self, member: Member, protocol_type: str) -> None:
        """One member more; the first one leads and says of what type the group is."""
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.statics[member.group_instance_id] = member.member_id
        if not self.leader:
            self.leader = member.member_id

    def remove(self, member_id: str) -> Member | None:
        """One member less; if it led, the one that has been here longest leads."""
        member = self.members.pop(member_id, None)
        if member is None:
            return None
        self.pending_sync.pop(member_id, None)
        if member.group_instance_id is not None:
            self.statics.pop(member.group_instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), "")
        return member

    def replace_static(self, instance_id: str, new_id: str) -> Member:
        """The static member goes on under a new id, in the place and with the assignment of the old one."""
        old_id = self.statics[instance_id]
        renamed = {new_id if k == old_id else k: m for k, m in self.members.items()}
        self.members = renamed
        member = renamed[new_id]
        member.member_id, member.awaiting_join, member.awaiting_sync = new_id, False, False
        member.watch += 1
        self.statics[instance_id] = new_id
        if old_id in self.pending_sync:
            self.pending_sync[new_id] = self.pending_sync.pop(old_id)
        if self.leader == old_id:
            self.leader = new_id
        return member

    def all_joined(self) -> bool:
        """Return True if every member waits for the join phase to end, and none was asked to return with its id."""
        return all(m.awaiting_join for m in self.members.values()) and not self.pending

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that a member may take to join again."""
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """The leader is one that has joined: the present one, or the first that has; False if there is none."""
        if not self.leader:
            return False
        if self.members[self.leader].awaiting_join:
            return True
        joined = next((m.member_id for m in self.members.values() if m.awaiting_join), "")
        self.leader = joined or self.leader
        return joined != ""

    # protocols

    def supports(self, protocol_type: str, protocols: Subscriptions) -> bool:
        """Return True if somebody with these protocols can be a member besides the present ones."""
        if protocol_type == "" or not protocols:
            return False
        if not self.members:
            return True
        return protocol_type == self.protocol_type and any(p in self.candidates() for p in protocols)

    def candidates(self) -> list[str]:
        """The protocols that all members know, in the order of the first member."""
        members = list(self.members.values())
        return [p for p in members[0].protocols if all(p in m.protocols for m in members)]

    def select_protocol(self) -> str:
        """Each member votes for the first candidate of its own; the most votes win, and of equals the first named."""
        candidates = self.candidates()
        votes = [next(p for p in m.protocols if p in candidates) for m in self.members.values()]
        return max(dict.fromkeys(votes), key=votes.count)

    def next_generation(self, now: int) -> None:
        """A new generation of those who are members: waiting for its assignment, or empty."""
        answer = self.ask(GroupAsk.JOINED if self.members else GroupAsk.NOBODY)
        assert isinstance(answer, Move), f"a join phase ended in state {self.state.value}"
        self.generation += 1
        self.pending_sync.clear()
        if self.members:
            self.protocol = self.select_protocol()
        else:
            self.protocol, self.leader = "", ""
        self.note_subscriptions()
        self.move(answer.state, now)

    def note_subscriptions(self) -> None:
        """Keep what the members subscribe to until the next generation, even if one is replaced meanwhile."""
        self.subscribed = frozenset(t for m in self.members.values() for t in m.protocols.get(self.protocol, ()))

    def subscribed_to(self, topic: str) -> bool:
        """Return True if the topic's offsets must stay: a consumer group wants it, or has not said yet what it wants
        (`ClassicGroup.isSubscribedToTopic`)."""
        return self.protocol_type == "consumer" and (self.subscribed is None or topic in self.subscribed)

    # the record

    def entry(self, assignments: dict[str, tuple[str, ...]] | None = None) -> GroupEntry:
        """Return what is written of the group, with these assignments, or the present ones."""
        members = tuple(
            MemberEntry(
                member_id=m.member_id,
                group_instance_id=m.group_instance_id,
                client_id=m.client_id,
                session_timeout_ms=m.session_timeout_ms,
                rebalance_timeout_ms=m.rebalance_timeout_ms,
                subscription=m.protocols.get(self.protocol, ()),
                assignment=m.assignment if assignments is None else assignments.get(m.member_id, ()),
            )
            for m in self.members.values()
        )
        return GroupEntry(
            group=self.group,
            protocol_type=self.protocol_type,
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp_ms=self.state_since_ms,
            members=members,
        )


def loaded_group(entry: GroupEntry, created_epoch: int) -> ClassicGroup:
    """The group as its last record says; a rebalance that was under way is forgotten."""
    state = GroupState.STABLE if entry.members else GroupState.EMPTY
    group = ClassicGroup(entry.group, created_epoch, state, state, entry.current_state_timestamp_ms)
    for m in entry.members:
        member = Member(
            member_id=m.member_id,
            group_instance_id=m.group_instance_id,
            client_id=m.client_id,
            session_timeout_ms=m.session_timeout_ms,
            rebalance_timeout_ms=m.rebalance_timeout_ms,
            protocols={entry.protocol: m.subscription},
            assignment=m.assignment,
        )
        group.add(member, entry.protocol_type)
    group.protocol_type, group.protocol = entry.protocol_type, entry.protocol
    group.generation, group.leader = entry.generation, entry.leader
    group.note_subscriptions()
    return group
