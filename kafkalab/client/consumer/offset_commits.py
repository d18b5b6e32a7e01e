"""A consumer's committed offsets: by hand, by interval, before a rebalance (`ConsumerCoordinator`)."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.connection import RETRY_BACKOFF_MS, Connection, CoordinatorAnswer
from kafkalab.client.consumer.membership import UNKNOWN, Membership, MemberState
from kafkalab.client.consumer.subscription_state import SubscriptionState
from kafkalab.client.exceptions import (
    CommitFailedError,
    KafkaError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    RetriableCommitFailedError,
    TopicAuthorizationError,
    exception_for,
)
from kafkalab.client.promise import Promise
from kafkalab.client.results import Offsets, offset_fields
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.find_coordinator import GROUP
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.partitions import topic_of

Callback = Callable[[Offsets, KafkaError | None], None]

NO_MEMBER = (
    "Offset commit cannot be completed since the consumer is not part of an active group for auto partition "
    "assignment; it is likely that the consumer was kicked out of the group."
)
MOVED_ON = (
    "Commit cannot be completed since the group has already rebalanced and assigned the partitions to another member. "
    "This means that the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, "
    "which typically implies that the poll loop is spending too much time message processing. You can address this "
    "either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with "
    "max.poll.records."
)
REBALANCING = (
    "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto partition assignment. "
    "You can try completing the rebalance by calling poll() and then retry the operation."
)
GROUP_REBALANCES = (
    "Offset commit cannot be completed since the consumer group is executing a rebalance at the moment. You can try "
    "completing the rebalance by calling poll() and then retry commit again"
)
RETRY_BY_HAND = (
    "Offset commit failed with a retriable exception. You should retry committing the latest consumed offsets."
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

    async def commit(self, group: str, offsets: Offsets, once: bool = False) -> None:
        """Commit `offsets`. CommitFailedError: the group has moved on; RebalanceInProgressError: it rebalances.

        With `once` nothing is sent again: RetriableCommitFailedError if that might have helped.
        """
        if not offsets:
            return
        member, found = self.membership, offset_fields(offsets)
        await self.connection.find_coordinator(GROUP, group, self._stop())
        identity: tuple[int, str, str | None] = (-1, "", None)
        if self.subscriptions.topics:
            if member.state is not MemberState.STABLE:
                joining = member.state is MemberState.JOINING
                raise RebalanceInProgressError(REBALANCING) if joining else CommitFailedError(NO_MEMBER)
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
        answer = await self._ask(group, body, committing(found.offsets), once)
        self._check(answer, identity[0])

    def _stop(self) -> Callable[[], bool]:
        """Return the function that ends retries: after default.api.timeout.ms, or when the consumer is closed."""
        until = self.port.now + self.config.default_api_timeout_ms
        return lambda: self.port.now >= until or self.membership.closed

    async def _ask(
        self, group: str, body: OffsetCommit | OffsetFetch, what: str, once: bool = False
    ) -> CoordinatorAnswer:
        """Return the coordinator's final answer; KafkaTimeoutError, before `what`, after default.api.timeout.ms."""
        retries: list[Error] = []
        timed_out = self._stop()
        answer = await self.connection.ask_coordinator(
            GROUP, group, body, first_error, lambda: timed_out() or bool(once and retries), retrying=retries.append
        )
        if answer.stopped and once and retries:
            failed = RetriableCommitFailedError(RETRY_BY_HAND, retries[0])
            failed.__cause__ = exception_for(retries[0])
            raise failed
        if answer.stopped:
            raise timeout(self.config, what)
        return answer

    def _check(self, answer: CoordinatorAnswer, generation: int) -> None:
        error, member = answer.error, self.membership
        if error is Error.NONE:
            return
        self._check_permission(answer)
        if answer.api == "FindCoordinator":
            raise exception_for(error)
        same = member.generation == generation
        if error is Error.REBALANCE_IN_PROGRESS:
            if same:
                member.request_rejoin()
            raise RebalanceInProgressError(GROUP_REBALANCES, error)
        if error in UNKNOWN:
            if same and generation >= 0:
                member.forget(error)
            raise CommitFailedError(MOVED_ON, error)
        if error is Error.FENCED_INSTANCE_ID and not same:
            raise RebalanceInProgressError(REBALANCING, error)
        if error in (Error.FENCED_INSTANCE_ID, Error.OFFSET_METADATA_TOO_LARGE):
            raise exception_for(error)
        raise KafkaError(f"Unexpected error in commit: {error.message}", error)

    def _check_permission(self, answer: CoordinatorAnswer) -> None:
        """Raise the exception of an error that says what this client may not do."""
        if answer.error is Error.GROUP_AUTHORIZATION_FAILED:
            raise exception_for(answer.error, f"Not authorized to access group: {self.membership.group_id}")
        if answer.error is Error.TOPIC_AUTHORIZATION_FAILED:
            denied = [topic_of(p) for p, e in answer.response.errors.items() if e is answer.error]
            raise TopicAuthorizationError(tuple(sorted(dict.fromkeys(denied))))

    def commit_later(self, group: str, offsets: Offsets, callback: Callback | None = None) -> Promise[None]:
        """Commit once without waiting; call back with the offsets and the error, or None."""
        given = dict(offsets)
        promise = self.port.spawn(self.commit(group, given, once=True))

        def on_done() -> None:
            error: KafkaError | None = None
            try:
                promise.result()
            except KafkaError as met:
                error = met
            if callback is not None:
                callback(given, error)

        promise.when_done(on_done)
        return promise

    async def fetch_committed(self, group: str, partitions: tuple[str, ...]) -> dict[str, int]:
        """Return the group's committed offsets, -1 where there are none; wait for those that are not stable yet."""
        body = OffsetFetch(group_id=group, partitions=partitions, require_stable=True)
        what = f"the last committed offset for partitions [{', '.join(partitions)}] could be determined. Try tuning "
        answer = await self._ask(group, body, what + "default.api.timeout.ms larger to relax the threshold.")
        if answer.error is not Error.NONE:
            self._check_permission(answer)
            if answer.api == "FindCoordinator":
                raise exception_for(answer.error)
            if answer.error is Error.UNKNOWN_TOPIC_OR_PARTITION:
                missing = [p for p, e in answer.response.errors.items() if e is answer.error]
                raise KafkaError(f"Topic or Partition {missing[0]} does not exist", answer.error)
            raise KafkaError(f"Unexpected error in fetch offset response: {answer.error.message}", answer.error)
        found: dict[str, int] = answer.response.offsets
        return found

    # by interval

    @property
    def automatic(self) -> bool:
        """True if enable.auto.commit is in force: it needs a group."""
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
            self._under_way = self.commit_later(self.config.group_id, positions, self._committed_by_interval)

    def _committed_by_interval(self, _offsets: Offsets, error: KafkaError | None) -> None:
        """Commit again soon if the commit was refused for now."""
        if isinstance(error, RetriableCommitFailedError):
            self._next_ms = self.port.now + RETRY_BACKOFF_MS

    async def before_rebalance(self) -> None:
        """Commit automatically a last time before partitions are given up; failures are ignored."""
        positions = dict(self.subscriptions.positions)
        if self.automatic and positions and self.config.group_id is not None:
            promise = self.port.spawn(self.commit(self.config.group_id, positions))
            await self.connection.done_within(promise, self.config.default_api_timeout_ms)


def committing(offsets: dict[str, int]) -> str:
    """Return what a commit that is too late was about, in Java's words."""
    named = [f"{p}=OffsetAndMetadata{{offset={o}, leaderEpoch=null, metadata=''}}" for p, o in offsets.items()]
    return f"successfully committing offsets {{{', '.join(named)}}}"


def timeout(config: ConsumerConfig, what: str) -> KafkaTimeoutError:
    """Return the exception for `what` not happening within default.api.timeout.ms."""
    text = f"Timeout of {config.default_api_timeout_ms}ms expired before {what}"
    return KafkaTimeoutError(text, Error.REQUEST_TIMED_OUT)


def first_error(response: object) -> Error:
    """Return the response's own error, else the first error of a partition."""
    top = getattr(response, "error", Error.NONE)
    if isinstance(top, Error) and top is not Error.NONE:
        return top
    errors: dict[str, Error] = getattr(response, "errors", {})
    return next((e for e in errors.values() if e is not Error.NONE), Error.NONE)
