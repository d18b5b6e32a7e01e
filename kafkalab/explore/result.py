"""The result of a search: what it found, or the bound up to which it found nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from kafkalab.checks.check import Finding
from kafkalab.explore.anomalies import allowed_in
from kafkalab.explore.experiment import run_to_end
from kafkalab.explore.explanation import explain_finding
from kafkalab.explore.fault_sequence import GIVEN, FaultSequence
from kafkalab.faults.fault import Fault
from kafkalab.run.run import Run, Simulator
from kafkalab.sim.scenario import Scenario

FOUND, NONE, UNKNOWN = "found", "none", "unknown"
LISTED = 5
"""The number of allowed findings that are printed."""


@dataclass(slots=True, kw_only=True)
class Coverage:
    """A search's coverage. `tried` and `open` count fault sets by size; the rest says why others needed no run."""

    runs: int = 0
    futures: int = 0
    tried: dict[int, int] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    in_vain: int = 0
    equal: int = 0
    left_out: int = 0
    endless: int = 0
    not_prevented: int = 0

    def __str__(self) -> str:
        sizes = ", ".join(
            f"{count:,} {'set' if count == 1 else 'sets'} of {size}"
            + (f" ({self.open[size]:,} not tried)" if self.open.get(size) else "")
            for size, count in sorted(self.tried.items())
        )
        pruned = [
            (self.equal, "had a future seen before"),
            (self.in_vain, "changed nothing"),
            (self.left_out, "events were left out, since no outcome rests on them or they repeat an earlier one"),
            (self.not_prevented, "showed it with the rule on, too"),
            (self.endless, "never came to an end"),
        ]
        why = "; ".join(f"{count:,} {text}" for count, text in pruned if count)
        return f"{self.runs:,} runs, {self.futures:,} distinct futures; faults: {sizes or 'none'}" + (
            f"; {why}" if why else ""
        )


@dataclass(frozen=True, kw_only=True)
class Result:
    """The end of a search for `find` in `scenario` without the rules `rules_off`: its verdict, and what it covered.

    If it is "found", `faults` are what goes wrong, and `found` is the scenario with their faults. `stopped` says why a
    search of unknown end came to no verdict.
    """

    scenario: Scenario
    find: tuple[str, ...]
    rules_off: tuple[str, ...]
    verdict: str
    covered: Coverage
    most_faults: int
    kinds: tuple[str, ...]
    sequences: tuple[FaultSequence, ...] = ()
    found: Scenario | None = None
    findings: tuple[Finding, ...] = ()
    stopped: str = ""
    read: bool = False

    @property
    def size(self) -> int:
        """The number of faults that were needed; a crash and the restart after it are one. -1 if nothing was found."""
        return sum(sequence.kind != GIVEN for sequence in self.sequences) if self.found is not None else -1

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults of the scenario that was found."""
        return () if self.found is None else self.found.faults

    @property
    def cluster(self) -> Simulator:
        """The cluster of the run that was found. ValueError if there is none."""
        return self.run.cluster_or_why()

    @cached_property
    def run(self) -> Run:
        """The run that was found. ValueError if there is none."""
        if self.found is None:
            raise ValueError("nothing was found, so there is no run to look at")
        return run_to_end(self.found, self.read)[0]

    @property
    def step(self) -> int:
        """The step at which the anomaly shows first; -1 if nothing was found."""
        return min((f.steps[-1] for f in self.findings if f.steps), default=-1)

    @property
    def explanation(self) -> str:
        """One paragraph that says how it came about; "" if nothing was found."""
        return "" if self.found is None else explain_finding(self.run, self.findings[0], self.rules_off, self.read)

    @cached_property
    def allowed(self) -> tuple[Finding, ...]:
        """The findings of the scenario as it is that Kafka allows; () unless the search was for no fault at all."""
        if self.most_faults or self.verdict == FOUND:
            return ()
        return allowed_in(run_to_end(self.scenario, self.read)[0], self.find)

    def __str__(self) -> str:
        names = " or ".join(self.find) if len(self.find) < 5 else "a forbidden anomaly"
        bound = f"at most {count(self.most_faults)} of the kinds {', '.join(self.kinds)}"
        if self.verdict == FOUND:
            shown = ", ".join(dict.fromkeys(f.anomaly for f in self.findings))
            head = f"found: {shown} with {count(self.size)}: {', '.join(map(repr, self.faults)) or 'none is needed'}"
        elif self.verdict == NONE:
            head = f"none: {names} never shows with {bound}, at any event on which an outcome rests"
        else:
            head = f"unknown: {self.stopped} before all of {bound} were tried for {names}"
        lines = [f"{f.anomaly}, which is allowed: {f.text}" for f in self.allowed[:LISTED]]
        if (more := len(self.allowed) - LISTED) > 0:
            lines.append(f"and {more:,} more that are allowed")
        return "\n".join([head, *lines, str(self.covered)])

    __repr__ = __str__

    def as_json(self) -> dict[str, object]:
        """Return plain data: the verdict, what was covered, and the scenario that was found."""
        names = [f.anomaly for f in self.findings]
        return {
            "verdict": self.verdict,
            "find": list(self.find),
            "shown": sorted(set(names)),
            "allowed": sorted({f.anomaly for f in self.allowed}),
            "size": self.size,
            "faults": [repr(fault) for fault in self.faults],
            "covered": str(self.covered),
            "runs": self.covered.runs,
            "stopped": self.stopped,
        }


def count(faults: int) -> str:
    """Return "1 fault", "2 faults"."""
    return f"{faults} fault{'' if faults == 1 else 's'}"
