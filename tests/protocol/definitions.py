"""Write kafkalab/wire/kafka_messages.json: `python -m tests.protocol.definitions JAR ...`.

The jars are kafka-clients, kafka-transaction-coordinator and kafka-group-coordinator of one version of Kafka, from
Maven Central; Kafka's message definitions are in them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from kafkalab.protocol.messages.registry import ALL

TABLE = Path(__file__).parents[2] / "kafkalab" / "wire" / "kafka_messages.json"
USAGE = "usage: python -m tests.protocol.definitions JAR ...: the clients and both coordinators of one version"
COMMENT = re.compile(r"^\s*//.*$", re.M)
REWRITTEN = ("ShareFetch", "ShareAcknowledge")
"""APIs of which a tap rewrites the answers, and no more."""
INSIDE = (
    "ConsumerProtocolSubscription", "ConsumerProtocolAssignment", "TransactionLogKey", "TransactionLogValue",
    "OffsetCommitKey", "OffsetCommitValue", "GroupMetadataKey", "GroupMetadataValue",
    *(
        f"ConsumerGroup{kind}{part}"
        for kind in (
            "Metadata", "MemberMetadata", "TargetAssignmentMetadata", "TargetAssignmentMember",
            "CurrentMemberAssignment",
        )
        for part in ("Key", "Value")
    ),
)  # fmt: skip
"""Messages inside records, and inside the bytes that members of a group send each other."""
KEPT = ("name", "type", "versions", "nullableVersions", "taggedVersions", "tag", "default")


def definitions(jars: list[str]) -> tuple[str, dict[str, dict[str, Any]]]:
    """Return the version of Kafka, and its definitions by name."""
    version, found = "", {}
    for jar in jars:
        with ZipFile(jar) as archive:
            for name in archive.namelist():
                if name == "kafka/kafka-version.properties":
                    version = re.findall(r"^version=(.*)$", archive.read(name).decode(), re.M)[0]
                if re.fullmatch(r"common/message/\w+\.json", name):
                    row = json.loads(COMMENT.sub("", archive.read(name).decode()))
                    found[row["name"]] = row
    return version, found


def table(kafka: str, found: dict[str, dict[str, Any]]) -> str:
    """Return the text of the table; SystemExit for a message that the jars lack."""
    kept = {name for name, row in found.items() if row.get("validVersions", "none") != "none"}
    names = [*(api.name for api in ALL if api.offered or f"{api.name}Request" in kept), *REWRITTEN]
    wanted = [f"{name}{side}" for name in names for side in ("Request", "Response")]
    if lacking := {*wanted, *INSIDE} - kept:
        raise SystemExit(f"the jars lack {', '.join(sorted(lacking))}; {USAGE}")
    keys = {row["apiKey"]: row["name"].removesuffix("Request") for row in found.values() if row["type"] == "request"}
    rows = [f" {json.dumps(name)}: {_line(_pick(found[name]))}" for name in sorted({*wanted, *INSIDE})]
    apis = _line({str(key): keys[key] for key in sorted(keys)})
    offered = [row["apiKey"] for row in found.values() if row["name"] in kept and "broker" in row.get("listeners", ())]
    head = f'"kafka": "{kafka}",\n"apis": {apis},\n"offered": {_line(sorted(offered))}'
    return f'{{{head},\n"messages": {{\n' + ",\n".join(rows) + "\n}}\n"


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _pick(row: dict[str, Any]) -> dict[str, Any]:
    structs = {one["name"]: one["fields"] for one in row.get("commonStructs", ())}
    fields = [_field(one, structs) for one in row["fields"]]
    return {**{key: row[key] for key in ("validVersions", "flexibleVersions")}, "fields": fields}


def _field(row: dict[str, Any], structs: dict[str, Any]) -> dict[str, Any]:
    inside = row.get("fields") or structs.get(row["type"].removeprefix("[]"), ())
    kept = {"versions": row.get("taggedVersions"), **{key: row[key] for key in KEPT if key in row}}
    return {**kept, "fields": [_field(one, structs) for one in inside]} if inside else kept


def main(jars: list[str]) -> None:
    """Write the table; SystemExit with one line for what is no such jar."""
    if not jars:
        raise SystemExit(USAGE)
    try:
        TABLE.write_text(table(*definitions(jars)), encoding="utf-8")
    except OSError as error:
        raise SystemExit(f"{error.filename}: {error.strerror}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
