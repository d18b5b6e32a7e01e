"""Write docs/protocol.md: prose from kafkalab/reference/protocol/*.md, tables from the code they describe.

To add a table: write a function that returns lines of Markdown, name it in TABLES, and put `<<its name>>` on a line of
its own in the prose. A section has an anchor `<a id="..."></a>` below its heading, which code cites.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from struct import calcsize
from typing import Any

from kafkalab.broker.config_names import name_of
from kafkalab.broker.state import BrokerConfig
from kafkalab.client.config.defaults import DEFAULTS, VERSIONS, default
from kafkalab.client.transaction_manager.error_reactions import APIS, REACTIONS, Reaction
from kafkalab.protocol import batch_bytes
from kafkalab.protocol.api import REFERENCES
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.registry import ALL
from kafkalab.protocol.partitions import java_hash, partition_for
from kafkalab.protocol.profiles import PROFILES
from kafkalab.protocol.records import ControlType
from kafkalab.protocol.rules import REGISTRY
from kafkalab.protocol.transaction_metadata import VALID_PREVIOUS, TxnState
from kafkalab.protocol.transition_tables import group, producer
from kafkalab.protocol.transition_tables import transaction as coordinator

PAGE = Path("docs") / "protocol.md"
PROSE = Path(__file__).parent / "protocol"
_SLOT = re.compile(r"^<<(\w+)>>$", re.MULTILINE)
_HEADING = re.compile(r'^(#{2,3}) (.+)\n<a id="([^"]+)"></a>$', re.MULTILINE)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], rule: str = "") -> list[str]:
    """Return a Markdown table with one line for each row; `rule`, if given, is the line below its head."""
    first, *rest = (f"| {' | '.join(map(str, line))} |" for line in (head, *rows))
    return [first, rule or f"|{' --- |' * len(head)}", *rest]


def text_of(root: Path | None = None) -> str:
    """Return the page, whatever `root` is: the prose in the order of its files, with a table for every `<<name>>`."""
    prose = "\n".join(path.read_text(encoding="utf-8") for path in sorted(PROSE.glob("*.md")))
    chapters = [f"{'  ' * (len(marks) - 2)}* [{title}](#{anchor})" for marks, title, anchor in _HEADING.findall(prose)]
    return _SLOT.sub(lambda slot: "\n".join({"contents": lambda: chapters, **TABLES}[slot[1]]()), prose)


def _transaction_states() -> list[str]:
    rows = [(s.label, s.id, ", ".join(source.label for source in VALID_PREVIOUS[s])) for s in TxnState]
    return table(("state", "id", "reached from"), rows)


def _transpose(rows: dict[Any, dict[Any, Any]], corner: str, cell: Callable[[Any], str]) -> list[str]:
    """Return a table with a line for each question and a column for each state of `rows[state][question]`."""
    asks = next(iter(rows.values()))
    lines = [(ask.value, *(cell(row[ask]) for row in rows.values())) for ask in asks]
    return table((corner, *(getattr(s, "label", s.value) for s in rows)), lines)


def _outcome(cell: object) -> str:
    if hasattr(cell, "error"):
        return str(cell.error.name)
    return f"**{cell.state.label}**" if hasattr(cell, "state") else {"Wait": "wait", "Same": "-"}[type(cell).__name__]


def _producer_calls() -> list[str]:
    rows = [(c.value, *(_call(cell) for cell in row.values())) for c, row in producer.TABLE[None].items()]
    said = {cell.action for row in producer.TABLE[None].values() for cell in row.values()} - {producer.Action.MOVE}
    legend = "; ".join(f"{action.name}: {action.value}" for action in producer.Action if action in said)
    return [*table(("call", *(s.value for s in producer.ProducerState)), rows), "", f"{legend}."]


def _call(cell: producer.Cell) -> str:
    moves = cell.action is producer.Action.MOVE and cell.target
    return f"**{moves.value}**" if moves else cell.action.name


_SHORT = dict(zip(Reaction, ("R", "L", "A", "F", "AR", "OK", "SP", "SQ"), strict=True))


def _reactions() -> list[str]:
    common = [tuple(REACTIONS[api][error] for api in APIS) for error in (Error.CORRUPT_MESSAGE, Error.INVALID_GROUP_ID)]
    rows = {error: tuple(REACTIONS[api][error] for api in APIS) for error in REACTIONS["Produce"]}
    lines = [(e.name, *(_SHORT[r] for r in row)) for e, row in rows.items() if row not in common]
    return table(("error", *APIS), lines)


BATCH_FIELDS = (
    "baseOffset", "batchLength, in bytes after this field", "partitionLeaderEpoch", "magic = 2", "crc", "attributes",
    "lastOffsetDelta", "baseTimestamp", "maxTimestamp", "producerId", "producerEpoch", "baseSequence", "recordCount",
)  # fmt: skip
"""Kafka's names for what the two structures of batch_bytes hold, in order."""


