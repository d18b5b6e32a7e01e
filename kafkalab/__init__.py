"""kafkalab: step through Kafka's exactly-once semantics, break them, rewind, and see which guarantee breaks.

The names that a notebook needs; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    "Scenario": "kafkalab.sim.scenario",
    "Program": "kafkalab.sim.scenario",
    "program": "kafkalab.sim.scenario",
    "Cluster": "kafkalab.sim.cluster",
    "Drop": "kafkalab.sim.faults",
    "Duplicate": "kafkalab.sim.faults",
    "Delay": "kafkalab.sim.faults",
    "Crash": "kafkalab.sim.faults",
    "Restart": "kafkalab.sim.faults",
    "Pause": "kafkalab.sim.faults",
    "Resume": "kafkalab.sim.faults",
    "Deny": "kafkalab.protocol.acls",
    "Hold": "kafkalab.sim.faults",
    "Reorder": "kafkalab.sim.faults",
    "Release": "kafkalab.sim.faults",
    "Cut": "kafkalab.sim.faults",
    "Heal": "kafkalab.sim.faults",
    "AdvanceClock": "kafkalab.sim.faults",
    "ElectLeader": "kafkalab.sim.faults",
    "Compact": "kafkalab.sim.faults",
    "DeleteSegment": "kafkalab.sim.faults",
    "Roll": "kafkalab.sim.faults",
    "transactions_of": "kafkalab.cli.transactions",
    "lab00": "kafkalab.programs.orders",
    "lab01": "kafkalab.programs.orders",
    "lab02": "kafkalab.programs.first_transaction",
    "lab03": "kafkalab.programs.transfers",
    "lab05": "kafkalab.programs.readers",
    "two_accounts": "kafkalab.programs.readers",
    "lab06": "kafkalab.programs.billing",
    "Sequence": "kafkalab.widgets.views.sequence",
    "ClientView": "kafkalab.widgets.views.client_view",
    "Journey": "kafkalab.widgets.model.journey",
    "LogTape": "kafkalab.widgets.views.log_tape",
    "StateChart": "kafkalab.widgets.views.state_chart",
    "ClusterMap": "kafkalab.widgets.views.cluster_map",
    "FaultPanel": "kafkalab.widgets.views.fault_panel",
    "Compare": "kafkalab.widgets.views.compare",
    "Verdict": "kafkalab.widgets.views.verdict",
    "Share": "kafkalab.widgets.views.share",
    "Predict": "kafkalab.widgets.views.predict",
    "check": "kafkalab.grading.check",
    "hint": "kafkalab.grading.check",
    "question": "kafkalab.grading.check",
    "counterexample": "kafkalab.grading.check",
    "progress": "kafkalab.course.outline",
    "Challenge": "kafkalab.grading.challenge",
    "open_challenge": "kafkalab.grading.challenge",
    "answer_challenge": "kafkalab.grading.challenge",
}
__all__ = list(_PLACES)
PROVIDERS = {
    "programs": ("kafkalab.programs.all",),
}
"""For each kind of `Registry` (sim/registry.py), the modules that fill it when they are imported."""
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'kafkalab' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
