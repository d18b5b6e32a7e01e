"""Compare kafkalab's clients with the recorded ones of Java: `python -m tests.kafka.clients.compare [NAME]`."""

from __future__ import annotations

import difflib
import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.kafka.clients.script import RECORDED, Script, scripts
from tests.kafka.clients.simulated import Simulated

EXPLAINED = Path(__file__).with_name("explained.json")
"""Differences that stay: patterns of a script's name and of a line, with the reason."""


def read_recorded() -> dict[str, Any]:
    """Return what Java's clients did, by the script's name."""
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def read_explained() -> list[dict[str, str]]:
    """Return the rows of EXPLAINED: `script`, `line`, `reason`."""
    found: list[dict[str, str]] = json.loads(EXPLAINED.read_text())
    return found


def differences(script: Script, java: dict[str, Any], lab: dict[str, Any]) -> list[str]:
    """Return one line for each outcome or request that differs."""
    found = []
    sends = [f"send {number}" for number in range(1, len(java["futures"]) + 1)]
    for where, key in ((list(map(json.dumps, script.calls)), "calls"), (sends, "futures")):
        for call, theirs, ours in zip(where, java[key], lab[key], strict=False):
            if theirs != ours:
                found.append(f"{call}: Java {json.dumps(theirs)}, kafkalab {json.dumps(ours)}")
        if len(java[key]) != len(lab[key]):
            found.append(f"{key}: Java {len(java[key])}, kafkalab {len(lab[key])}")
    changed = [line for line in difflib.ndiff(java["requests"], lab["requests"]) if line[0] in "-+"]
    names = {"-": "only Java: ", "+": "only kafkalab: "}
    return found + [names[line[0]] + line[2:] for line in changed]


def compare(script: Script, java: dict[str, Any]) -> list[str]:
    """Run the script with kafkalab's client; return the differences that are not explained."""
    lines = differences(script, java, Simulated(script).run())
    return [line for line in lines if not any(explains(row, script.name, line) for row in read_explained())]


def explains(row: dict[str, str], name: str, line: str) -> bool:
    """Return whether a row of EXPLAINED is about this line of this script."""
    return bool(re.fullmatch(row["script"], name) and re.fullmatch(row["line"], line))


def main() -> None:
    """Print the differences of the scripts whose name holds the argument."""
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    java, count, wrong = read_recorded(), 0, 0
    for script in scripts():
        if only in script.name and script.name in java:
            found = compare(script, java[script.name])
            count, wrong = count + 1, wrong + bool(found)
            if found:
                print(f"{script.name} ({script.why})\n  " + "\n  ".join(found))
    print(f"{wrong} of {count} scripts differ")


if __name__ == "__main__":
    main()
