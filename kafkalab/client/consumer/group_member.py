"""A consumer as a member of its group: join, sync, leave (`AbstractCoordinator`, `ConsumerCoordinator`)."""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.connection import RETRY_BACKOFF_MS, Connection
from kafkalab.client.consumer.assignors import ASSIGNORS, Assignment
from kafkalab.client.consumer.heartbeats import Heartbeats
from kafkalab.client.consumer.membership import LOOK_UP, UNKNOWN, Membership, MemberState
from kafkalab.client.consumer.offset_commits import OffsetCommits
from kafkalab.client.consumer.subscription_state import SubscriptionState
from kafkalab.client.exceptions import KafkaError, exception_for
from kafkalab.client.promise import Promise
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.find_coordinator import GROUP
from kafkalab.protocol.messages.join_group import JoinGroup, JoinGroupResponse
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeavingMember
from kafkalab.protocol.messages.sync_group import SyncGroup, SyncGroupResponse

SYNCED_AGAIN = (*LOOK_UP, Error.REBALANCE_IN_PROGRESS)
JOINED_AGAIN = (*SYNCED_AGAIN, Error.COORDINATOR_LOAD_IN_PROGRESS)
"""The errors of SyncGroup and JoinGroup after which the member joins again, besides those of its generation."""
JOINED_AT_ONCE = (*UNKNOWN, Error.MEMBER_ID_REQUIRED, Error.REBALANCE_IN_PROGRESS)
"""Those after which it does so at once; it waits retry.backoff.ms after any other."""
JOIN_REFUSED = (
    Error.INCONSISTENT_GROUP_PROTOCOL, Error.INVALID_SESSION_TIMEOUT, Error.INVALID_GROUP_ID,
    Error.GROUP_MAX_SIZE_REACHED, Error.FENCED_INSTANCE_ID, Error.UNSUPPORTED_VERSION,
)  # fmt: skip
"""The errors of JoinGroup that keep their own exception."""


