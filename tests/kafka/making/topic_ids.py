"""Family topic_ids: scripts of other families whose TxnOffsetCommit is of version 6, with topic ids (KIP-1319)."""

from __future__ import annotations

from kafkalab.protocol.messages.txn_offset_commit import BY_TOPIC_ID
from tests.kafka.making.steps import Script
from tests.kafka.script import scripts_of

LIKE = ("acl", "groups", "offsets", "three_nodes", "timeout")
WITH_MEMBERS = 3
"""From this version on TxnOffsetCommit says which member of the group commits."""


def family() -> list[Script]:
    """Return each script of those families that sends TxnOffsetCommit 5, or 3 or 4 to a group with members."""
    return [by_id(script) for family in LIKE for script in scripts_of(family) if commits(script, family)]


def commits(script: Script, family: str) -> bool:
    """Return whether the script sends TxnOffsetCommit in a version that 6 replaces."""
    least = WITH_MEMBERS if family == "groups" else BY_TOPIC_ID - 1
    return any(step.get("ask") == "TxnOffsetCommit" and step["version"] >= least for step in script["steps"])


def by_id(script: Script) -> Script:
    """Return the script with topic ids."""
    newer = {"version": BY_TOPIC_ID}
    steps = [{**step, **(newer if step.get("ask") == "TxnOffsetCommit" else {})} for step in script["steps"]]
    return {**script, "name": f"topic_ids.{script['name']}", "kafka": ["4.4"], "steps": steps}


FAMILIES = {"topic_ids": family()}
