"""A consumer's committed offsets: by hand, by interval, before a rebalance (`ConsumerCoordinator`)."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.connection import Connection, CoordinatorAnswer
from kafkalab.client.consumer.membership import UNKNOWN, Membership, MemberState
from kafkalab.client.consumer.subscription_state import SubscriptionState
from kafkalab.client.exceptions import (
    CommitFailedError,
    KafkaError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    exception_for,
)
from kafkalab.client.promise import Promise
from kafkalab.client.results import Offsets, offset_fields
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_COMMITTED
from kafkalab.protocol.messages.find_coordinator import GROUP
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.offset_fetch import OffsetFetch

Callback = Callable[[Offsets, KafkaError | None], None]

MOVED_ON = (
    "Offset commit cannot be completed since the consumer is not part of an active group for auto partition "
    "assignment; it is likely that the consumer was kicked out of the group."
)
REBALANCING = (
    "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto partition assignment. "
    "You can try completing the rebalance by calling poll() and then retry the operation."
)


class OffsetCommits:
    """Commits name the member and its generation if the group assigns the partitions, else no member."""

    def __init__(
        self, subscriptions: SubscriptionState, membership: Membership, config: ConsumerConfig, connection: Connection
    ) -> None:
        self.subscriptions, self.membership = subscriptions, membership
        self.config, self.connection, self.port = config, connection, connection.port
        self._next_ms = self.port.now + config.auto_commit_interval_ms
        self._under_way: Promise[None] | None = None

    # by hand

    async def commit(self, group: str, offsets: Offsets) -> None:
        """Commit `offsets`. CommitFailedError: the group has moved on; RebalanceInProgressError: it rebalances."""
        if not offsets:
            return
        member, found = self.membership, offset_fields(offsets)
        identity: tuple[int, str, str | None] = (-1, "", None)
        if self.subscriptions.topics:
            if member.state is not MemberState.STABLE:
                joining = member.state is MemberState.JOINING
                raise RebalanceInProgressError(REBALANCING) if joining else CommitFailedError(MOVED_ON)
            identity = (member.generation, member.member_id, member.group_instance_id)
        body = OffsetCommit(
            group_id=group,
            offsets=found.offsets,
            metadata=found.metadata,
            leader_epochs=found.leader_epochs,
            generation_id=identity[0],
            member_id=identity[1],
            group_instance_id=identity[2],
        )
        answer = await self._ask(group, body)
        self._check(answer, identity[0])

    async def _ask(self, group: str, body: OffsetCommit | OffsetFetch) -> CoordinatorAnswer:
        """Return the coordinator's final answer; KafkaTimeoutError after default.api.timeout.ms."""
        limit = self.config.default_api_timeout_ms
        until = self.port.now + limit
        answer = await self.connection.ask_coordinator(
            GROUP, group, body, first_error, lambda: self.port.now >= until or self.membership.closed
        )
        if answer.stopped:
            text = f"Timeout of {limit}ms expired before {type(body).__name__} was answered"
            raise KafkaTimeoutError(text, Error.REQUEST_TIMED_OUT)
        return answer

    def _check(self, answer: CoordinatorAnswer, generation: int) -> None:
        error, member = answer.error, self.membership
        if error is Error.NONE:
            return
        same = member.generation == generation
        if error is Error.REBALANCE_IN_PROGRESS:
            if same:
                member.request_rejoin()
            raise RebalanceInProgressError(REBALANCING, error)
        if error in UNKNOWN:
            if same and generation >= 0:
                member.forget(error)
            raise CommitFailedError(MOVED_ON, error)
        if error is Error.FENCED_INSTANCE_ID and not same:
            raise RebalanceInProgressError(REBALANCING, error)
        raise exception_for(error)

    def commit_later(self, group: str, offsets: Offsets, callback: Callback | None = None) -> Promise[None]:
        """Commit without waiting; call back with the offsets and the error, or None."""
        given = dict(offsets)
        promise = self.port.spawn(self.commit(group, given))

        def done() -> None:
            error: KafkaError | None = None
            try:
                promise.result()
            except KafkaError as met:
                error = met
            if callback is not None:
                callback(given, error)

        promise.when_done(done)
        return promise

    async def committed(self, group: str, partitions: tuple[str, ...]) -> dict[str, int]:
        """Return the group's committed offsets, -1 where there are none; under read_committed only stable ones."""
        stable = self.config.isolation_level == READ_COMMITTED
        body = OffsetFetch(group_id=group, partitions=partitions, require_stable=stable)
        answer = await self._ask(group, body)
        if answer.error is not Error.NONE:
            raise exception_for(answer.error)
        found: dict[str, int] = answer.response.offsets
        return found

    # by interval

    @property
    def automatic(self) -> bool:
        """Whether enable.auto.commit is in force: it needs a group."""
        return self.config.enable_auto_commit and self.config.group_id is not None

    def commit_if_due(self) -> None:
        """Commit the positions every auto.commit.interval.ms: those up to which earlier polls delivered."""
        if not self.automatic or self.port.now < self._next_ms:
            return
        if self._under_way is not None and not self._under_way.done:
            return
        self._next_ms = self.port.now + self.config.auto_commit_interval_ms
        positions = dict(self.subscriptions.positions)
        if positions and self.config.group_id is not None:
            self._under_way = self.commit_later(self.config.group_id, positions)

    async def before_rebalance(self) -> None:
        """Commit automatically a last time before partitions are given up; failures are ignored."""
        positions = dict(self.subscriptions.positions)
        if self.automatic and positions and self.config.group_id is not None:
            promise = self.commit_later(self.config.group_id, positions)
            await self.connection.done_within(promise, self.config.default_api_timeout_ms)


def first_error(response: object) -> Error:
    """Return the response's own error, else the first error of a partition."""
    top = getattr(response, "error", Error.NONE)
    if isinstance(top, Error) and top is not Error.NONE:
        return top
    errors: dict[str, Error] = getattr(response, "errors", {})
    return next((e for e in errors.values() if e is not Error.NONE), Error.NONE)
