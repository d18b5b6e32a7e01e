"""Describe a run as plain data: frames, records, the verdict, pictures. Imported with the first such request."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from kafkalab.faults.fault import describe_unused
from kafkalab.testing.failure_artifacts import frames_between, picture_of
from kafkalab.testing.kafka_lab import KafkaLab
from kafkalab.testing.record import TopicRecord
from kafkalab.testing.verdict import AnomalyError
from kafkalab.trace import Frame

LONGEST = 20_000
"""The most events of a picture: drawing more takes minutes, in which no client is served."""


def describe_frame(frame: Frame) -> dict[str, Any]:
    """Return when a frame was sent, who to whom, its name, its error, and what became of it."""
    return {
        "id": frame.id, "sender": frame.sender, "receiver": frame.receiver, "version": frame.version,
        "sent_ms": frame.sent_ms, "error": "" if frame.error == "NONE" else frame.error, "fate": frame.fate,
    }  # fmt: skip


def describe_frames(source: Any, count: int) -> list[dict[str, Any]]:
    """Return the last `count` frames between clients and brokers, but for those about metadata."""
    return list(map(describe_frame, frames_between(source, count)))


def describe_record(record: TopicRecord) -> dict[str, Any]:
    """Return a record with key and value as text; `encoded` says that they are base64, as they are no UTF-8."""
    row = {"partition": record.partition, "offset": record.offset, "encoded": False}
    try:
        return row | {name: _text(getattr(record, name)) for name in ("key", "value")}
    except UnicodeDecodeError:
        return row | {"encoded": True} | {name: _base64(getattr(record, name)) for name in ("key", "value")}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def judge(lab: KafkaLab, checks: Iterable[str]) -> dict[str, Any]:
    """Return the verdict of `KafkaLab.check`: whether the promise holds, the message, the findings, every check.

    The lab allows unused faults, so that `check` leaves them to this.

    It does not hold either if a fault has struck no frame: what was to be tried was not tried.
    """
    error: AnomalyError | None = None
    try:
        report = lab.check(*checks)
    except AnomalyError as raised:
        error, report = raised, raised.report
    message = str(error or "")
    unused, was_sent = lab.unused_faults, lab.cluster.network.was_sent
    if unused and not message:
        message = "; ".join(lab.do(lambda: [describe_unused(fault, was_sent) for fault in unused]))
    return {
        "holds": not message,
        "message": message,
        "anomalies": list(error.anomalies) if error else [],
        "unused_faults": list(map(repr, unused)),
        "findings": [asdict(finding) for finding in error.findings] if error else [],
        "checks": [{"name": r.name, "verdict": r.verdict, "examined": r.examined} for r in report.results],
    }


def draw_picture(source: Any) -> str:
    """Return an SVG of the last steps. ValueError for a run without frames, or of too many events."""
    _check_length(source)
    return picture_of(source)


def write_page(source: Any) -> str:
    """Return the run as one page of HTML that a browser steps through. ValueError as `draw_picture`."""
    from kafkalab.widgets.views.recorded_page import recorded_page

    _check_length(source)
    return recorded_page(source.journey)


def _check_length(source: Any) -> None:
    steps = source.run.trace.steps
    if steps == 0:
        raise ValueError("nothing has happened yet")
    if steps > LONGEST:
        raise ValueError(f"{steps:,} events have happened; a picture shows at most {LONGEST:,}")
