"""kafkalab: step through Kafka's exactly-once semantics, break them, rewind, and see which guarantee breaks.

The names that a notebook needs; each is loaded when it is first used. The labs' scenarios (`lab03`, `two_accounts`, …)
are found in the folders of `kafkalab/course/`.
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
PROVIDERS = {
    "programs": ("kafkalab.programs.all",),
    "scenarios": ("kafkalab.programs.all", "kafkalab.course.labs"),
    "exercises": ("kafkalab.course.labs",),
}
"""For each `Registry`, the modules that fill it when they are imported."""
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    if name == "__all__":
        return [*_PLACES, *_lab_names()]
    if not name.startswith("_") and name in (found := _lab_names()):
        return found[name]
    raise AttributeError(f"module 'kafkalab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES, *_lab_names()])


def _lab_names() -> dict[str, Any]:
    found: dict[str, Any] = import_module("kafkalab.course.labs").names()
    return found
