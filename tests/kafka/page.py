"""Write docs/compared.md: what was compared with which Kafka, how many answers, what is left and why."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.kafka.differences import Row, compared, explanations, unexplained
from tests.kafka.script import RECORDED, belongs, families, recorded, scripts_of

PAGE = Path(__file__).parents[2] / "docs" / "compared.md"
HUNTS = Path(__file__).with_name("hunts.json")
"""What random scripts found: a row for each hunt, written by `hunt`."""
CLIENTS = "java-4.3.1-clients"
FAMILIES = {
    "administration": "topics created, records deleted, transactions and producers described and listed, the cluster",
    "broker_to_broker": "verification of a partition by its leader, adding for a client, several ids in one request",
    "coordinator_v1": "each cell of the coordinator's tables, for clients of transaction.version 0 and 1",
    "coordinator_v2": "each cell of the coordinator's tables, for clients of transaction.version 2",
    "groups": "classic groups: join, sync, heartbeat, leave, static members, fencing of generations",
    "idempotent": "sequences, epochs, duplicates and gaps of a producer without transactions",
    "init": "InitProducerId: expectations, epochs bumped and exhausted, transactions of a predecessor",
    "logs": "high watermark, log start, segments and what survives in a log",
    "markers": "WriteTxnMarkers: older coordinators, other epochs, partitions without a transaction",
    "offsets": "offsets of groups, in transactions and outside, pending and stable",
    "reading": "last stable offset, lists of aborted transactions, ListOffsets, with interleaved transactions",
    "requests": "requests that are refused as a whole, and errors that few clients see",
    "restart": "a broker stopped or killed, and what it knows afterwards",
    "sequences": "sequence numbers at their edges: wrap-around, five cached batches, new epochs",
    "three_nodes": "failover of coordinators and leaders in the middle of a transaction, followers behind",
    "timeout": "transactions that take too long, and who is fenced by the abort",
    "versions": "every version of every API: what travels in it, and with which errors it is answered",
}
HEAD = """# Compared with Apache Kafka

<!-- Written by `python -m tests.kafka page`; a test compares. -->

Scripts of raw requests were sent to a running Apache Kafka, byte by byte, and its answers kept in
[data/recorded](../data/recorded). `make test` gives the same scripts to kafkalab and compares every field of every
answer: no Java is needed for it. Producer ids and member ids are compared by order of appearance, times as data time
or "now". [tests/kafka/README.md](../tests/kafka/README.md) says how to add a script and how to record.
"""


def text() -> str:
    """Return the page as Markdown."""
    parts = [HEAD, _recordings_and_families(), _clients(), _random()]
    return "\n".join(parts).rstrip() + "\n"


def _table(head: list[str], rows: list[list[object]]) -> str:
    numbers = ["--:" if isinstance(cell, int) else "---" for cell in rows[0]]
    numbers = ["--:" if isinstance(cell, int) else "---" for cell in rows[0]]
    lines = [head, numbers, *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def _recordings_and_families() -> str:
    found = {path.stem: _rows(path.stem) for path in sorted(RECORDED.glob("[0-9]*.json"))}
    recordings = [
        [name, recorded(name)["features"].get("transaction.version", 0), *_counts(rows)] for name, rows in found.items()
    ]
    head = ["recording", "`transaction.version`", "scripts", "answers", "equal", "explained", "unexplained"]
    parts = ["## Recordings\n", _table(head, recordings), "## Subjects\n"]
    subjects: list[list[object]] = []
    for family in families():
        rows = [row for all_rows in found.values() for row in all_rows if row.script.split(".")[0] == family]
        subjects.append([f'<a id="{family}"></a>{family}', len(scripts_of(family)), len(rows), FAMILIES[family]])
    parts += [_table(["subject", "scripts", "answers", "what is decided"], subjects)]
    return "\n".join([*parts, *_left(found)])


def _rows(recording: str) -> list[Row]:
    scripts = [s for s in scripts_of() if belongs(s, recording)]
    return compared(recording, scripts, recorded(recording))


def _counts(rows: list[Row]) -> list[object]:
    bad, different = unexplained(rows), sum(bool(row.differences) for row in rows)
    scripts = len({row.script for row in rows})
    return [scripts, len(rows), len(rows) - different, different - len(bad), len(bad)]


def _left(found: dict[str, list[Row]]) -> list[str]:
    """What is explained, by its reason; differences in which Kafka breaks a promise have a heading of their own."""
    uses: Counter[str] = Counter(
        why for rows in found.values() for row in rows for why in dict.fromkeys(row.reasons) if why
    )
    promise = {rule["why"] for name in found for rule in explanations(name) if rule.get("promise")}
    places: dict[str, list[str]] = {}
    for rows in found.values():
        for row in rows:
            for why in filter(None, row.reasons):
                places.setdefault(why, []).append(f"`{row.script}`")
    parts = []
    for heading, broken in (
        ("What is left, and why", False),
        ("Where Kafka itself breaks a promise", True),
    ):
        reasons = [why for why in uses if (why in promise) == broken]
        parts.append(f"## {heading}\n")
        told = [f"- {', '.join(dict.fromkeys(places[why]))} ({uses[why]} answers): {why}." for why in reasons]
        parts.append("\n".join(told or ["Nothing."]) + "\n")
    return parts


def _clients() -> str:
    path = RECORDED / f"{CLIENTS}.json"
    if not path.exists():
        return ""
    scripts: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return f"""## Clients

Java's producer and consumer (kafka-clients 4.3.1) ran {len(scripts)} small programs against a scripted broker on real
bytes: the requests in their order, the order of back-offs, and the class and message of each exception equal those of
kafkalab's clients, but for what `tests/kafka/clients/explained.json` names.
"""


def _random() -> str:
    rows = json.loads(HUNTS.read_text("utf-8")) if HUNTS.exists() else []
    if not rows:
        return ""
    keys = ("recording", "minutes", "scripts", "answers", "explained", "races", "different")
    return f"""## Random scripts

`make oracle MINUTES=10` makes scripts from seeds, runs them on both sides, and shrinks each difference to a script that
can be kept. A race is a script that Kafka itself does not answer twice the same.

{_table(list(keys), [[row[key] for key in keys] for row in rows])}"""
