"""The picture of a summary: its sentence is whole, however many anomalies it names."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from kafkalab.checks.check import FORBIDDEN, VIOLATED
from kafkalab.spark.audits.summary import CHECKS, AuditRow, Summary

TEXT = "{http://www.w3.org/2000/svg}text"


def test_a_long_sentence_takes_several_lines_and_is_not_cut() -> None:
    names = [f"{one}-anomaly-of-a-long-name" for one in "abcdefgh"]
    rows = [
        AuditRow(anomaly=name, policy=FORBIDDEN, verdict=VIOLATED, examined=9, findings=((FORBIDDEN, 2),))
        for name in names
    ]
    nothing: Any = None
    summary = Summary(rows=rows, findings=nothing, examined=nothing, seconds=1.0, way=CHECKS)
    picture = ET.fromstring(summary.svg())
    height = float(picture.attrib["viewBox"].split()[3])
    lines = {float(t.attrib["y"]): t.text or "" for t in picture.iter(TEXT) if t.attrib["x"] == "16"}
    below = [lines[y] for y in sorted(lines) if lines[y] not in (*names, "anomaly")]
    assert " ".join(below) == summary.words
    assert len(below) > 1
    assert max(lines) < height
    assert all(len(line) <= 108 for line in below)
