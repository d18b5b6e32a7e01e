"""What the last run of `mutate` found, in mutations.json."""

from __future__ import annotations

import json

from tests.kafka.script import HERE

KEPT = HERE / "mutations.json"


def read_mutations() -> list[dict[str, str]]:
    """Return each mutation, with the script that notices it ("by"), or the reason why none does ("why")."""
    rows: list[dict[str, str]] = json.loads(KEPT.read_text("utf-8"))
    return rows
