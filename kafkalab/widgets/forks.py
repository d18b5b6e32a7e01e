"""The tree of forks: each run that a press has made hangs under the run that it was made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kafkalab.sim.cluster import Cluster


@dataclass(slots=True, kw_only=True)
class Fork:
    """A run in the tree. It left its parent at step `at`, and is entered at step `landed`."""

    id: int
    parent: int
    cluster: Cluster
    label: str = ""
    name: str = ""
    at: int = 0
    landed: int = 0
    visited: int = -1  # the child that redo goes to
    outcome: str = field(init=False)

    def __post_init__(self) -> None:
        self.outcome = self.cluster.outcome().verdict

    def row(self) -> dict[str, Any]:
        """Plain data: all but the run itself."""
        names = ("id", "parent", "name", "label", "at", "landed", "outcome")
        return {name: getattr(self, name) for name in names}


class Forks:
    """All runs of a journey by their number, 0 being the first; `here` is the one that is shown."""

    def __init__(self, cluster: Cluster) -> None:
        self.runs = [Fork(id=0, parent=-1, cluster=cluster)]
        self.here = self.runs[0]

    def grow(self, cluster: Cluster, label: str, at: int, landed: int) -> None:
        """The run is a new child of the one shown, and is shown now. What had been undone stays beside it."""
        child = Fork(id=len(self.runs), parent=self.here.id, cluster=cluster, label=label, at=at, landed=landed)
        self.runs.append(child)
        self._enter(child)

    def undo(self, step: int) -> int:
        """The parent is shown; the step to stand at. ValueError in the first run."""
        if self.here.parent < 0:
            raise ValueError("there is no fault to undo")
        return self.goto(self.here.parent, step)

    def redo(self) -> int:
        """The child visited last is shown; the step to stand at. ValueError where none has been visited."""
        if self.here.visited < 0:
            raise ValueError("nothing has been undone")
        return self.goto(self.here.visited, 0)

    def goto(self, place: int, step: int) -> int:
        """That run is shown. The step to stand at: from a later run of the same branch where that one left, at most."""
        child = self.runs[place]
        way = self._way(self.here)
        if child in way:
            later = way[way.index(child) + 1 :]
            self.here = child
            return min([step, *(fork.at for fork in later[:1])])
        self._enter(child)
        return child.landed

    def _enter(self, child: Fork) -> None:
        for fork in self._way(child)[1:]:
            self.runs[fork.parent].visited = fork.id
        self.here = child

    def _way(self, fork: Fork) -> list[Fork]:
        """From the first run down to this one."""
        way = [fork]
        while way[0].parent >= 0:
            way.insert(0, self.runs[way[0].parent])
        return way
