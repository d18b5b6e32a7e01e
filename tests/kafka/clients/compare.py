"""Compare kafkalab's clients with the recorded answers of Java's: `python -m tests.kafka.clients.compare [NAME]`."""

from __future__ import annotations

import difflib
import json
import sys
from typing import Any

from tests.kafka.clients.script import RECORDED, Script, scripts
from tests.kafka.clients.simulated import Simulated


def recorded() -> dict[str, Any]:
    """Return what Java's clients did, by the script's name."""
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def differences(script: Script, java: dict[str, Any], lab: dict[str, Any]) -> list[str]:
    """Return one line for each outcome or request that differs."""
    found = []
    for call, theirs, ours in zip(script.calls, java["calls"], lab["calls"], strict=False):
        if theirs != ours:
            found.append(f"{call}: Java {json.dumps(theirs)}, kafkalab {json.dumps(ours)}")
    for number, (theirs, ours) in enumerate(zip(java["futures"], lab["futures"], strict=False), 1):
        if theirs != ours:
            found.append(f"send {number}: Java {json.dumps(theirs)}, kafkalab {json.dumps(ours)}")
    lines = difflib.ndiff(java["requests"], lab["requests"])
    changed = [line for line in lines if line[0] in "-+"]
    names = {"-": "only Java: ", "+": "only kafkalab: "}
    return found + [names[line[0]] + line[2:] for line in changed]


def main() -> None:
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    java, count = recorded(), 0
    for script in scripts():
        if only in script.name and script.name in java:
            found = differences(script, java[script.name], Simulated(script).run())
            count += bool(found)
            if found:
                print(f"{script.name} ({script.why})\n  " + "\n  ".join(found))
    print(f"{count} of {len(java)} scripts differ")


if __name__ == "__main__":
    main()
