"""The tree of forks: each run that a press has made hangs under the run that it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kafkalab.limits import NAME, quote, whole_number
from kafkalab.run.run import Run


@dataclass(slots=True, kw_only=True)
class Fork:
    """A run in the tree. It left its parent at step `at`, and is entered at step `landed`."""

    id: int
    parent: int
    run: Run
    label: str = ""
    name: str = ""
    at: int = 0
    landed: int = 0
    visited: int = -1  # the child that redo goes to
    outcome: str = field(init=False)

    def __post_init__(self) -> None:
        self.outcome = self.run.outcome().verdict

    def row(self) -> dict[str, Any]:
        """Plain data: all but the run itself."""
        names = ("id", "parent", "name", "label", "at", "landed", "outcome")
        return {name: getattr(self, name) for name in names}


class Forks:
    """All runs of a journey by their number, 0 being the first; `here` is the one that is shown."""

    def __init__(self, run: Run) -> None:
        self.runs = [Fork(id=0, parent=-1, run=run)]
        self.here = self.runs[0]

    @classmethod
    def again(cls, runs: Sequence[Run], rows: Sequence[dict[str, Any]], place: int) -> Forks:
        """Return the tree that these rows tell of, of these runs, with the run `place` shown."""
        tree = cls(runs[0])
        tree.runs = [
            Fork(run=run, **{name: row[name] for name in ("id", "parent", "name", "label", "at", "landed")})
            for run, row in zip(runs, rows, strict=True)
        ]
        for fork in tree.runs:
            if fork.parent >= 0:
                tree.runs[fork.parent].visited = fork.id
        tree._enter(tree.runs[place])
        return tree

    def grow(self, run: Run, label: str, at: int, landed: int) -> None:
        """Add `run` as a child of the run shown, and show it. Runs that were undone stay in the tree."""
        child = Fork(id=len(self.runs), parent=self.here.id, run=run, label=label)
        child.at, child.landed = at, landed
        self.runs.append(child)
        self._enter(child)

    def plant(self, run: Run, label: str) -> None:
        """Add `run` as the root of another tree, and show it."""
        self.runs.append(Fork(id=len(self.runs), parent=-1, run=run, label=label))
        self.here = self.runs[-1]

    def why(self, action: str, target: str) -> str:
        """Return why undo, redo, goto a run, or this name for the run shown would change nothing; "" if it would."""
        if action == "undo":
            return "" if self.here.parent >= 0 else "there is no fault to undo"
        if action == "redo":
            return "" if self.here.visited >= 0 else "nothing has been undone"
        if action == "name":
            if len(target) > NAME.most:
                return f"a run's name has at most {NAME.most} characters"
            return "" if target.strip() != self.here.name else "the run has this name already"
        last = len(self.runs) - 1
        if not 0 <= whole_number(target) <= last:
            return f"goto needs the number of a run, from 0 to {last}, not {quote(target)}"
        return "" if int(target) != self.here.id else "this run is shown already"

    def rename(self, name: str) -> None:
        """Name the run shown. ValueError if it has this name already."""
        if reason := self.why("name", name):
            raise ValueError(reason)
        self.here.name = name.strip()

    def travel(self, action: str, target: str, step: int) -> int:
        """Show the run that undo, redo or goto leads to; return the step for the cursor."""
        if action == "undo":
            return self.goto(self.here.parent, step)
        return self.goto(self.here.visited if action == "redo" else int(target), step)

    def goto(self, place: int, step: int) -> int:
        """Show the run `place`; return the step for the cursor, at most where a later run of its branch left it."""
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
        """Return the runs from the root down to `fork`."""
        way = [fork]
        while way[0].parent >= 0:
            way.insert(0, self.runs[way[0].parent])
        return way
