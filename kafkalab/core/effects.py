"""What a handler asks for. The runtime carries the effects out; a crash in between loses the rest of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafkalab.core.errors import Error
from kafkalab.core.records import Batch


@dataclass(frozen=True, slots=True)
class Then:
    """What to do next, as data: a module-level function and its arguments.

    It is called as `function(state, result, now, *args)` and returns effects. `result` is an `Appended` after an
    Append, the reply (or None after a disconnect) after a Send, and None after a timer.
    """

    function: Callable[..., list[Effect]]
    args: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"Then({self.function.__name__})"


@dataclass(frozen=True, slots=True)
class Appended:
    """How an Append ended: `Error.NONE` once every in-sync replica has the batch, and the batch with its offset."""

    error: Error
    batch: Batch | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer the request that is being handled (or was, when the chain of effects began)."""

    body: Any


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request to another node; once its reply is here, or the connection broke, do `then`."""

    to: str
    request: Any
    then: Then | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Write `batch` to the local leader's log of `partition`; once it is durable, or failed, do `then`.

    Durable means that all in-sync replicas have it; with `acks=1` the leader's own copy is enough. After `timeout_ms`
    the result is REQUEST_TIMED_OUT, and the batch stays in the log.
    """

    partition: str
    batch: Batch
    timeout_ms: int
    then: Then
    acks: int = -1


@dataclass(frozen=True, slots=True)
class AwaitDurable:
    """Do `then` once the batch that is already in the log is below the high watermark (a recognised duplicate).

    With `acks` other than -1 that is now.
    """

    partition: str
    batch: Batch
    timeout_ms: int
    then: Then
    acks: int = -1


@dataclass(frozen=True, slots=True)
class Park:
    """Keep the request; do `then` when the high watermark of one of the partitions moves, or after `timeout_ms`."""

    partitions: tuple[str, ...]
    timeout_ms: int
    then: Then


@dataclass(frozen=True, slots=True)
class FeedFollowers:
    """Answer the followers that wait for the partition: where its log begins has changed."""

    partition: str


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Do `then` after `delay_ms`. A background timer alone does not keep a run going."""

    delay_ms: int
    then: Then
    background: bool = False


@dataclass(slots=True, eq=False)
class Suspended:
    """A place where a chain of effects waits. Empty before its Suspend and after its Resume."""

    resume: Callable[[Any, int], None] | None = None


@dataclass(frozen=True, slots=True)
class Suspend:
    """End this chain of effects here; a Resume of `place` goes on with `then`, for the same request."""

    place: Suspended
    then: Then


@dataclass(frozen=True, slots=True)
class Resume:
    """Let the chain that waits in `place` go on with this result, now; nothing happens if none waits."""

    place: Suspended
    result: Any


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep the request that is being handled under `key`; an older one kept there will never be answered."""

    key: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the request that is kept under `key`; nothing happens if there is none."""

    key: str
    body: Any


@dataclass(frozen=True, slots=True)
class Note:
    """Record a state event in the trace: `name` says of what kind of thing, `data` what is true from now on."""

    name: str
    data: dict[str, Any]


Effect: TypeAlias = (
    Reply
    | Send
    | Append
    | AwaitDurable
    | Park
    | SetTimer
    | Suspend
    | Resume
    | Hold
    | Answer
    | FeedFollowers
    | Note
)
