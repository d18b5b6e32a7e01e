"""The effects of handlers. A handler yields effects, the broker carries them out and sends back each one's result.

A handler that waits for nothing is a plain function that returns its response. Any other is a generator: it yields
an effect, is suspended until the effect's result is there, and reads on. What it returns, if anything, is the
response. While a generator is suspended, requests of others are handled: look the state up again after each yield.
A crash drops every suspended generator.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

from kafkalab.protocol.errors import Error
from kafkalab.protocol.records import Batch
from kafkalab.protocol.windows import Window

T = TypeVar("T")
Effects: TypeAlias = Generator["Effect", Any, T]
"""A generator that yields effects and returns a T. `x = yield from f(...)` runs one inside another."""


class AppendResult(NamedTuple):
    """The end of an Append: `Error.NONE` once every in-sync replica has the batch, and the batch with its offset."""

    error: Error
    batch: Batch | None = None


class Respond(NamedTuple):
    """Answer the request that is being handled, and go on. At the end of a handler, `return body` does the same."""

    body: Any


class Send(NamedTuple):
    """Send a request to another node. Result: its response, or None if the connection broke."""

    to: str
    request: Any


class Append(NamedTuple):
    """Write `batch` to the local leader's log of `partition`. Result: `AppendResult`, once it is durable or has failed.

    Durable means that all in-sync replicas have it; with `acks=1` the leader's own copy is enough. After `timeout_ms`
    the result is REQUEST_TIMED_OUT, and the batch stays in the log. Below min.insync.replicas nothing is appended,
    unless `below_min_isr`: then the batch waits for the high watermark, which stands still until enough are in sync.
    """

    partition: str
    batch: Batch
    timeout_ms: int
    acks: int = -1
    below_min_isr: bool = False


class AwaitDurable(NamedTuple):
    """Wait until a batch that is already in the log is durable (a recognised duplicate). Result: as of `Append`."""

    partition: str
    batch: Batch
    timeout_ms: int
    acks: int = -1


class Park(NamedTuple):
    """Wait until the high watermark of one of the partitions moves, at most `timeout_ms`."""

    partitions: tuple[str, ...]
    timeout_ms: int


class Sleep(NamedTuple):
    """Wait `delay_ms`. A background timer alone does not keep a run going."""

    delay_ms: int
    background: bool = False


class PassWindow(NamedTuple):
    """Stand still in `window` if a `Stall` demands it. A handler yields it only where `BrokerState.stalls` has one."""

    window: Window


class FeedFollowers(NamedTuple):
    """Answer the followers that wait for the partition: its log start has changed."""

    partition: str


class Readmit(NamedTuple):
    """Let the partition's followers back into the in-sync set that have all there is, of a log without records too."""

    partition: str


class Spawn(NamedTuple):
    """Run `effects` until it first waits, then go on; from there both run on their own, for the same request."""

    effects: Effects[None]


class All(NamedTuple):
    """Run all of these at once, in order. Result: the list of what they return, once the last one has ended."""

    parts: tuple[Effects[Any], ...]


@dataclass(slots=True, eq=False)
class Suspension:
    """A place where one generator waits for another. Empty before its Suspend and after its Resume."""

    resume: Callable[[Any, int], None] | None = None


class Suspend(NamedTuple):
    """Wait for a Resume of `place`. Result: the Resume's."""

    place: Suspension


class Resume(NamedTuple):
    """Let the generator that waits in `place` go on with this result, now; nothing happens if none waits."""

    place: Suspension
    result: Any


class Note(NamedTuple):
    """Record a state event in the trace: `name` is the kind of thing, `data` what is true from now on."""

    name: str
    data: dict[str, Any]


Effect: TypeAlias = (
    Respond | Send | Append | AwaitDurable | Park | Sleep | PassWindow | FeedFollowers | Readmit | Spawn | All | Suspend
    | Resume | Note
)


def all_of(*parts: Effects[Any]) -> Effects[list[Any]]:
    """`All`, without its cost where there is one part only."""
    if len(parts) == 1:
        return [(yield from parts[0])]
    results: list[Any] = yield All(parts)
    return results


def run_part(part: Effects[Any], index: int, results: list[Any], unended: set[int], place: Suspension) -> Effects[None]:
    """Run one part of an `All` and keep its result; the last of the `unended` ones resumes the generator that waits."""
    results[index] = yield from part
    unended.remove(index)
    if not unended:
        yield Resume(place, results)