def _record_batch() -> list[str]:
    letters = (batch_bytes._HEAD.format + batch_bytes._BODY.format).replace(">", "")
    rows, offset = [], 0
    for name, letter in zip(BATCH_FIELDS, letters, strict=True):
        size = calcsize(f">{letter}")
        rows.append((offset, name, f"{'u' * letter.isupper()}int{8 * size}"))
        offset += size
    return table(("offset", "field", "type"), [*rows, (offset, "records", "")])


def _client_defaults() -> list[str]:
    rows = [(name.replace("_", "."), *(_default(name, version) for version in VERSIONS)) for name in DEFAULTS]
    return table(("setting", *VERSIONS), rows)


def _default(name: str, version: str) -> str:
    plain, idempotent = (_format(default(name, version, idempotent)) for idempotent in (False, True))
    return plain if plain == idempotent else f"{plain} ({idempotent})"


def _format(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


COMPUTED = {"transaction_state_log_replication_factor": "3, or as many as there are brokers"}
"""The page's words for a default that depends on the cluster."""
REMOVED = {"UpdateMetadata": "up to Kafka 3.9; 4.x has no version of it"}
"""The page's words for APIs that today's Kafka does not have."""


def _broker_defaults() -> list[str]:
    rows = [
        (name_of(f.name), f"`{f.name}`", COMPUTED.get(f.name, _format(f.default)))
        for f in fields(BrokerConfig)
    ]
    return table(("setting", "in a scenario", "default"), rows)


def _apis() -> list[str]:
    rows = [(a.name, a.key, _versions(a), a.about) for a in sorted(ALL, key=lambda a: a.key)]
    return table(("API", "key", "versions", "what it is for"), rows)


def _versions(api: Any) -> str:
    span = f"{api.versions[0]} to {api.versions[-1]}"
    notes = [f"{first} since {kafka}" for kafka, first in api.since.items()]
    notes += [REMOVED[api.name]] if api.name in REMOVED else []
    return f"{span} ({'; '.join(notes)})" if notes else span


def _rules() -> list[str]:
    lack = {rule: [name for name, profile in PROFILES.items() if rule in profile.lacks] for rule in REGISTRY}
    rows = [(rule.name, rule.source, rule.protects, ", ".join(lack[rule])) for rule in REGISTRY]
    return table(("rule", "from", "protects", "profiles without it"), rows)


NAMES = ("my-txn", "my-group", "payments-0", "zürich-β", "polygenelubricants")
"""Ids whose partitions the page shows; the hash of the last one is the smallest integer."""


def _references() -> list[str]:
    first, *later = REFERENCES.values()
    return [
        f"The reference is Apache Kafka {first}, whose answers were recorded. {' and '.join(later)}, recorded too, "
        "answers the same unless the text names it ([what changed](changes.md))."
    ]


TABLES: dict[str, Callable[[], list[str]]] = {
    "references": _references,
    "transaction_states": _transaction_states,
    "coordinator_v1": lambda: _transpose(coordinator.TV1, "request", _outcome),
    "coordinator_v2": lambda: _transpose(coordinator.TV2, "request", _outcome),
    "group_table": lambda: _transpose(group.GROUP_TABLE, "request", _outcome),
    "producer_sources": lambda: table(
        ("state", "reached from"), [(s.value, ", ".join(f.value for f in old)) for s, old in producer.SOURCES.items()]
    ),
    "producer_calls": _producer_calls,
    "reactions": _reactions,
    "record_batch": _record_batch,
    "control_types": lambda: table(("type", "marker"), [(c.value, c.name) for c in ControlType]),
    "partitions": lambda: table(("id", "hash", "partition"), [(n, java_hash(n), partition_for(n)) for n in NAMES]),
    "client_defaults": _client_defaults,
    "broker_defaults": _broker_defaults,
    "apis": _apis,
    "errors": lambda: table(
        ("code", "error", "retriable"), [(e.code, e.name, "yes" if e.retriable else "no") for e in Error]
    ),
    "rules": _rules,
}
"""The tables by their names in the prose."""
