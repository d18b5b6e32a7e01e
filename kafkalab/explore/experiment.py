"""One run of a search: data in, data out, so that another process can make it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import Finding
from kafkalab.explore.anomalies import OTHER, findings_of
from kafkalab.explore.answers import other_answers
from kafkalab.explore.candidates import late_arrivals, sequences_after
from kafkalab.explore.fault_sequence import FaultSequence, faults_of
from kafkalab.explore.lineage import Endings, absorbed_after, endings_of, future_of
from kafkalab.faults.link import Heal
from kafkalab.faults.node import Restart, Resume
from kafkalab.limits import truncate
from kafkalab.run.again import go_on, run_as_far
from kafkalab.run.run import Run
from kafkalab.sim.kernel.kernel import no_collections
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario

LIMIT = 8_000
"""The most entries of the schedule in one run."""
LONG = 4 * LIMIT
"""The most entries with which a run goes on in which only something that may still come is missing."""
SHOWN_BY_TIME = ("decision without marker", "hanging transaction")
"""Anomalies that something is missing: it may still come."""
ENDED, WAITS, RUNAWAY, RAISED = "ended", "waits", "runaway", "raised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run to be made: what to look for, in a scenario with these fault sequences.

    `restored` are the rules that must prevent the anomaly where they are on, and `clean`, or else `find`, what must not
    show then. `kinds` are those of the faults that may follow, none where no further one is wanted; `unsupported` asks
    also for those on which no outcome rests. `usual` is what each node does without any fault, as far as it is known:
    what strikes where a run does that again comes late. With `read` every topic is read to its end, as in a challenge.
    """

    scenario: Scenario
    find: tuple[str, ...]
    sequences: tuple[FaultSequence, ...] = ()
    restored: tuple[str, ...] = ()
    clean: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    unsupported: bool = False
    usual: Endings = field(default_factory=dict)
    read: bool = False

    @property
    def struck(self) -> Scenario:
        """Return the scenario with the faults of the sequences."""
        return self.scenario.with_faults(*faults_of(self.sequences))

    @property
    def with_rules(self) -> Scenario:
        """The same with the `restored` rules on."""
        struck = self.struck
        return replace(struck, rules_off=tuple(name for name in struck.rules_off if name not in self.restored))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The results of a run. `findings` are the anomalies; with `prevented` False they show with the rules on, too.

    `future` names the run, up to its times; `follow` are the faults that may come next, `late` those that the last
    one could be instead; `left_out` counts what no outcome rests on. `in_vain`: one of the faults changed nothing.
    `usual` is what each node did, of a run without any fault.
    """

    end: str
    findings: tuple[Finding, ...] = ()
    prevented: bool = True
    future: str = ""
    follow: tuple[FaultSequence, ...] = ()
    late: tuple[FaultSequence, ...] = ()
    left_out: int = 0
    in_vain: bool = False
    usual: Endings = field(default_factory=dict)
    runs: int = field(default=1)


def run_to_end(scenario: Scenario, read: bool = False) -> tuple[Run, str]:
    """Run the scenario as far as it goes; return the run, and how it ended.

    What a program raises that is no error of Kafka ends the run, too.
    """
    run, error = run_as_far(scenario, LIMIT, read)
    if isinstance(error, StuckError):
        return run, WAITS
    if isinstance(error, RunawayError):
        return run, RUNAWAY
    if error is not None:
        return replace(run, raised=f"{type(error).__name__}: {truncate(error)}"), RAISED
    return run, ENDED


@no_collections()
def attempt(job: Job) -> Trial:
    """Make the run, apply the checks, and say what could go wrong next."""
    run, end = run_to_end(job.struck, job.read)
    try:
        return _judge(job, run, end)
    finally:
        run.discard()


def _judge(job: Job, run: Run, end: str) -> Trial:
    if job.sequences and any(fault in run.unused_faults for fault in job.sequences[-1].faults[:1]):
        return Trial(end=end, in_vain=True)
    run, findings = shown_in(run, end, job.find)
    future = future_of(run.trace)
    if end == RAISED and not findings:
        return Trial(end=f"{RAISED} {run.raised}", future=future)
    runs = 1
    if job.restored and (findings or OTHER in job.find):
        runs, (other, its_end) = 2, run_to_end(job.with_rules, job.read)
        clean = job.clean or (job.find if findings else tuple(BY_NAME))
        findings = findings or other_answers(run, other)
        prevented = not findings or not shown_in(other, its_end, clean)[1]
        other.discard()
        if findings:
            return Trial(end=end, findings=findings, prevented=prevented, future=future, runs=runs)
    elif findings:
        return Trial(end=end, findings=findings, future=future)
    late = _late(run, job)
    if not job.kinds:
        return Trial(end=end, future=future, late=late, runs=runs)
    after = job.sequences[-1].step if job.sequences else run.start
    usual = {} if job.sequences else endings_of(run.trace)
    absorbed = absorbed_after(run.trace, job.usual) if job.usual else run.trace.steps
    follow, left_out = sequences_after(run, after, job.kinds, job.unsupported, absorbed)
    return Trial(end=end, future=future, follow=tuple(follow), late=late, left_out=left_out, usual=usual, runs=runs)


def shown_in(run: Run, end: str, names: tuple[str, ...]) -> tuple[Run, tuple[Finding, ...]]:
    """Return a run that came to this end, and its findings of these names.

    If only something that may still come is missing in a run that was stopped, the run goes on first.
    """
    findings = findings_of(run, _of_this_end(run, end, names))
    if end == RUNAWAY and findings and all(finding.anomaly in SHOWN_BY_TIME for finding in findings):
        run = go_on(run, LONG)
        findings = findings_of(run, _of_this_end(run, end, names))
    return run, findings


def _of_this_end(run: Run, end: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out what only time shows if the run was stopped before what undoes its faults."""
    if end == RUNAWAY and any(isinstance(fault, Heal | Restart | Resume) for fault in run.unused_faults):
        return tuple(name for name in names if name not in SHOWN_BY_TIME)
    return names


def _late(run: Run, job: Job) -> tuple[FaultSequence, ...]:
    if not job.sequences or job.sequences[-1].kind != "drop":
        return ()
    return tuple(late_arrivals(run, job.sequences[-1]))
