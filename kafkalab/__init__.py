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
    "Deny": "kafkalab.core.acls",
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
    "transactions_of": "kafkalab.cli_transactions",
    "lab00": "kafkalab.sim.programs_orders",
    "lab01": "kafkalab.sim.programs_orders",
    "lab02": "kafkalab.sim.programs_coordinator",
    "lab03": "kafkalab.sim.programs",
    "lab05": "kafkalab.sim.programs_readers",
    "two_accounts": "kafkalab.sim.programs_readers",
    "lab06": "kafkalab.sim.programs_billing",
    "Sequence": "kafkalab.widgets.sequence",
    "ClientView": "kafkalab.widgets.client_view",
    "Journey": "kafkalab.widgets.journey",
    "LogTape": "kafkalab.widgets.log_tape",
    "StateChart": "kafkalab.widgets.state_chart",
    "ClusterMap": "kafkalab.widgets.cluster_map",
    "FaultPanel": "kafkalab.widgets.fault_panel",
    "Compare": "kafkalab.widgets.compare",
    "Verdict": "kafkalab.widgets.verdict",
    "Share": "kafkalab.widgets.share",
    "Predict": "kafkalab.widgets.predict",
    "check": "kafkalab.grading.check",
    "hint": "kafkalab.grading.check",
    "question": "kafkalab.grading.check",
    "counterexample": "kafkalab.grading.check",
    "progress": "kafkalab.grading.course",
    "Challenge": "kafkalab.grading.challenge",
    "open_challenge": "kafkalab.grading.challenge",
    "answer_challenge": "kafkalab.grading.challenge",
}
__all__ = list(_PLACES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'kafkalab' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
