"""What must hold of everything that is fed in: an answer or a clear error, soon, and nothing lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafkalab.grading.challenge import open_challenge, unpacked
from kafkalab.limits import MESSAGE, QUOTE, RUN
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.codec import CHALLENGE, SCENARIO, code_of, scenario_of_code
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario


def clear(error: Exception, given: str) -> None:
    """Fail unless the message is short, one line, and quotes no more than QUOTE characters in a row of what came in."""
    text = str(error)
    if isinstance(error, RunawayError | StuckError):
        text = text.partition("\n")[0]  # the last events follow
    assert 0 < len(text) <= MESSAGE, f"{len(text)} characters: {text[:200]}"
    assert "\n" not in text, text
    for start in range(0, len(text) - QUOTE - 1, 8):
        part = text[start : start + QUOTE + 8]
        assert len(part) < QUOTE + 8 or part not in given, f"quotes more than {QUOTE}: {part}"


def file_is_met(content: bytes, folder: Path) -> str:
    """Load, save, and run what the file holds; return what became of it."""
    path = folder / "fuzzed.klab"
    path.write_bytes(content)
    try:
        scenario = Scenario.load(path)
    except ValueError as error:
        clear(error, content.decode(errors="replace"))
        return "refused"
    scenario.save(path)
    assert Scenario.load(path) == scenario, "something was lost"
    return run_is_met(scenario)


def run_is_met(scenario: Scenario) -> str:
    """Run the scenario within the limit of opened files; return how it ended."""
    try:
        cluster = Cluster(scenario)
        cluster.run(RUN.most)
        cluster.outcome()
    except (ValueError, RunawayError, StuckError) as error:
        clear(error, "")
        return type(error).__name__
    return "ran"


def code_is_met(kind: str, code: str) -> str:
    """Read a code of any kind; return what became of it."""
    try:
        if kind == SCENARIO:
            scenario = scenario_of_code(code)
            assert scenario_of_code(code_of(scenario)) == scenario, "something was lost"
            return run_is_met(scenario)
        (open_challenge if kind == CHALLENGE else unpacked)(code)
    except ValueError as error:
        clear(error, code)
        return "refused"
    return "read"


Message = dict[str, Any]
