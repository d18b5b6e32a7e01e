"""`kafkalab run FILE.klab`: what became of a saved scenario."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from kafkalab.cli.saved_scenarios import add_scenario_options, load_scenario, simulate
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.model.findings import report_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """FILE, the moment to look at, and --json."""
    add_scenario_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def act(options: argparse.Namespace, root: Path) -> int:
    """Print the checks' verdict, the outcome, the digest of the trace and the faults that changed nothing."""
    cluster = simulate(load_scenario(options.file), options.at_ms, options.after_ms)
    found = summary(cluster, whole=options.at_ms is None)
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    for name, value in found.items():
        for line in _lines(value):
            print(f"{name:<14}{line}".rstrip())
            name = ""
    return 0


def summary(cluster: Cluster, whole: bool) -> dict[str, Any]:
    """Return the run in a few fields: the checks' verdict first; what programs returned is text, as it may be anything.
    """
    outcome, report = cluster.outcome(), report_of(cluster, whole)
    found = [(result["name"], finding) for result in report["results"] for finding in result["findings"]]
    return {
        "title": cluster.scenario.title,
        "verdict": report["verdict"],
        "checks": report["sentence"],
        "findings": [f"{f['policy']} {name}, step {f['step']}: {f['text']}" for name, f in found],
        "outcome": outcome.verdict,
        "transactions": dict(outcome.txn_states),
        "committed": {p: list(values) for p, values in outcome.committed.items()},
        "offsets": dict(outcome.offsets),
        "programs": {
            node: f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)
            for node, value in cluster.results.items()
        },
        "time_ms": cluster.now,
        "steps": cluster.trace.steps,
        "digest": cluster.trace.digest(),
        "unused_faults": [repr(fault) for fault in cluster.unused_faults],
    }


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{k}: {', '.join(v) if isinstance(v, list) else v}" for k, v in value.items()] or ["none"]
    if isinstance(value, list):
        return value or ["none"]
    return [str(value)]
