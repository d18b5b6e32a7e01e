"""A historical bug of Kafka as a stored run: with the rule that cured it, and without."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kafkalab.checks.all import check_all
from kafkalab.history.export import history_of
from kafkalab.protocol.rules import Rule
from kafkalab.reference.rule_matrix import ran_with_all
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

FOLDER = Path("data") / "bugs"


def anchor_of(heading: str) -> str:
    """Return the anchor of a page's heading, as GitHub makes it: `anchor_of("A bug: why?") == "a-bug-why"`."""
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Sign:
    """The sign to look for at the end of a run: `what` in words, `of(cluster)` as one line of text."""

    what: str
    of: Callable[[Cluster], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One bug. `sign` reads `good` at the end of its scenario, and `bad` with `rule` off.

    With the rule on no check finds anything forbidden; with it off the checks find `anomaly`, if it is named: many
    bugs broke only availability. `profile` is that of the bad run where a whole protocol is the cure.
    """

    number: str
    title: str
    broke: str
    cure: str
    rule: Rule
    sign: Sign
    good: str
    bad: str
    anomaly: str = ""
    profile: str = ""

    @property
    def heading(self) -> str:
        """Its heading in docs/bugs.md."""
        return f"{self.number}: {self.title}"

    @property
    def link(self) -> str:
        """A link to it for the other pages of docs/."""
        return f"[{self.number}](bugs.md#{anchor_of(self.heading)})"

    @property
    def file(self) -> str:
        """The scenario's file in data/bugs/: `kafka_5494.klab`."""
        return self.number.lower().replace("-", "_").replace(" ", "_") + ".klab"


@dataclass(frozen=True, slots=True)
class ViewState:
    """The result of one run: the sign, and the forbidden anomalies."""

    sign: str
    anomalies: tuple[str, ...]


def scenario_of(bug: Bug, root: Path) -> Scenario:
    """The good run, under the project's folder `root`. ValueError if its profile lacks the bug's rule."""
    scenario = Scenario.load(root / FOLDER / bug.file)
    if not scenario.rules.on(bug.rule):
        raise ValueError(f"{bug.file} runs without the rule {bug.rule.name!r}: with it on it must be clean")
    return scenario


def without_the_cure(bug: Bug, scenario: Scenario) -> Scenario:
    """The bad run: the same scenario without the bug's rule, or under the profile of before."""
    if bug.profile:
        return replace(scenario, profile=bug.profile)
    return replace(scenario, rules_off=(*scenario.rules_off, bug.rule.name))


def show(bug: Bug, scenario: Scenario) -> ViewState:
    """Run the scenario and look. ValueError if one of its faults changed nothing."""
    cluster = ran_with_all(scenario)
    return ViewState(bug.sign.of(cluster), check_all(history_of(cluster)).violated)


# signs


def answers(node: str, api: str, last: int = 1) -> Sign:
    """The last answers to this API that a program by hand waited for: errors, and fields that it shows."""

    def of(cluster: Cluster) -> str:
        return ", ".join([" ".join(rest) for name, *rest in cluster.results[node] if name == api][-last:])

    return Sign(f"last answer to {api} of {node}" if last == 1 else f"last {last} answers to {api} of {node}", of)


def stable(partition: str) -> Sign:
    """Return how far readers with read_committed get."""

    def of(cluster: Cluster) -> str:
        log = cluster.log_of(partition)
        return f"{log.last_stable_offset} of {log.high_watermark}"

    return Sign(f"last stable offset of {partition}", of)


def committed_values(*partitions: str) -> Sign:
    """The values that readers with read_committed get."""

    def of(cluster: Cluster) -> str:
        committed = cluster.outcome().committed
        return "; ".join(f"{p}: {' '.join(committed[p]) or 'nothing'}" for p in partitions)

    return Sign(f"read_committed sees in {' and '.join(partitions)}", of)


def committed_offset(partition: str) -> Sign:
    """The offset at which the only group that has committed one of the partition reads on."""
    return Sign(f"committed offset of {partition}", lambda cluster: str(cluster.outcome().offsets[partition]))


def state(transactional_id: str) -> Sign:
    """The state in the newest record of the transaction log."""
    return Sign(f"state of {transactional_id}", lambda cluster: cluster.outcome().txn_states[transactional_id])


def result(node: str) -> Sign:
    """Return what the program returned, or the exception with which it ended."""

    def of(cluster: Cluster) -> str:
        found = cluster.results[node]
        return type(found).__name__ if isinstance(found, Exception) else str(found)

    return Sign(f"result of {node}", of)


def both(*signs: Sign) -> Sign:
    """Several signs as one."""
    return Sign(" and ".join(s.what for s in signs), lambda cluster: "; ".join(s.of(cluster) for s in signs))


def markers(partition: str) -> Sign:
    """Return how many markers the leader's log still holds."""

    def of(cluster: Cluster) -> str:
        return str(sum(b.control is not None and bool(b.records) for b in cluster.log_of(partition).batches))

    return Sign(f"markers in {partition}", of)


def replicas(partition: str) -> Sign:
    """The values in every broker's log."""

    def of(cluster: Cluster) -> str:
        logs = {name: broker.state.logs[partition] for name, broker in cluster.brokers.items()}
        return "; ".join(f"{n}: {' '.join(r.value for b in log.batches for r in b.records)}" for n, log in logs.items())

    return Sign(f"replicas of {partition}", of)
