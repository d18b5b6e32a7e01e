"""kafkalab: step through Kafka's exactly-once semantics, break them, rewind, and see which guarantee breaks.

Start reading at ARCHITECTURE.md. Here are the names that a notebook needs; each is loaded when it is first used. The
labs' scenarios (`lab03`, `two_accounts`, …) are found in the folders of `kafkalab/course/`. `__init__.pyi` states the
same names for type checkers, which cannot follow `__getattr__`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    name: f"kafkalab.{module}"
    for module, names in {
        "sim.scenario": "Scenario Program program",
        "sim.cluster": "Cluster",
        "protocol.acls": "Deny",
        "protocol.source_header": "made_from",
        "programs.database": "database",
        "cli.transactions": "transactions_of",
        "widgets.model.journey": "Journey",
        "widgets.views.sequence": "Sequence",
        "widgets.views.client_view": "ClientView",
        "widgets.views.log_tape": "LogTape",
        "widgets.views.state_chart": "StateChart",
        "widgets.views.cluster_map": "ClusterMap",
        "widgets.views.fault_panel": "FaultPanel",
        "widgets.views.compare": "Compare",
        "widgets.views.verdict": "Verdict",
        "widgets.views.alternatives": "Alternatives",
        "widgets.views.share": "Share",
        "widgets.views.cost_meter": "CostMeter",
        "history.costs": "costs_of",
        "widgets.views.predict": "Predict",
        "grading.check": "check hint question counterexample",
        "cli.notebook_search": "explore",
        "explore.shrink": "shrink",
        "explore.what_if": "what_if",
        "grading.challenge": "Challenge open_challenge answer_challenge",
        "diagnose.room": "IncidentRoom",
        "reference.exhibits": "museum rule_gallery error_gallery",
        "course.outline": "progress",
        "course.inventory.sitting": "open_inventory save_inventory",
        "course.inventory.class_report": "compare_inventory",
        "course.glossary": "glossary",
        "course.last_step_summary": "at_the_end",
    }.items()
    for name in names.split()
}
_LIVE = {
    "LiveCluster": "kafkalab.live.cluster",
    "Tap": "kafkalab.live.tap",
    "load_tap": "kafkalab.wire.tap.session",
}
"""The names whose modules open sockets; `from kafkalab import *` leaves them out."""
PROVIDERS = {
    "programs": ("kafkalab.programs.all",),
    "scenarios": ("kafkalab.programs.all", "kafkalab.course.labs"),
    "exercises": ("kafkalab.course.labs",),
}
"""For each kind of `Registry` (sim/registry.py), the modules that fill it when they are imported."""
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    if name in _LIVE:
        return getattr(import_module(_LIVE[name]), name)
    if name == "__all__":
        return [*_PLACES, *_faults(), *_lab_names()]
    if not name.startswith("_"):
        for collect in (_faults, _lab_names):
            if name in (found := collect()):
                return found[name]
    raise AttributeError(f"module 'kafkalab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES, *_LIVE, *_faults(), *_lab_names()])


def _faults() -> dict[str, object]:
    found: dict[str, Any] = import_module("kafkalab.faults.registry").TYPES
    return found


def _lab_names() -> dict[str, object]:
    found: dict[str, Any] = import_module("kafkalab.course.labs").names()
    return found
