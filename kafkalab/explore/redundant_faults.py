"""Faults that are another one over again: a second response is not heard, a request that only reads may come twice."""

from __future__ import annotations

from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame

READ_ONLY = frozenset(("ApiVersions", "Metadata", "FindCoordinator", "ListOffsets", "Fetch", "OffsetFetch"))
"""Requests that change nothing at their receiver; on a fresh run two of them create topics."""
CREATING = ("Metadata", "FindCoordinator")


def only_reads(run: Run, name: str) -> bool:
    """Return whether a request of this name changes nothing at its receiver."""
    return name in READ_ONLY and not (run.scenario_or_why().fresh and name in CREATING)


def is_heard_once(run: Run, frame: Frame) -> bool:
    """Return whether a second copy of the frame changes nothing: nobody waits for a second response.

    A request that only reads is answered twice, and the second response is not heard either.
    """
    return frame.kind == "response" or only_reads(run, frame.name)


def given_up_ms(lost: Run, frame: Frame) -> int | None:
    """Return when the frame comes too late to do anything, in the run in which it is lost; None if it never does.

    That is when who has sent the request gives it up, or ends: nobody hears the response any more.
    """
    name = frame.name.removesuffix("Response")
    if frame.kind == "request" and not only_reads(lost, name):
        return None
    asks, asked = (frame.receiver, frame.sender) if frame.kind == "response" else (frame.sender, frame.receiver)
    given_up = {"to": asked, "request": name}
    for event in lost.trace.events[frame.sent_step + 1 :]:
        if event.node == asks and (event.kind == "crash" or _is_timeout(event, given_up)):
            return event.at_ms
    return None


def _is_timeout(event: Event, given_up: dict[str, str]) -> bool:
    return event.name == "request timeout" and event.data == given_up
