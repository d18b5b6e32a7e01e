"""A client's connection to the cluster: metadata, coordinators, calls, back-off (Kafka: `NetworkClient`)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from kafkalab.client.exceptions import exception_for
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.error_reactions import APIS, Reaction, reaction
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.find_coordinator import TRANSACTION, FindCoordinator, FindCoordinatorResponse
from kafkalab.protocol.messages.metadata import Metadata, MetadataResponse

REQUEST_TIMEOUT_MS = 30_000
RETRY_BACKOFF_MS, RETRY_BACKOFF_MAX_MS = 100, 1000
COMMITTED_AGAIN = (Error.COORDINATOR_LOAD_IN_PROGRESS, Error.UNKNOWN_TOPIC_OR_PARTITION)
"""The errors after which OffsetCommit is sent again to the same coordinator (`OffsetCommitResponseHandler`)."""


class ClientPort(Protocol):
    """A client's access to its node. `transaction_version` is the one that client and cluster have in common now; a
    request goes out in its version, or in that of the `transaction_version` given with it.

    `coordinator_bumps_epoch` says that coordinators know InitProducerId 3 and later (KIP-360), `two_phase_commit` that
    they know version 6 (KIP-939, not stable in 4.4), `commits_by_topic_id` that the client knows TxnOffsetCommit 6
    (KIP-1319). `timed_out` says, while a request is answered with None, that its
    connection was closed because a request on it had timed out.
    """

    now: int
    node: str
    bootstrap: tuple[str, ...]
    coordinator_bumps_epoch: bool
    two_phase_commit: bool
    commits_by_topic_id: bool
    filters_aborted: bool

    @property
    def transaction_version(self) -> int: ...

    @property
    def timed_out(self) -> bool: ...

    def request(
        self,
        to: str,
        body: Any,
        answered: Callable[[Any], None],
        *,
        timeout_ms: int,
        transaction_version: int | None = None,
    ) -> None:
        """`answered` gets the response, or None once the connection broke or the time was up."""

    def timer(self, delay_ms: int, action: Callable[[], None]) -> None: ...

    def deadline(self, delay_ms: int, action: Callable[[], None]) -> None:
        """A timer that does not by itself keep a run going."""

    def record(self, kind: str, name: str, data: Any) -> int: ...

    def promise(self) -> Promise[Any]: ...

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Promise[Any]: ...


class Connection:
    """One client's view of the cluster; a stale view is refreshed when a call fails.

    `backs_off_evenly` is a producer's way to ask coordinators: it looks a lost one up at once, and then waits
    retry.backoff.ms before each retry. A consumer waits first, longer each time (docs/protocol.md#client-retries).
    """

    def __init__(
        self, port: ClientPort, request_timeout_ms: int = REQUEST_TIMEOUT_MS, backs_off_evenly: bool = False
    ) -> None:
        self.port, self.backs_off_evenly = port, backs_off_evenly
        self.request_timeout_ms = request_timeout_ms
        self.metadata: ClusterMetadata | None = None
        self._bootstrap = 0
        self._coordinators: dict[tuple[int, str], FindCoordinatorResponse] = {}

    def call(self, to: str, body: Any, transaction_version: int | None = None) -> Promise[Any]:
        """Send `body`; the response, or None if the connection broke or request.timeout.ms passed."""
        promise, version = self.port.promise(), transaction_version
        self.port.request(
            to, body, promise.resolve, timeout_ms=self.request_timeout_ms, transaction_version=version
        )
        return promise

    def sleep(self, delay_ms: int) -> Promise[None]:
        """Return a promise that is done after `delay_ms`."""
        promise = self.port.promise()
        self.port.timer(delay_ms, lambda: promise.resolve(None))
        return promise

    async def done_within(self, promise: Promise[Any], timeout_ms: int) -> bool:
        """Wait for the promise at most `timeout_ms`; return whether it is done."""
        if promise.done:
            return True
        either: Promise[bool] = self.port.promise()
        promise.when_done(lambda: either.resolve(True))
        self.port.deadline(timeout_ms, lambda: either.resolve(False))
        return await either

    async def back_off(self, attempt: int) -> None:
        """Wait 100 ms, twice as long at each attempt, at most 1000 (KIP-580; simplified: no jitter)."""
        await self.sleep(backoff_ms(attempt))

    def _retry_ms(self, attempt: int, lost: bool) -> int:
        """Return how long to wait before a retry; `lost`: there was no answer, and a connection has to be opened."""
        return RETRY_BACKOFF_MS if self.backs_off_evenly and not lost else backoff_ms(attempt)

    def any_broker(self) -> str:
        """Return the broker to ask when any will do."""
        return self.port.bootstrap[self._bootstrap % len(self.port.bootstrap)]

    def ask_another(self) -> None:
        """Change the broker of `any_broker`, which did not answer."""
        self._bootstrap += 1

    async def refresh(self) -> ClusterMetadata:
        """Ask brokers for their metadata until one answers."""
        attempt = 0
        while not await self.try_refresh():
            await self.back_off(attempt)
            attempt += 1
        assert self.metadata is not None
        return self.metadata

    async def try_refresh(self) -> bool:
        """Ask one broker for its metadata, the first time also for its versions; return whether it answered."""
        if self.metadata is None:
            await self.call(self.any_broker(), ApiVersions())
        response: MetadataResponse | None = await self.call(self.any_broker(), Metadata())
        if response is None or not response.metadata.alive:
            self.ask_another()
            return False
        self.metadata = self._newer(response.metadata)
        return True

    def _newer(self, told: ClusterMetadata) -> ClusterMetadata:
        """Return what a broker answered, but keep each partition of which a later leader epoch is known.

        The broker may be cut off from the controller (KIP-320: `Metadata.updateLatestMetadata`). Clients of transaction
        version 0 are not told leader epochs.
        """
        known = self.metadata
        if known is None or told.version >= known.version or self.port.transaction_version < 1:
            return told
        kept = {p: i for p, i in known.partitions.items() if i.leader_epoch > _leader_epoch(told, p)}
        return ClusterMetadata(told.version, told.alive, {**told.partitions, **kept})

    async def require_metadata(self) -> ClusterMetadata:
        """Return the metadata; ask for it if there is none yet."""
        return self.metadata if self.metadata is not None else await self.refresh()

    async def find_coordinator(
        self, key_type: int, key: str, stop: Callable[[], bool]
    ) -> FindCoordinatorResponse | None:
        """Return the coordinator's node, or an error that no retry cures; None once `stop` returns True."""
        attempt = 0
        while not stop():
            response = await self._look_up(key_type, key)
            if response is not None and not _is_retriable(response):
                return response
            await self.sleep(self._retry_ms(attempt, lost=response is None))
            attempt += 1
        return None

    async def coordinator_now(self, key_type: int, key: str) -> str:
        """Return the coordinator's node, after one look-up if need be; "" if that failed. Raise a final error."""
        response = await self._look_up(key_type, key)
        if response is None or _is_retriable(response):
            return ""
        if response.error is not Error.NONE:
            denied = response.error is Error.GROUP_AUTHORIZATION_FAILED
            raise exception_for(response.error, f"Not authorized to access group: {key}" if denied else "")
        return response.node_id

    async def _look_up(self, key_type: int, key: str) -> FindCoordinatorResponse | None:
        """Return the known coordinator, or the answer to one FindCoordinator; None if there was none."""
        known = self._coordinators.get((key_type, key))
        if known is not None:
            return known
        body = FindCoordinator(key=key, key_type=key_type)
        response: FindCoordinatorResponse | None = await self.call(self.any_broker(), body)
        if response is None:
            self.ask_another()
        elif response.error is Error.NONE:
            self._coordinators[key_type, key] = response
        return response

    def forget_coordinator(self, key_type: int, key: str) -> None:
        """Let the next call look the coordinator up."""
        self._coordinators.pop((key_type, key), None)

    async def ask_coordinator(
        self,
        key_type: int,
        key: str,
        body: Any,
        error_of: Callable[[Any], Error],
        stop: Callable[[], bool] = lambda: False,
        first_backoff_ms: int = 0,
        retrying: Callable[[Error], object] = lambda error: None,
        transaction_version: int | None = None,
    ) -> CoordinatorAnswer:
        """Ask the coordinator until the answer is final, or until `stop` returns True.

        Call `retrying`, with the error that was answered, each time that it has to be asked again.
        """
        api, attempt, wait_ms = type(body).__name__, 0, 0
        while True:
            if attempt and not self.backs_off_evenly:
                await self.back_off(attempt - 1)
            found = await self.find_coordinator(key_type, key, stop)
            if found is None:
                return CoordinatorAnswer(None, api, Error.NONE, Reaction.FATAL, stopped=True)
            if found.error is not Error.NONE:
                what = reaction("FindCoordinator", found.error)
                return CoordinatorAnswer(None, "FindCoordinator", found.error, what, sought=(key_type, key))
            if wait_ms and self.backs_off_evenly:
                await self.sleep(wait_ms)
                if stop():
                    continue
            response = await self.call(found.node_id, body, transaction_version)
            error = Error.NONE if response is None else error_of(response)
            if response is not None and error is Error.NONE:
                return CoordinatorAnswer(response, api, error, Reaction.SUCCESS)
            what = Reaction.LOOKUP if response is None else _reaction(api, error)
            if what is Reaction.LOOKUP:
                self.forget_coordinator(key_type, key)
                if response is None:
                    self.ask_another()
            elif what is not Reaction.RETRY:
                return CoordinatorAnswer(response, api, error, what)
            retrying(error if response is not None else Error.NETWORK_EXCEPTION)
            if stop():
                continue
            soon = first_backoff_ms and error is Error.CONCURRENT_TRANSACTIONS
            wait_ms = first_backoff_ms if soon else self._retry_ms(attempt, lost=response is None)
            attempt += 1


@dataclass(frozen=True, slots=True)
class CoordinatorAnswer:
    """A coordinator's final answer. `stopped`: nothing was sent.

    `api` is FindCoordinator if that was refused; `sought` is then the type of its key, and the key.
    """

    response: Any
    api: str
    error: Error
    reaction: Reaction
    stopped: bool = False
    sought: tuple[int, str] = (TRANSACTION, "")


def _leader_epoch(metadata: ClusterMetadata, partition: str) -> int:
    info = metadata.partitions.get(partition)
    return -1 if info is None else info.leader_epoch


def backoff_ms(attempt: int) -> int:
    """`backoff_ms(0) == 100`, `backoff_ms(1) == 200`, at most 1000."""
    return min(RETRY_BACKOFF_MS << min(attempt, 4), RETRY_BACKOFF_MAX_MS)


def _is_retriable(response: FindCoordinatorResponse) -> bool:
    """Return whether a look-up was refused for now."""
    return response.error is not Error.NONE and reaction("FindCoordinator", response.error) is Reaction.RETRY


def _reaction(api: str, error: Error) -> Reaction:
    """Look the reaction up in the producer's table; for other APIs: look up, retry, or give up."""
    if api in APIS:
        return reaction(api, error)
    if error in (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE):
        return Reaction.LOOKUP
    if api == "OffsetCommit" and error is Error.REQUEST_TIMED_OUT:
        return Reaction.LOOKUP
    again = error.retriable if api != "OffsetCommit" else error in COMMITTED_AGAIN
    if api == "OffsetFetch" and error is Error.UNKNOWN_TOPIC_OR_PARTITION:
        again = False
    return Reaction.RETRY if again else Reaction.FATAL
