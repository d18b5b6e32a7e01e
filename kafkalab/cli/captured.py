"""Audits of a capture: those that a log cannot answer, and what brokers said of producers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import UNKNOWN
from kafkalab.checks.from_a_log import needs
from kafkalab.cli.command_line import CommandLineError
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of
from kafkalab.saved_data import CAPTURE, CAPTURED, json_file

if TYPE_CHECKING:
    from kafkalab.spark.audits.summary import Summary
    from kafkalab.spark.storage.places import Place

LISTED = 10


def _read_capture(path: Path | Place) -> dict[str, Any]:
    """Return what the capture in a folder noted; {} for a history that is none."""
    try:
        found = json_file(path / CAPTURE, CAPTURED) if isinstance(path, Path) else (path / CAPTURE).json(CAPTURED)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValueError as error:
        raise CommandLineError(str(error)) from None
    if not _is_sound(found):
        raise CommandLineError(f"{path / CAPTURE} is damaged: it is not what a capture wrote")
    return dict(found)


def _is_sound(found: object) -> bool:
    """Return True if it has what is read here, each of its type."""
    if not isinstance(found, dict) or not isinstance(found.get("known", ""), str):
        return False
    partitions, producers = found.get("partitions"), found.get("producers")
    if not isinstance(partitions, dict) or not isinstance(producers, dict):
        return False
    rows = [row for rows in producers.values() for row in (rows if isinstance(rows, list) else [rows] if rows else [])]
    counts = [{"skipped": 0, **row} if isinstance(row, dict) else row for row in partitions.values()]
    return all(_has_numbers(row, "listed", "unlisted", "skipped") for row in counts) and all(
        _has_numbers(row, "producer_id", "producer_epoch", "current_txn_start_offset") for row in rows
    )


def _has_numbers(row: object, *names: str) -> bool:
    return isinstance(row, dict) and all(type(row.get(name)) is int for name in names)


def lacking_of(path: Path | Place) -> dict[str, str]:
    """Return what each audit lacks that this history cannot answer; {} unless it is a capture."""
    found = _read_capture(path)
    return needs(str(found.get("known", ""))) if found else {}


def with_unknown(summary: Summary, lacking: dict[str, str], only: list[str] | None) -> Summary:
    """Return the summary with a row for each audit that was asked for and was not run."""
    if not lacking:
        return summary
    from kafkalab.spark.audits.summary import AuditRow

    rows = {row.anomaly: row for row in summary.rows}
    for name in lacking:
        if name not in rows and (only is None or name in only):
            check = BY_NAME[name]
            rows[name] = AuditRow(anomaly=name, policy=check.policy, verdict=UNKNOWN, examined=0, findings=())
    return replace(summary, rows=[rows[name] for name in BY_NAME if name in rows])


def list_unanswered(lacking: dict[str, str], only: list[str] | None, violated: Collection[str] = ()) -> list[str]:
    """Return a line for each kind of thing that is lacking, with the audits that need it and found nothing without."""
    by_need: dict[str, list[str]] = {}
    for name, need in lacking.items():
        if (only is None or name in only) and name not in violated:
            by_need.setdefault(need, []).append(name)
    return [f"unknown: {', '.join(names)}; the audit needs {need}" for need, names in by_need.items()]


def said_by_brokers(path: Path | Place) -> Iterator[str]:
    """Yield what the capture's brokers said: open transactions, committed offsets, and how their aborted lists and the
    markers agree."""
    found = _read_capture(path)
    partitions = found["partitions"]
    producers = [(key, row) for key, rows in found["producers"].items() for row in rows or ()]
    still = [(key, row) for key, row in producers if row["current_txn_start_offset"] >= 0]
    yield f"brokers: {len(producers):,} producers in memory, {len(still):,} with an open transaction"
    for key, row in still[:LISTED]:
        since = f"from offset {row['current_txn_start_offset']} on"
        yield f"  {key}: producer {row['producer_id']}, epoch {row['producer_epoch']}, {since}"
    silent = [key for key, rows in found["producers"].items() if rows is None]
    if silent:
        yield f"  not told of {', '.join(silent[:LISTED])}: DescribeProducers needs READ on the topic (Kafka 2.8)"
    listed, unlisted = (sum(p[name] for p in partitions.values()) for name in ("listed", "unlisted"))
    commits = {key: one for key, one in partitions.items() if topic_of(key) == OFFSETS_TOPIC}
    told = f"{sum(one.get('skipped', 0) for one in commits.values()):,} entries that are no offset of these topics"
    yield f"{OFFSETS_TOPIC}: {f'read, without {told}' if commits else found.get('offsets') or 'not read'}"
    agree = "each with its ABORT marker" if not unlisted else f"but {unlisted:,} ABORT markers end what was in none"
    yield f"aborted lists of Fetch: {listed:,} transactions, {agree}"
