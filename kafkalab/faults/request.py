"""Faults of a request: the broker that gets it crashes, or its response says nothing but an error."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafkalab.faults.check import check_frame_id, milliseconds_of
from kafkalab.faults.durations import DOWN_MS
from kafkalab.faults.fault import Fault, FrameFault, Variant, Words
from kafkalab.faults.world import Flight, NetworkOfWorld, World
from kafkalab.limits import TIME_MS, did_you_mean, quote
from kafkalab.protocol.error_responses import carries_error, error_response, why_no_error
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.messages.registry import ALL, BY_NAME
from kafkalab.trace import Frame

HANDLED = "handled"
NO_RESPONSE = object()
"""Instead of a response: the broker crashes."""
ERRORS = tuple(error.name for error in Error if error is not Error.NONE)
COORDINATOR_ERRORS = ("COORDINATOR_NOT_AVAILABLE", "UNKNOWN_SERVER_ERROR")
ERRORS_TRIED = {"Produce": ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_SERVER_ERROR")}
"""The errors that a search tries where a leader is asked; a coordinator's are `COORDINATOR_ERRORS`."""
DECIDING = (
    "Produce", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "OffsetCommit", "EndTxn"
)  # fmt: skip
"""The requests at which a search lets a broker crash, or an error be the response."""


def message_of(frame: str) -> str:
    """Return the message of a frame's name: "EndTxnResponse" of "app:EndTxnResponse#1"."""
    return frame.rpartition(":")[2].partition("#")[0]


def api_of(frame: str) -> str:
    """Return the API of a frame's name: "EndTxn" of "app:EndTxnResponse#1"."""
    return message_of(frame).removesuffix("Response")


class _RequestFault(FrameFault):
    """Something happens when the request arrives or, with `handled`, when the broker has done what it asks for."""

    __slots__ = ()
    waits = True
    of_requests_only = True
    handled: bool

    @classmethod
    def targets(cls, world: World, target: str) -> Iterator[Fault]:
        """Yield it for a request that it can strike."""
        if cls.fits(target):
            yield cls.of_press(target, {}, ())

    @classmethod
    def fits(cls, frame: str) -> bool:
        """Return whether the frame is a request that it can strike."""
        try:
            cls.of_press(frame, {}, ()).check((), None)
        except ValueError:
            return False
        return True

    @property
    def detail(self) -> str:
        """Return "handled" or ""."""
        return HANDLED if self.handled else ""

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError or TypeError unless the frame is a request, and `handled` True or False."""
        check_frame_id(self.frame)
        if api_of(self.frame) != message_of(self.frame):
            raise ValueError(f"{self.frame} is a response; choose its request")
        if not isinstance(self.handled, bool):
            raise TypeError(f"handled is True or False, not {quote(self.handled)}")

    @property
    def awaited(self) -> str:
        """Return what has not happened."""
        return f"{self.frame} has not been {'answered' if self.handled else 'received'}"

    def catch(self, frame: Frame, network: NetworkOfWorld) -> None:
        """Wait for the request's arrival, or for its response."""
        network.frame_faults.wait_for(frame, self.handled, lambda: self._act(frame, network))

    def strike(self, frame: Frame, network: NetworkOfWorld, flight: Flight) -> None:
        """Let the request fly on."""

    def _act(self, frame: Frame, network: NetworkOfWorld) -> Any:
        if self.why_not_at(frame.receiver):
            return None
        network.frame_faults.note_used(self)
        return self.act(frame, network)

    @abstractmethod
    def act(self, frame: Frame, network: NetworkOfWorld) -> Any:
        """Let it happen now; return the response that leaves instead of the broker's own, or `NO_RESPONSE`."""

    def why_not_at(self, receiver: str) -> str:
        """Return why it cannot happen to this receiver; "" if it can."""
        return ""

    def why_not_here(self, world: World, frame: Frame, struck: Sequence[FrameFault]) -> str:
        """Return why not: it is a response, or never arrives."""
        if frame.kind == "response":
            return f"{self.frame} is a response; choose its request"
        if reason := self.why_not_at(frame.receiver):
            return reason
        return self.why_never_received(frame)


