"""For each API: what is compared of kafkalab's response, in the form of `kafka_answers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]
Back = Callable[[str], str]
"""The script's name of a partition: "offsets of g" for the internal partition of a group."""


def _errors_of(errors: dict[str, str], back: Back) -> Fields:
    return {"parts": [{"partition": back(p), "error": e} for p, e in sorted(errors.items())]}


def added_partitions(r: Fields, back: Back) -> Fields:
    if r["error"] != "NONE":
        return {"error": r["error"], "parts": []}
    if not r["further"]:
        return _errors_of(r["errors"], back)
    rows = [row for errors in (r["errors"], *r["further"]) for row in _errors_of(errors, back)["parts"]]
    return {"parts": sorted(rows, key=lambda p: (p["partition"], p["error"]))}


def read_produce(r: Fields, back: Back) -> Fields:
    return {"parts": [{"partition": back(p), **row} for p, row in sorted(r["partitions"].items())]}


def fetched_offsets(r: Fields, back: Back) -> Fields:
    parts = [
        {"partition": p, "error": e, "offset": r["offsets"][p], "metadata": r["metadata"].get(p, "")}
        for p, e in sorted(r["errors"].items())
    ]
    return {"error": r["error"], "parts": parts}


def read_fetch(r: Fields, back: Back) -> Fields:
    def partition(name: str, row: Fields) -> Fields:
        aborted = row["aborted_transactions"]
        return {
            "partition": name,
            "error": row["error"],
            "high_watermark": row["high_watermark"],
            "last_stable_offset": row["last_stable_offset"],
            "log_start_offset": row["log_start_offset"],
            "aborted": None
            if aborted is None
            else [{"producer_id": a["producer_id"], "first_offset": a["first_offset"]} for a in aborted],
            **({"diverging": row["diverging"]} if row.get("diverging") else {}),
            "batches": [_batch(b) for b in row["batches"]],
        }

    return {"parts": [partition(back(name), row) for name, row in sorted(r["partitions"].items())]}


def _batch(b: Fields) -> Fields:
    delta = b["last_offset_delta"] if b["last_offset_delta"] >= 0 else len(b["records"]) - 1
    same = ("timestamp_ms", "producer_id", "producer_epoch", "base_sequence", "transactional", "control")
    return {
        "base_offset": b["base_offset"],
        "last_offset": b["base_offset"] + delta,
        **{name: b[name] for name in (*same, "coordinator_epoch")},
        "values": [] if b["control"] else [x["value"] for x in b["records"]],
    }


def listed_offsets(r: Fields, back: Back) -> Fields:
    parts = [
        {"partition": p, "error": e, "offset": r["offsets"][p], "timestamp_ms": r["timestamps"].get(p, -1)}
        for p, e in sorted(r["errors"].items())
    ]
    return {"parts": parts}


def deleted_records(r: Fields, back: Back) -> Fields:
    parts = [
        {"partition": p, "error": e, "low_watermark": r["low_watermarks"][p]} for p, e in sorted(r["errors"].items())
    ]
    return {"parts": parts}


def described_transactions(r: Fields, back: Back) -> Fields:
    return {"parts": [{**t, "partitions": sorted(map(back, t["partitions"]))} for t in r["transactions"]]}


def listed_transactions(r: Fields, back: Back) -> Fields:
    return {
        "error": r["error"],
        "unknown_state_filters": sorted(r["unknown_state_filters"]),
        "parts": sorted(r["transactions"], key=lambda t: str(t["transactional_id"])),
    }


def described_producers(r: Fields, back: Back) -> Fields:
    parts = [
        {"partition": back(p), "error": row["error"], "active": row["active_producers"]}
        for p, row in sorted(r["partitions"].items())
    ]
    return {"parts": parts}


def written_markers(r: Fields, back: Back) -> Fields:
    parts = [
        {"producer_id": int(pid), "partition": back(p), "error": e}
        for pid, errors in r["markers"].items()
        for p, e in errors.items()
    ]
    return {"parts": sorted(parts, key=lambda p: (p["producer_id"], p["partition"]))}


def read_join(r: Fields, back: Back) -> Fields:
    row = {k: r[k] for k in ("error", "generation_id", "protocol_name", "member_id", "leader")}
    skips = {"skip_assignment": True} if r.get("skip_assignment") else {}
    return {**row, "members": [{"member_id": m["member_id"]} for m in r["members"]], **skips}


def read_leave(r: Fields, back: Back) -> Fields:
    rows = [{"member_id": m, "error": e} for m, e in r["errors"].items()]
    return {"error": r["error"], "parts": sorted(rows, key=lambda p: (p["error"], p["member_id"]))}


def consumer_heartbeat(r: Fields, back: Back) -> Fields:
    same = {key: r[key] for key in ("error", "member_id", "member_epoch")}
    assignment = None if r["assignment"] is None else sorted(r["assignment"])
    return {**same, "heartbeat_interval": r["heartbeat_interval_ms"], "assignment": assignment}


