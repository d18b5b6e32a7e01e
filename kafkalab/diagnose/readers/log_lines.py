"""Reads logs of clients and brokers: what a line says by PATTERNS, the errors that it names, and whose line it is."""

from __future__ import annotations

import re

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import Said
from kafkalab.diagnose.readers.errors_in_text import errors_in
from kafkalab.diagnose.readers.patterns import PATTERNS, SETTINGS
from kafkalab.diagnose.readers.reader import Place, number

TIME = re.compile(r"\W{0,2}(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|\d\d:\d\d:\d\d[.,]\d{3})")
LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b")
FROM_LIBRDKAFKA = re.compile(r"%\d\|(\d+\.\d+)\|\w+\|([^|]*)\|")
WHOSE = re.compile(r"transactionalId=([^\],\s]+)")
CLIENT_ID = re.compile(r"clientId=([^\],\s]+)")
STACK = re.compile(r"\s+at [\w.$<>/]+\(|\s*\.\.\. \d+ (?:more|common)|Traceback \(most|\s+File \"")
CAUSE = re.compile(r"(?:Caused by: |Exception in thread |Suppressed: )?(?:[\w$]+\.)+\w*(?:Exception|Error)\b")
VALUES = re.compile(r"\t[\w.]+ = ")
STEMS = (
    "ransaction", "roducer", "xception", "equence", "poch", "ommitted offset", "Txn", "txn", "nclean", "UNCLEAN", "_",
    "runcating", "ISR", "FENCED", "awaiting", "Kafka version", "Resetting offset", "Seeking", "(kafka.server.",
    "data loss", "oordinator", "Expiring", "RECOVERING", "unstable offsets", "Timed out", "dempotence", "poll timeout",
    "assigned partitions", "deleted partitions",
)  # fmt: skip
"""A line without any of these says nothing that is understood."""


class LogReader:
    """Reads log lines. A line without a time, such as one of a stack trace, belongs to the line before it."""

    def __init__(self) -> None:
        self._who = ""
        self._at = ""
        self._settings = False

    def read(self, line: str, place: Place, evidence: Evidence) -> bool:
        """Add what the line says. Return False if it is no line of a log; `passes` may still know its form."""
        for stem in STEMS:
            if stem in line:
                break
        else:
            if line.startswith("\t") and " = " in line:
                return self._read_setting(line, place, evidence)
            return False
        self._date(line)
        said = False
        for pattern in PATTERNS:
            if pattern.piece in line:
                found = pattern.expression.search(line)
                if found is not None:
                    self._add(pattern.name, found.groupdict(), place, evidence)
                    said = True
        for error in errors_in(line):
            self._add(f"error {error.name}", {}, place, evidence)
            said = True
        return said or self._read_setting(line, place, evidence)

    def _date(self, line: str) -> None:
        time = TIME.match(line) or FROM_LIBRDKAFKA.match(line)
        if time is not None:
            self._at, self._who = time[1], ""
        whose = WHOSE.search(line[:1_000])
        if whose is not None:
            self._who = whose[1]

    def _read_setting(self, line: str, place: Place, evidence: Evidence) -> bool:
        if " = " not in line:
            return False
        found = SETTINGS.expression.match(line)
        if found is None:
            return False
        self._add(f"setting {found['who']}", {"detail": found["detail"].strip()}, place, evidence)
        return True

    def _add(self, name: str, groups: dict[str, str | None], place: Place, evidence: Evidence) -> None:
        evidence.add_said(
            Said(
                name,
                groups.get("who") or self._who,
                number(groups.get("producer") or ""),
                number(groups.get("epoch") or ""),
                groups.get("partition") or "",
                (groups.get("detail") or "")[:500],
                self._at,
                place.process or place.file,
                place.source(),
            )
        )


def passes(line: str) -> bool:
    """Return True for a line whose form is known, though no rule reads it: a log line, a stack trace, a setting."""
    if TIME.match(line) or FROM_LIBRDKAFKA.match(line):
        return True
    return bool(STACK.match(line) or VALUES.match(line) or CAUSE.match(line) or LEVEL.match(line))
