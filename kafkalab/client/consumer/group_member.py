"""A consumer as a member of its group: join, sync, heartbeat, leave (`AbstractCoordinator`, `ConsumerCoordinator`)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from kafkalab.client.consumer.assignors import ASSIGNORS, Assignment
from kafkalab.client.consumer.heartbeats import Heartbeats
from kafkalab.client.consumer.rebalance_listener import RebalanceListener, told
from kafkalab.client.exceptions import KafkaError, exception_for
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.find_coordinator import GROUP
from kafkalab.protocol.messages.heartbeat import HeartbeatResponse
from kafkalab.protocol.messages.join_group import JoinGroup, JoinGroupResponse
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeavingMember
from kafkalab.protocol.messages.sync_group import SyncGroup, SyncGroupResponse

if TYPE_CHECKING:
    from kafkalab.client.consumer.consumer import Consumer

LOOK_UP = (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)
UNKNOWN = (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION)


class MemberState(Enum):
    """Where a member is between two assignments."""

    UNJOINED = "unjoined"
    JOINING = "joining"
    STABLE = "stable"


class GroupMember:
    """`metadata` is what the last successful join said; it does not change when the member is thrown out, so that a
    transaction of before names the generation of before (KIP-447).
    """

    def __init__(self, consumer: Consumer, group_id: str) -> None:
        self.consumer = consumer
        self.port, self.connection, self.config = consumer.port, consumer.connection, consumer.config
        self.group_id = group_id
        self.state = MemberState.UNJOINED
        self.generation, self.member_id = -1, ""
        self.metadata = GroupMetadata(group_id, group_instance_id=self.config.group_instance_id)
        self.listener = RebalanceListener()
        self.heartbeats = Heartbeats(self)
        self.last_poll_ms = 0
        self.closed = False
        self._rejoin = True
        self._error: KafkaError | None = None
        self._joining: Promise[tuple[str, ...]] | None = None
        self._counted: dict[str, int] = {}  # the partitions of each topic that this leader has shared out
        self._protocols: dict[str, tuple[str, ...]] = {}

    # inside poll

    async def ready(self, until: int) -> bool:
        """Whether this member has an assignment that is still good, after joining again if need be."""
        self.last_poll_ms = self.port.now
        while self._needs_join():
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._joining is None:
                await self._give_up_partitions()
                self._joining = self.port.spawn(self._join())
            if not await self.connection.done_within(self._joining, max(until - self.port.now, 0)):
                return False
            joining, self._joining = self._joining, None
            await self._take_partitions(joining.result())
            self.last_poll_ms = self.port.now
        return True

    def request_rejoin(self) -> None:
        """The next poll joins again: the group rebalances, or topics changed."""
        self._rejoin = True

    def _needs_join(self) -> bool:
        wanted = dict.fromkeys(self.config.partition_assignment_strategy, self.consumer.subscriptions.topics)
        grown = any(self._count(topic) != n for topic, n in self._counted.items())
        return self._rejoin or self._joining is not None or self._protocols != wanted or grown

    def _count(self, topic: str) -> int:
        metadata = self.connection.metadata
        return len(metadata.partitions_of(topic)) if metadata else 0

    async def _give_up_partitions(self) -> None:
        """Everything goes back to the group before joining (the eager protocol)."""
        subscriptions = self.consumer.subscriptions
        if self.generation < 0 or self.member_id == "":
            lost = list(subscriptions.assigned)
            if lost:
                await told(self.listener.on_partitions_lost(lost))
        else:
            await self.consumer.commits.before_rebalance()
            await told(self.listener.on_partitions_revoked(list(subscriptions.assigned)))
        subscriptions.assign_from_group(())

    async def _take_partitions(self, partitions: tuple[str, ...]) -> None:
        self.consumer.subscriptions.assign_from_group(partitions)
        self.metadata = GroupMetadata(self.group_id, self.generation, self.member_id, self.config.group_instance_id)
        self.note()
        await told(self.listener.on_partitions_assigned(list(partitions)))

    def note(self) -> None:
        """Record what this member reads from now on."""
        data: dict[str, Any] = {
            "group": self.group_id,
            "member_id": self.member_id,
            "generation": self.generation,
            "partitions": list(self.consumer.subscriptions.assigned),
        }
        self.port.record("state", "member", data)

    # joining

    async def _join(self) -> tuple[str, ...]:
        """This member's partitions in a new generation; asks until it has some answer."""
        attempt = 0
        while not self.closed:
            self.heartbeats.stop()
            self.state, self._rejoin = MemberState.JOINING, False
            self._protocols = dict.fromkeys(
                self.config.partition_assignment_strategy, self.consumer.subscriptions.topics
            )
            joined = await self._join_once()
            if isinstance(joined, JoinGroupResponse):
                if joined.error is Error.MEMBER_ID_REQUIRED:
                    continue
                self.generation, self.member_id = joined.generation_id, joined.member_id
                self.heartbeats.start()
                synced = await self._sync_once(joined)
                if isinstance(synced, SyncGroupResponse):
                    self.state = MemberState.STABLE
                    return synced.assignment
            await self.connection.back_off(attempt)
            attempt += 1
        return ()

    async def _ask(self, body: Any) -> Any:
        """The coordinator's answer to one request, None if there was none."""
        node = await self.connection.coordinator_now(GROUP, self.group_id)
        response = await self.connection.call(node, body) if node else None
        if node and (response is None or response.error in LOOK_UP):
            self.connection.forget_coordinator(GROUP, self.group_id)
        return response

    async def _join_once(self) -> JoinGroupResponse | None:
        """The answer, if it is one to go on with; None to join again. Raises what no retry cures."""
        body = JoinGroup(
            group_id=self.group_id,
            session_timeout_ms=self.config.session_timeout_ms,
            rebalance_timeout_ms=self.config.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self.config.group_instance_id,
            protocols=self._protocols,
        )
        response: JoinGroupResponse | None = await self._ask(body)
        if response is None or response.error is Error.NONE:
            return response
        if response.error is Error.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            return response
        if response.error is Error.UNKNOWN_MEMBER_ID:
            self.forget(response.error)
        elif response.error not in (*LOOK_UP, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.REBALANCE_IN_PROGRESS):
            self._begin_anew()
            raise exception_for(response.error, "JoinGroup")
        return None

    async def _sync_once(self, joined: JoinGroupResponse) -> SyncGroupResponse | None:
        """The assignment; None to join again."""
        leads = joined.leader == joined.member_id and not joined.skip_assignment
        body = SyncGroup(
            group_id=self.group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=self.config.group_instance_id,
            protocol_type=joined.protocol_type,
            protocol_name=joined.protocol_name,
            assignments=await self._shares(joined) if leads else {},
        )
        response: SyncGroupResponse | None = await self._ask(body)
        if response is None or response.error is Error.NONE:
            return response
        if response.error in UNKNOWN:
            self.forget(response.error)
        elif response.error not in (*LOOK_UP, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.REBALANCE_IN_PROGRESS):
            self._begin_anew()
            raise exception_for(response.error, "SyncGroup")
        return None

    async def _shares(self, joined: JoinGroupResponse) -> Assignment:
        """The leader's work: who of the group reads what."""
        topics = sorted({topic for m in joined.members for topic in m.topics})
        metadata = await self.connection.known()
        if any(not metadata.partitions_of(t) for t in topics):
            metadata = await self.connection.refresh()
        self._counted = {t: len(metadata.partitions_of(t)) for t in topics}
        partitions = {t: metadata.partitions_of(t) for t in topics}
        return ASSIGNORS[joined.protocol_name](joined.members, partitions)

    def _begin_anew(self) -> None:
        """The next poll begins anew."""
        self.state, self._rejoin = MemberState.UNJOINED, True

    # heartbeats

    def heard(self, response: HeartbeatResponse | None) -> None:
        """What the answer to a heartbeat means."""
        error = Error.NETWORK_EXCEPTION if response is None else response.error
        if response is None or error in LOOK_UP:
            self.connection.forget_coordinator(GROUP, self.group_id)
        elif error is Error.REBALANCE_IN_PROGRESS:
            self.request_rejoin()
        elif error in UNKNOWN:
            self.forget(error)
        elif error is not Error.NONE:
            self.heartbeats.stop()
            self._error, self._rejoin = exception_for(error, "Heartbeat"), True

    def polls_too_late(self) -> None:
        """max.poll.interval.ms is over: others shall have the partitions."""
        self.port.spawn(self.leave())

    def forget(self, error: Error) -> None:
        """The coordinator knows this member, or its generation, no more; a member id is kept if only the latter."""
        self.heartbeats.stop()
        self.state, self.generation, self._rejoin = MemberState.UNJOINED, -1, True
        if error is not Error.ILLEGAL_GENERATION:
            self.member_id = ""

    # leaving

    async def leave(self) -> None:
        """No member any more. A static one says nothing: it may be back before its session ends (KIP-345)."""
        self.heartbeats.stop()
        member_id, joined = self.member_id, self.state is not MemberState.UNJOINED
        self.state, self.generation, self.member_id, self._rejoin = MemberState.UNJOINED, -1, "", True
        if not joined or member_id == "" or self.config.group_instance_id is not None:
            return
        node = await self.connection.coordinator_now(GROUP, self.group_id)
        if node:
            await self.connection.call(node, LeaveGroup(group_id=self.group_id, members=(LeavingMember(member_id),)))

    async def unsubscribe(self) -> None:
        """Partitions are given back, then the member leaves."""
        subscriptions = self.consumer.subscriptions
        if subscriptions.assigned:
            lost = self.generation < 0
            tell = self.listener.on_partitions_lost if lost else self.listener.on_partitions_revoked
            await told(tell(list(subscriptions.assigned)))
        self._joining = None
        await self.leave()
