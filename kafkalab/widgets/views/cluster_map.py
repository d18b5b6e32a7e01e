"""The cluster map: brokers, controller and clients, who leads and coordinates what, walls, frames in flight."""

from __future__ import annotations

from typing import Any

import traitlets

from kafkalab.limits import quote
from kafkalab.widgets.model.presses import check_known
from kafkalab.widgets.payload.cluster import cluster_text, in_flight
from kafkalab.widgets.views.static_cluster_map import draw
from kafkalab.widgets.views.view import Source, View, beside


class ClusterMap(View):
    """The nodes of a run and the frames between them: `ClusterMap(lab03())`, or of a journey.

    `node` is the selected one ("" for none): a screen reader reads its state, and its frames are drawn bold.
    """

    part = "cluster_map"

    SETTABLE = ("node",)

    node = traitlets.Unicode("").tag(sync=True)

    def __init__(self, run: Source, size: str = "laptop", node: str = "") -> None:
        """See `View`. ValueError for a node that the run does not have."""
        super().__init__(run, size)
        self._choose(node)

    def _ids(self) -> list[str]:
        return [n["id"] for n in self.payload["nodes"]]

    def _choose(self, node: str) -> None:
        self.node = node and check_known(node, self._ids(), f"no node {quote(node)} in this run")

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """Do what the button `action` does: up, down (node before, after), node (one by its id); else `View.press`.

        ValueError, and nothing changes, for a node that is not there.
        """
        if action == "node":
            self._choose(target)
        elif action in ("up", "down"):
            self.node = beside(self._ids(), self.node, -1 if action == "up" else 1, "node")
        else:
            super().press(action, target, **details)

    def text(self) -> str:
        """Return the text twin: nodes, partitions, walls and frames in flight at the cursor."""
        lines = cluster_text(self.payload, self.step, self._flying(), self.node)
        return "\n".join([*self._head(), *lines])

    def _flying(self) -> list[dict[str, Any]]:
        return in_flight(self.payload, self.step, self.groups, self.hidden)

    def svg(self) -> str:
        """Return the map at the cursor as a standalone SVG."""
        return draw(self.payload, self.step, self.journey.stops(), self._flying())
