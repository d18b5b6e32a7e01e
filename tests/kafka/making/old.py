"""Family old: scripts of other families in the versions of Kafka 1.0.0, without what it does not have."""

from __future__ import annotations

from typing import Any

from tests.kafka.making import coordinator, groups, logs, reading
from tests.kafka.making.steps import Script, Step, fetch, idempotent, list_offsets, script, sleep, write_plain

NEWEST = {
    "InitProducerId": 0,
    "AddPartitionsToTxn": 0,
    "AddOffsetsToTxn": 0,
    "EndTxn": 0,
    "TxnOffsetCommit": 0,
    "Produce": 5,
    "Fetch": 6,
    "ListOffsets": 2,
    "OffsetCommit": 3,
    "OffsetFetch": 3,
    "FindCoordinator": 1,
    "JoinGroup": 2,
    "SyncGroup": 1,
    "Heartbeat": 1,
    "LeaveGroup": 1,
    "DescribeGroups": 1,
    "DeleteRecords": 0,
}
"""The APIs that Kafka 1.0.0 knows, and their newest versions there."""
SHOWING = ("DescribeTransactions", "DescribeProducers")
"""The steps that only show something, and are left out."""
NEW_FIELDS = {
    "InitProducerId": ("producer_id", "producer_epoch"),
    "TxnOffsetCommit": ("generation_id", "member_id", "group_instance_id", "leader_epochs"),
    "OffsetCommit": ("group_instance_id", "leader_epochs"),
    "OffsetFetch": ("require_stable",),
    "SyncGroup": ("protocol_type", "protocol_name", "group_instance_id"),
    "Heartbeat": ("group_instance_id",),
    "JoinGroup": ("group_instance_id",),
}
SETTLED_MS = 1_500
NO_TIME = -3
"""The only special timestamp that Kafka 1.0.0 is asked for and does not know."""


def translate_back(script: Script) -> Script | None:
    """Return the script as Kafka 1.0.0 can be asked it; None if it is about what came later."""
    steps: list[Step] = []
    for step in script["steps"]:
        if "settle" in step:
            steps.append(sleep(SETTLED_MS))
        elif "ask" not in step:
            return None
        elif step["ask"] in NEWEST:
            if not _old(step):
                return None
            steps.append({**step, "version": NEWEST[step["ask"]]})
        elif step["ask"] not in SHOWING:
            return None
    more = {k: v for k, v in script.items() if k not in ("name", "steps", "levels")}
    return {"name": f"old.{script['name']}", **more, "kafka": ["1.0"], "steps": steps}


def _old(step: Step) -> bool:
    given: dict[str, Any] = step["with"]
    new = [f for f in NEW_FIELDS.get(step["ask"], ()) if given.get(f) not in (None, False)]
    later = {"Produce": 11, "EndTxn": 4, "AddPartitionsToTxn": 3, "TxnOffsetCommit": 3}
    special = step["ask"] == "ListOffsets" and given["timestamp"] < NO_TIME
    return not new and not special and step["version"] <= later.get(step["ask"], 99)


def family() -> list[Script]:
    """Return every script that can be asked, of the families about single requests."""
    tables = [reading.FAMILIES["reading"], reading.FAMILIES["sequences"], reading.FAMILIES["requests"]]
    tables += [coordinator.FAMILIES["coordinator_v1"], groups.FAMILIES["offsets"], logs.FAMILIES["logs"]]
    return [old for table in tables for s in table if (old := translate_back(s)) is not None]


def own() -> list[Script]:
    """Return what Kafka 1.0 answers with errors that later ones no longer use there."""
    begun = [idempotent(), *(write_plain("p", "t-0", n, "a") for n in range(7))]
    rows = {
        "seventh_last_batch": [write_plain("p", "t-0", n, "a") for n in (0, 1, 2, 6)],
        "two_batches_as_one": [write_plain("p", "t-0", n, "ab") for n in (0, 1, 5, 6)],
        "negative_sequence": [write_plain("p", "t-0", -1, "a"), write_plain("p", "t-0", 7, "b")],
        "control_batch": [write_plain("p", "t-0", 7, "a", control="COMMIT"), write_plain("p", "t-0", 7, "b")],
    }
    rows["largest_timestamp"] = [list_offsets(NO_TIME)]
    found = [translate_back(script(f"own.{name}", *begun, *steps, fetch())) for name, steps in rows.items()]
    return [old for old in found if old is not None]


FAMILIES = {"old": [*family(), *own()]}