@dataclass(frozen=True, slots=True)
class CrashAt(_RequestFault):
    """The broker that gets the request crashes: when it has received it and has done nothing about it or, with
    `handled`, when it has done what the request asks for and before its response leaves.

    It restarts after `down_ms`; with 0 it stays down.
    """

    frame: str
    handled: bool = False
    down_ms: int = 0
    press = "crash_at"
    kind = "crash-at"
    details = (HANDLED, "down_ms")
    words = Words(
        label="crash its receiver", title="The broker crashes when it receives the request",
        chapter="the {what} meets a crash", event="{broker} crashes {when} {frame}.",
        explanation="{broker} crashes {when} {whose}",
    )  # fmt: skip
    variants = (
        Variant({HANDLED: True}, "crash it when handled", "The broker does it, and crashes before its response leaves"),
    )

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, Any], nodes: Sequence[str]) -> Fault:
        """Return it with the details of the press."""
        return cls(target, details.get(HANDLED, False), details.get("down_ms", 0))

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return it for "CrashAt:EndTxn#1", "CrashAt:EndTxn#1:handled" or either with its milliseconds after it."""
        handled, rest = words[:1] == (HANDLED,), words[words[:1] == (HANDLED,) :]
        return cls(target, handled, milliseconds_of(*rest))

    def event_data(self, frame: Frame) -> dict[str, object]:
        """Return whom it happens to, and when."""
        given = {"broker": frame.receiver, HANDLED: self.handled, "down_ms": self.down_ms}
        return {**given, "when": "when it has handled" if self.handled else "when it receives"}

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError or TypeError for another request or another time than there can be."""
        _RequestFault.check(self, nodes, topics)
        if type(self.down_ms) is not int or not 0 <= self.down_ms <= TIME_MS.most:
            raise ValueError(f"down_ms is a number of milliseconds from 0 on, not {quote(self.down_ms)}")

    def why_not_at(self, receiver: str) -> str:
        """Return why not: the controller gets it."""
        return "the controller cannot fail: its consensus is not modelled" if receiver == "controller" else ""

    def act(self, frame: Frame, network: NetworkOfWorld) -> Any:
        """Crash the broker, and plan its restart."""
        network.frame_faults.crash(frame.receiver, self.down_ms)
        return NO_RESPONSE

    @classmethod
    def sequences_on(cls, frames: Mapping[str, Frame], frame: Frame) -> Iterator[tuple[Fault, ...]]:
        """Yield it, handled or not, for a request that decides something; the broker restarts."""
        if frame.name in DECIDING and not frame.copy_of:
            yield from ((cls(frame.id, handled, DOWN_MS),) for handled in (False, True))


@dataclass(frozen=True, slots=True)
class RespondWith(_RequestFault):
    """The client gets a response that says nothing but this error: the broker has not handled the request or, with
    `handled`, it has done what the request asks for.

    `error` is the name of one of Kafka's errors. Every field for an error has it: of each partition, too.
    """

    frame: str
    error: str = "UNKNOWN_SERVER_ERROR"
    handled: bool = False
    press = "respond_with"
    details = ("error", HANDLED)
    of_clients_only = True
    apis = tuple(api.name for api in ALL if carries_error(api))
    kind = "error"
    words = Words(
        label="respond with an error", title="The response is UNKNOWN_SERVER_ERROR; the broker does nothing about it",
        chapter="the {what} gets an error", event="{broker} answers {frame} with {error} {when}.",
        explanation="{whose} is answered with {error} {when}",
    )  # fmt: skip
    variants = (
        Variant({HANDLED: True}, "handle, respond with an error", "The response is the error, but the broker does it"),
    )

    @classmethod
    def of_press(cls, target: str, details: Mapping[str, Any], nodes: Sequence[str]) -> Fault:
        """Return it with the details of the press."""
        return cls(target, details.get("error") or "UNKNOWN_SERVER_ERROR", details.get(HANDLED, False))

    @classmethod
    def of_words(cls, target: str, *words: str) -> Fault:
        """Return it for "RespondWith:EndTxn#1:NOT_COORDINATOR", with ":handled" if the broker has handled it."""
        error, *handled = words
        if handled not in ([], [HANDLED]):
            raise ValueError(f"{quote(handled)} is not {HANDLED!r}")
        return cls(target, error, bool(handled))

    def strikes(self, frame: Frame, network: NetworkOfWorld) -> bool:
        """Return whether a client sends the request: what servers ask each other has errors of its own."""
        return bool(frame.client)

    def event_data(self, frame: Frame) -> dict[str, object]:
        """Return the broker, the error, and whether the broker handles the request."""
        when = "when it has handled it" if self.handled else "and does not handle it"
        return {"broker": frame.receiver, "error": self.error, HANDLED: self.handled, "when": when}

    def check(self, nodes: tuple[str, ...], topics: Mapping[str, int] | None) -> None:
        """Raise ValueError or TypeError for an API whose response has no such field, and for an unknown error."""
        _RequestFault.check(self, nodes, topics)
        api = BY_NAME[api_of(self.frame)]
        if not api.offered:
            raise ValueError(f"no client sends {api.name}; only clients get an error instead of their response")
        if reason := why_no_error(api):
            raise ValueError(reason)
        if self.error not in ERRORS:
            raise ValueError(f"no error is called {quote(self.error)}{did_you_mean(self.error, ERRORS)}")

    def why_not_here(self, world: World, frame: Frame, struck: Sequence[FrameFault]) -> str:
        """Return why not: a server sends it, or see the requests' own reasons."""
        reason = _RequestFault.why_not_here(self, world, frame, struck)
        return reason or ("" if frame.client else f"{self.frame} is not sent by a client")

    def act(self, frame: Frame, network: NetworkOfWorld) -> Any:
        """Return the response with the error."""
        return error_response(frame.body, Error[self.error])

    @classmethod
    def sequences_on(cls, frames: Mapping[str, Frame], frame: Frame) -> Iterator[tuple[Fault, ...]]:
        """Yield it, handled or not, for a client's request that decides something."""
        if frame.client and frame.name in DECIDING and carries_error(BY_NAME[frame.name]):
            for error in ERRORS_TRIED.get(frame.name, COORDINATOR_ERRORS):
                yield from ((cls(frame.id, error, handled),) for handled in (False, True))


FAULTS: tuple[type[Fault], ...] = (CrashAt, RespondWith)
__all__ = ["CrashAt", "RespondWith"]