def described_consumers(r: Fields, back: Back) -> Fields:
    def member(row: Fields) -> Fields:
        return {
            **{key: row[key] for key in ("member_id", "rack_id", "member_epoch", "member_type")},
            "instance_id": row["instance_id"] or "",
            "topics": sorted(row["subscribed_topic_names"]),
            "assignment": sorted(row["assignment"]),
            "target_assignment": sorted(row["target_assignment"]),
        }

    of_group = ("error", "group_state", "group_epoch", "assignment_epoch", "assignor_name")
    rows = [
        {"group": g["group_id"], **{key: g[key] for key in of_group}, "members": [member(row) for row in g["members"]]}
        for g in r["groups"]
    ]
    return {"parts": rows}


def described_groups(r: Fields, back: Back) -> Fields:
    return {
        "parts": [
            {
                "group": name,
                **{k: g[k] for k in ("error", "state", "protocol_type", "protocol")},
                "members": [{"member_id": m["member_id"]} for m in g["members"]],
            }
            for name, g in r["groups"].items()
        ]
    }


def described_configs(r: Fields, back: Back) -> Fields:
    def entry(row: Fields) -> Fields:
        synonyms = [[s["name"], s["value"], s["source"]] for s in row["synonyms"]]
        return {**{name: row[name] for name in CONFIG_FIELDS}, "synonyms": synonyms}

    same = ("resource_type", "resource_name", "error")
    rows = [{**{k: row[k] for k in same}, "configs": list(map(entry, row["configs"]))} for row in r["results"]]
    return {"parts": rows}


CONFIG_FIELDS = ("name", "value", "read_only", "config_source", "is_sensitive", "config_type")


def listed_groups(r: Fields, back: Back) -> Fields:
    same = ("protocol_type", "group_state", "group_type")
    return {"error": r["error"], "parts": [{"group": g["group_id"], **{k: g[k] for k in same}} for g in r["groups"]]}


def described_topic_partitions(r: Fields, back: Back) -> Fields:
    def partition(row: Fields) -> Fields:
        same = {name: row[name] for name in ("error", "partition_index")}
        return {**same, "replicas": len(row["replica_nodes"]), "isr": len(row["isr_nodes"]), "elr": 0, "last_known": 0}

    parts = [
        {
            "topic": t["name"],
            "error": t["error"],
            "has_id": t["error"] == "NONE",
            "is_internal": t["is_internal"],
            "operations": t["topic_authorized_operations"],
            "partitions": list(map(partition, t["partitions"])),
        }
        for t in r["topics"]
    ]
    cursor = r["next_cursor"]
    where = cursor and [cursor["topic_name"], cursor["partition_index"]]
    return {"cursor": where, "parts": sorted(parts, key=lambda t: str(t["topic"]))}


def _plain(r: Fields, back: Back) -> Fields:
    return {"error": r["error"]}


def _same(r: Fields, back: Back) -> Fields:
    return r


ANSWERS: dict[str, Callable[[Fields, Back], Fields]] = {
    "InitProducerId": _same,
    "AddPartitionsToTxn": added_partitions,
    "AddOffsetsToTxn": _plain,
    "EndTxn": _same,
    "Produce": read_produce,
    "TxnOffsetCommit": lambda r, back: _errors_of(r["errors"], back),
    "OffsetCommit": lambda r, back: _errors_of(r["errors"], back),
    "OffsetFetch": fetched_offsets,
    "Fetch": read_fetch,
    "ListOffsets": listed_offsets,
    "DeleteRecords": deleted_records,
    "DescribeTransactions": described_transactions,
    "ListTransactions": listed_transactions,
    "DescribeProducers": described_producers,
    "WriteTxnMarkers": written_markers,
    "FindCoordinator": _plain,
    "JoinGroup": read_join,
    "SyncGroup": lambda r, back: {"error": r["error"], "assignment": r["assignment"]},
    "Heartbeat": _plain,
    "LeaveGroup": read_leave,
    "ConsumerGroupHeartbeat": consumer_heartbeat,
    "ConsumerGroupDescribe": described_consumers,
    "DescribeGroups": described_groups,
    "DeleteGroups": lambda r, back: {"parts": [{"group": g, "error": e} for g, e in sorted(r["errors"].items())]},
    "OffsetDelete": lambda r, back: {"error": r["error"], **_errors_of(r["errors"], back)},
    "CreateTopics": lambda r, back: {"parts": [{"topic": t, "error": e} for t, e in sorted(r["errors"].items())]},
    "DescribeCluster": lambda r, back: {"error": r["error"], "brokers": len(r["brokers"])},
    "DescribeConfigs": described_configs,
    "ListGroups": listed_groups,
    "DescribeTopicPartitions": described_topic_partitions,
    "ApiVersions": _same,
}
