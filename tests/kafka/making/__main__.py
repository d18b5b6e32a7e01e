"""Write the scripts that are made from tables: `python -m tests.kafka.making`."""

from __future__ import annotations

import json
from importlib import import_module

from tests.kafka.making.steps import Script
from tests.kafka.script import HERE

MODULES = (
    *("coordinator", "versions", "reading", "groups", "logs", "three_nodes", "old", "acl", "records", "edges"),
    *("topic_ids", "tools", "consumer_groups"),
)


def text_of(scripts: list[Script]) -> str:
    """Return a file of scripts: one step a line."""
    rows = []
    for s in scripts:
        head = json.dumps({k: v for k, v in s.items() if k != "steps"})[:-1]
        rows.append(head + ', "steps": [\n  ' + ",\n  ".join(json.dumps(step) for step in s["steps"]) + "\n ]}")
    return "[\n" + ",\n".join(rows) + "\n]\n"


def make_families() -> dict[str, str]:
    """Return the text of each family that is made."""
    found = {}
    for module in MODULES:
        for name, scripts in import_module(f"tests.kafka.making.{module}").FAMILIES.items():
            found[name] = text_of(scripts)
    return found


if __name__ == "__main__":
    for name, text in make_families().items():
        (HERE / "scripts" / f"{name}.json").write_text(text)
