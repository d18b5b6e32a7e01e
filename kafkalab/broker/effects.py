"""What a handler asks for. The runtime carries the effects out; a crash in between loses the rest of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from kafkalab.protocol.errors import Error
from kafkalab.protocol.records import Batch


class Then(NamedTuple):
    """What to do next, as data: a module-level function and its arguments.

    It is called as `function(state, result, now, *args)` and returns effects. `result` is an `Appended` after an
    Append, the response (or None after a disconnect) after a Send, and None after a timer.
    """

    function: Callable[..., list[Effect]]
    args: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"Then({self.function.__name__})"


class Appended(NamedTuple):
    """How an Append ended: `Error.NONE` once every in-sync replica has the batch, and the batch with its offset."""

    error: Error
    batch: Batch | None = None


class Respond(NamedTuple):
    """Answer the request that is being handled (or was, when the chain of effects began)."""

    body: Any


class Send(NamedTuple):
    """Send a request to another node; once its response is here, or the connection broke, do `then`."""

    to: str
    request: Any
    then: Then | None = None


class Append(NamedTuple):
    """Write `batch` to the local leader's log of `partition`; once it is durable, or failed, do `then`.

    Durable means that all in-sync replicas have it; with `acks=1` the leader's own copy is enough. After `timeout_ms`
    the result is REQUEST_TIMED_OUT, and the batch stays in the log.
    """

    partition: str
    batch: Batch
    timeout_ms: int
    then: Then
    acks: int = -1


class AwaitDurable(NamedTuple):
    """Do `then` once the batch that is already in the log is below the high watermark (a recognised duplicate).

    With `acks` other than -1 that is now.
    """

    partition: str
    batch: Batch
    timeout_ms: int
    then: Then
    acks: int = -1


class Park(NamedTuple):
    """Keep the request; do `then` when the high watermark of one of the partitions moves, or after `timeout_ms`."""

    partitions: tuple[str, ...]
    timeout_ms: int
    then: Then


class FeedFollowers(NamedTuple):
    """Answer the followers that wait for the partition: where its log begins has changed."""

    partition: str


class SetTimer(NamedTuple):
    """Do `then` after `delay_ms`. A background timer alone does not keep a run going."""

    delay_ms: int
    then: Then
    background: bool = False


@dataclass(slots=True, eq=False)
class Suspended:
    """A place where a chain of effects waits. Empty before its Suspend and after its Resume."""

    resume: Callable[[Any, int], None] | None = None


class Suspend(NamedTuple):
    """End this chain of effects here; a Resume of `place` goes on with `then`, for the same request."""

    place: Suspended
    then: Then


class Resume(NamedTuple):
    """Let the chain that waits in `place` go on with this result, now; nothing happens if none waits."""

    place: Suspended
    result: Any


class Hold(NamedTuple):
    """Keep the request that is being handled under `key`; an older one kept there will never be answered."""

    key: str


class Answer(NamedTuple):
    """Answer the request that is kept under `key`; nothing happens if there is none."""

    key: str
    body: Any


class Note(NamedTuple):
    """Record a state event in the trace: `name` says of what kind of thing, `data` what is true from now on."""

    name: str
    data: dict[str, Any]


Effect: TypeAlias = (
    Respond | Send | Append | AwaitDurable | Park | SetTimer | Suspend | Resume | Hold | Answer | FeedFollowers | Note
)
