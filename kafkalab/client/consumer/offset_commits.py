"""A consumer's committed offsets: by hand, by the clock, before a rebalance (`ConsumerCoordinator`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalab.client.connection import CoordinatorAnswer
from kafkalab.client.consumer.group_member import UNKNOWN, MemberState
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

if TYPE_CHECKING:
    from kafkalab.client.consumer.consumer import Consumer

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
    """Commits name the member and its generation if the group assigns the partitions, and nobody if not."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self._next_ms = consumer.port.now + consumer.config.auto_commit_interval_ms
        self._under_way: Promise[None] | None = None

    # by hand

    async def commit(self, group: str, offsets: Offsets) -> None:
        """The offsets are the group's; raises what the group, or its coordinator, has against it."""
        if not offsets:
            return
        member, found = self.consumer.member, offset_fields(offsets)
        identity: tuple[int, str, str | None] = (-1, "", None)
        if member is not None and self.consumer.subscriptions.topics:
            if member.state is not MemberState.STABLE:
                joining = member.state is MemberState.JOINING
                raise RebalanceInProgressError(REBALANCING) if joining else CommitFailedError(MOVED_ON)
            identity = (member.generation, member.member_id, self.consumer.config.group_instance_id)
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
        """The coordinator's answer; KafkaTimeoutError if default.api.timeout.ms brings none that is final."""
        consumer, limit = self.consumer, self.consumer.config.default_api_timeout_ms
        until = consumer.port.now + limit
        asked = consumer.connection.ask_coordinator(
            GROUP, group, body, first_error, lambda: consumer.port.now >= until or consumer.gone
        )
        answer = await asked
        if answer.stopped:
            text = f"Timeout of {limit}ms expired before {type(body).__name__} was answered"
            raise KafkaTimeoutError(text, Error.REQUEST_TIMED_OUT)
        return answer

    def _check(self, answer: CoordinatorAnswer, generation: int) -> None:
        error, member = answer.error, self.consumer.member
        if error is Error.NONE:
            return
        same = member is not None and member.generation == generation
        if error is Error.REBALANCE_IN_PROGRESS:
            if member is not None and same:
                member.request_rejoin()
            raise RebalanceInProgressError(REBALANCING, error)
        if error in UNKNOWN:
            if member is not None and same and generation >= 0:
                member.forget(error)
            raise CommitFailedError(MOVED_ON, error)
        if error is Error.FENCED_INSTANCE_ID and not same:
            raise RebalanceInProgressError(REBALANCING, error)
        raise exception_for(error, "commit_sync")

    def commit_later(self, group: str, offsets: Offsets, callback: Callback | None = None) -> Promise[None]:
        """Commit without waiting; the callback gets the offsets, and the error if there was one."""
        given = dict(offsets)
        promise = self.consumer.port.spawn(self.commit(group, given))

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
        """The group's committed offsets, -1 where there are none; under read_committed only stable ones."""
        stable = self.consumer.config.isolation_level == READ_COMMITTED
        body = OffsetFetch(group_id=group, partitions=partitions, require_stable=stable)
        answer = await self._ask(group, body)
        if answer.error is not Error.NONE:
            raise exception_for(answer.error, "committed")
        found: dict[str, int] = answer.response.offsets
        return found

    # by the clock

    @property
    def automatic(self) -> bool:
        """Whether enable.auto.commit is in force: it needs a group."""
        return self.consumer.config.enable_auto_commit and self.consumer.config.group_id is not None

    def when_polled(self) -> None:
        """Every auto.commit.interval.ms the positions are committed: those up to which earlier polls delivered."""
        consumer = self.consumer
        if not self.automatic or consumer.port.now < self._next_ms:
            return
        if self._under_way is not None and not self._under_way.done:
            return
        self._next_ms = consumer.port.now + consumer.config.auto_commit_interval_ms
        positions = dict(consumer.subscriptions.positions)
        if positions and consumer.config.group_id is not None:
            self._under_way = self.commit_later(consumer.config.group_id, positions)

    async def before_rebalance(self) -> None:
        """The last automatic commit of this generation, before partitions are given up; failures are ignored."""
        positions = dict(self.consumer.subscriptions.positions)
        if self.automatic and positions and self.consumer.config.group_id is not None:
            promise = self.commit_later(self.consumer.config.group_id, positions)
            await self.consumer.connection.done_within(promise, self.consumer.config.default_api_timeout_ms)


def first_error(response: object) -> Error:
    """The response's own error, else its first partition's that is one."""
    top = getattr(response, "error", Error.NONE)
    if isinstance(top, Error) and top is not Error.NONE:
        return top
    errors: dict[str, Error] = getattr(response, "errors", {})
    return next((e for e in errors.values() if e is not Error.NONE), Error.NONE)
