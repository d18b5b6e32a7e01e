"""The pictures that the page shows beside the sequence, of the same journey: their names, and how each is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kafkalab.limits import listed, quoted
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.presses import checked
from kafkalab.widgets.payload.machines import places
from kafkalab.widgets.payload.state_machines import machine
from kafkalab.widgets.payload.text import Payload
from kafkalab.widgets.views.view import View

Subjects = dict[str, str]
"""The subjects of a run for a picture: a name for addresses and for Python, and the words that a reader chooses."""
WHOLE: Subjects = {"": ""}
"""A picture of all of a run."""
MACHINES = {
    "coordinator": "a transaction, at its coordinator",
    "producer": "a producer",
    "group": "a consumer group",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture by what its tab says, what it shows more than the sequence, and the class `view` of `module`.

    `subjects` gives what of a run it may be of; where that is nothing, `missing` says so to the reader. `note` is said
    below the picture.
    """

    title: str
    about: str
    module: str
    view: str
    subjects: Callable[[Payload], Subjects] = lambda _: WHOLE
    missing: str = ""
    note: str = ""

    @property
    def kind(self) -> Any:
        """The class of the picture, imported when it is first needed."""
        return getattr(import_module(f"kafkalab.widgets.views.{self.module}"), self.view)

    def made(self, journey: Journey, of: str) -> View:
        """Return the picture of the journey's run. ValueError for an `of` that this run does not have."""
        known = self.subjects(journey.payload)
        if not known:
            raise ValueError(self.missing)
        if of not in known:
            there = f"{'is' if len(known) == 1 else 'are'} {listed(known)}"
            raise ValueError(f"this run has no {quoted(of)} to show here; there {there}")
        view: View = self.kind(journey, of) if of else self.kind(journey)
        return view


def _partitions(payload: Payload) -> Subjects:
    return WHOLE if payload["partitions"] else {}


def _machines(payload: Payload) -> Subjects:
    return {name: words for name, words in MACHINES.items() if places(payload, machine(name))}


def _clients(payload: Payload) -> Subjects:
    return {node["id"]: node["label"] for node in payload["nodes"] if node["kind"] == "client"}


PICTURES = {
    "logs": Picture(
        title="Logs",
        about="each partition's batches, on leader and followers, and what a consumer of each isolation level is given",
        module="log_tape",
        view="LogTape",
        subjects=_partitions,
        missing="this run has no partition, so it has no logs",
    ),
    "states": Picture(
        title="States",
        about="the state machine of a transaction, a producer or a group, and what each request would get now",
        module="state_chart",
        view="StateChart",
        subjects=_machines,
        missing="this run has no transaction, no producer with an id and no consumer group, so it has no states",
    ),
    "cluster": Picture(
        title="Cluster",
        about="the nodes, who leads and coordinates what, and the frames in flight",
        module="cluster_map",
        view="ClusterMap",
    ),
    "client": Picture(
        title="Client",
        about="what one application can know: its calls, and what they returned",
        module="client_view",
        view="ClientView",
        subjects=_clients,
        missing="no client takes part in this run",
    ),
    "costs": Picture(
        title="Costs",
        about="frames, log entries, round trips and milliseconds up to this step",
        module="cost_meter",
        view="CostMeter",
        note="Lab 13 counts the bytes, too: this page leaves out the codec that knows how long a frame is.",
    ),
}
"""The pictures by their names in addresses, in the order of the tabs."""


def picture_named(name: str) -> Picture:
    """Return the picture of this name, such as "logs". ValueError, which lists the names, for an unknown one."""
    return PICTURES[checked(name, list(PICTURES), f"no picture is called {quoted(name)}")]
