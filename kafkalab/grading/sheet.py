"""The answer sheet of the labs: which cells are graded, for how many points. It comes from the notebooks themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.grading.builder import LABS, SOLUTIONS, is_check, read

CHECK = re.compile(r'check\("(?P<exercise>L\d+\.E\d+)", (?P<answer>\w+)\)')
"""The whole text of a check cell."""
BEHIND = re.compile(r"kafkalab\.(grading|course)")
TIME_S, MEMORY_MB = 60, 1024
SPARK_TIME_S, SPARK_MEMORY_MB = 600, 3072
"""For labs with "spark" in their name: a Java machine starts slowly, and is a process of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCell:
    """One check cell: nbgrader's name of it, its source, the exercise, the answer's variable, the points."""

    cell: str
    source: str
    exercise: str
    answer: str
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A notebook as it was given out; `time_s` and `memory_mb` are what a run of it may take.

    `looks_behind` holds those of its own cells that read kafkalab.grading.
    """

    name: str
    checks: tuple[CheckCell, ...]
    time_s: int = TIME_S
    memory_mb: int = MEMORY_MB
    looks_behind: tuple[str, ...] = ()

    @property
    def uses_spark(self) -> bool:
        """True if its name says that it needs Spark."""
        return "spark" in self.name

    @property
    def points(self) -> float:
        """The points of all its exercises."""
        return sum(check.points for check in self.checks)


def sheet(root: Path) -> dict[str, Lab]:
    """Every lab with exercises under `root`, by its notebook's name without ".ipynb"; ValueError if there are none."""
    folder = next((root / f for f in (SOLUTIONS, LABS) if list((root / f).glob("[0-9]*.ipynb"))), None)
    labs = [lab_of(path.stem, read(path)) for path in sorted(folder.glob("[0-9]*.ipynb"))] if folder else []
    graded = {lab.name: lab for lab in labs if lab.checks}
    if not graded:
        raise ValueError(f"no {LABS}/NN.ipynb with exercises here; run it in the folder that holds labs/")
    return graded


def lab_of(name: str, notebook: dict[str, Any]) -> Lab:
    """The check cells of one notebook; its metadata may say {"kafkalab": {"time_s": 300, "memory_mb": 2048}}."""
    found = []
    for cell in (c for c in notebook["cells"] if is_check(c)):
        source = "".join(cell["source"]).strip()
        match = CHECK.fullmatch(source)
        if match is None:
            raise ValueError(f'{name}: the check cell {cell["id"]} is not of the form check("L3.E1", answer)')
        facts = cell["metadata"]["nbgrader"]
        points = facts.get("points", 1)
        found.append(
            CheckCell(cell=facts.get("grade_id", cell["id"]), source=source, points=points, **match.groupdict())
        )
    limits = notebook["metadata"].get("kafkalab", {})
    usual = (SPARK_TIME_S, SPARK_MEMORY_MB) if "spark" in name else (TIME_S, MEMORY_MB)
    time_s, memory_mb = limits.get("time_s", usual[0]), limits.get("memory_mb", usual[1])
    texts = ("".join(c["source"]).strip() for c in notebook["cells"] if c["cell_type"] == "code")
    behind = tuple(text for text in texts if BEHIND.search(text))
    return Lab(name=name, checks=tuple(found), time_s=time_s, memory_mb=memory_mb, looks_behind=behind)


def exercises_asked(sources: Iterable[str]) -> set[str]:
    """The exercises that some cells check, however they have been edited."""
    return {found for source in sources for found in re.findall(r"""check\(\s*["'](L\d+\.E\d+)["']""", source)}