class GroupMember:
    """Join the group and leave it, by the eager protocol: everything is given up before a rebalance."""

    def __init__(self, subscriptions: SubscriptionState, membership: Membership, commits: OffsetCommits) -> None:
        self.subscriptions, self.membership, self.commits = subscriptions, membership, commits
        self.config: ConsumerConfig = commits.config
        self.connection: Connection = commits.connection
        self.port = self.connection.port
        self.heartbeats = Heartbeats(membership, self.config, self.connection, self._leave_later)
        self._joining: Promise[tuple[str, ...]] | None = None
        self._counted: dict[str, int] = {}  # the partitions of each topic that this leader has shared out
        self._protocols: dict[str, tuple[str, ...]] = {}

    # inside poll

    async def ready(self, until: int) -> bool:
        """Join again if need be; return whether the member has an assignment before the time `until`."""
        self.membership.last_poll_ms = self.port.now
        while self._needs_join():
            error = self.membership.take_error()
            if error is not None:
                raise error
            if self._joining is None:
                await self._give_up_partitions()
                self._joining = self.port.spawn(self._join())
            if not await self.connection.done_within(self._joining, max(until - self.port.now, 0)):
                return False
            joining, self._joining = self._joining, None
            await self._take_partitions(joining.result())
            self.membership.last_poll_ms = self.port.now
        return True

    def _needs_join(self) -> bool:
        wanted = self._wanted_protocols()
        grown = any(self._count(topic) != n for topic, n in self._counted.items())
        return self.membership.must_join or self._joining is not None or self._protocols != wanted or grown

    def _wanted_protocols(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.config.partition_assignment_strategy, self.subscriptions.topics)

    def _count(self, topic: str) -> int:
        metadata = self.connection.metadata
        return len(metadata.partitions_of(topic)) if metadata else 0

    async def _give_up_partitions(self) -> None:
        subscriptions, listener = self.subscriptions, self.subscriptions.listener
        if self.membership.generation < 0 or self.membership.member_id == "":
            lost = list(subscriptions.assigned)
            if lost:
                await _finish(listener.on_partitions_lost(lost))
        else:
            await self.commits.before_rebalance()
            await _finish(listener.on_partitions_revoked(list(subscriptions.assigned)))
        subscriptions.assign_from_group(())

    async def _take_partitions(self, partitions: tuple[str, ...]) -> None:
        self.subscriptions.assign_from_group(partitions)
        self.membership.take_assignment()
        data: dict[str, Any] = {
            "group": self.membership.group_id,
            "member_id": self.membership.member_id,
            "generation": self.membership.generation,
            "partitions": list(self.subscriptions.assigned),
        }
        self.port.record("state", "member", data)
        await _finish(self.subscriptions.listener.on_partitions_assigned(list(partitions)))

    # joining

    async def _join(self) -> tuple[str, ...]:
        """Return this member's partitions in a new generation; retry until there is one."""
        while not self.membership.closed:
            self.membership.begin_join()
            self._protocols = self._wanted_protocols()
            joined = await self._join_once()
            error = Error.NETWORK_EXCEPTION if joined is None else joined.error
            if joined is not None and error is Error.NONE:
                self.membership.enter_generation(joined.generation_id, joined.member_id)
                self.heartbeats.start()
                synced = await self._sync_once(joined)
                error = Error.NETWORK_EXCEPTION if synced is None else synced.error
                if synced is not None and error is Error.NONE:
                    self.membership.stabilise()
                    return synced.assignment
            if error not in JOINED_AT_ONCE:
                await self.connection.sleep(RETRY_BACKOFF_MS)
        return ()

    async def _ask(self, body: Any) -> Any:
        """Return the coordinator's answer to one request, None if there was none; look a lost coordinator up."""
        group = self.membership.group_id
        node = await self.connection.coordinator_now(GROUP, group)
        response = await self.connection.call(node, body) if node else None
        if node and (response is None or response.error in LOOK_UP):
            self.connection.forget_coordinator(GROUP, group)
            await self.connection.coordinator_now(GROUP, group)
        return response

    async def _join_once(self) -> JoinGroupResponse | None:
        """Return the answer, None if there was none. Raise what no retry cures."""
        body = JoinGroup(
            group_id=self.membership.group_id,
            session_timeout_ms=self.config.session_timeout_ms,
            rebalance_timeout_ms=self.config.max_poll_interval_ms,
            member_id=self.membership.member_id,
            group_instance_id=self.config.group_instance_id,
            protocols=self._protocols,
        )
        response: JoinGroupResponse | None = await self._ask(body)
        if response is None or response.error is Error.NONE:
            return response
        if response.error is Error.MEMBER_ID_REQUIRED:
            self.membership.enter_generation(self.membership.generation, response.member_id)
            return response
        if response.error is Error.UNKNOWN_MEMBER_ID:
            self.membership.forget(response.error)
        elif response.error not in JOINED_AGAIN:
            self.membership.restart()
            raise self._refusal(response.error, JOIN_REFUSED, "Unexpected error in join group response")
        return response

    def _refusal(self, error: Error, known: tuple[Error, ...], unexpected: str) -> KafkaError:
        """Return the exception for an error that ends the attempt to join; one that is not `known` is a KafkaError."""
        group = self.membership.group_id
        if error is Error.GROUP_AUTHORIZATION_FAILED:
            return exception_for(error, f"Not authorized to access group: {group}")
        if error is Error.GROUP_MAX_SIZE_REACHED and error in known:
            text = f"Consumer group {group} already has the configured maximum number of members."
            return exception_for(error, text)
        return exception_for(error) if error in known else KafkaError(f"{unexpected}: {error.message}", error)

    async def _sync_once(self, joined: JoinGroupResponse) -> SyncGroupResponse | None:
        """Return the assignment or an error after which to join again, None if there was no answer.

        Raise what no retry cures.
        """
        leads = joined.leader == joined.member_id and not joined.skip_assignment
        body = SyncGroup(
            group_id=self.membership.group_id,
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
            self.membership.forget(response.error)
        elif response.error not in SYNCED_AGAIN:
            self.membership.restart()
            raise self._refusal(response.error, (Error.FENCED_INSTANCE_ID,), "Unexpected error from SyncGroup")
        return response

    async def _shares(self, joined: JoinGroupResponse) -> Assignment:
        """Assign partitions to the members, as the group's leader."""
        topics = sorted({topic for m in joined.members for topic in m.topics})
        metadata = await self.connection.require_metadata()
        if any(not metadata.partitions_of(t) for t in topics):
            metadata = await self.connection.refresh()
        self._counted = {t: len(metadata.partitions_of(t)) for t in topics}
        partitions = {t: metadata.partitions_of(t) for t in topics}
        return ASSIGNORS[joined.protocol_name](joined.members, partitions)

    # leaving

    def _leave_later(self) -> None:
        """Leave: max.poll.interval.ms is over, and others shall have the partitions."""
        self.port.spawn(self._leave())

    async def _leave(self) -> None:
        """Leave the group. A static member sends nothing: it may return before its session expires (KIP-345)."""
        member = self.membership
        member_id, joined = member.member_id, member.state is not MemberState.UNJOINED
        member.leave()
        if not joined or member_id == "" or member.group_instance_id is not None:
            return
        node = await self.connection.coordinator_now(GROUP, member.group_id)
        if node:
            await self.connection.call(node, LeaveGroup(group_id=member.group_id, members=(LeavingMember(member_id),)))

    async def unsubscribe(self) -> None:
        """Give the partitions back, then leave the group."""
        subscriptions, listener = self.subscriptions, self.subscriptions.listener
        if subscriptions.assigned:
            lost = self.membership.generation < 0
            give_up = listener.on_partitions_lost if lost else listener.on_partitions_revoked
            await _finish(give_up(list(subscriptions.assigned)))
        self._joining = None
        await self._leave()


async def _finish(answer: Awaitable[None] | None) -> None:
    """Await a listener's method if it is a coroutine."""
    if isawaitable(answer):
        await answer
