"""The artifacts of a failed test: the last frames in its report, the session to be run again, and a picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, cast

from kafkalab.checks.check import FORBIDDEN, Finding
from kafkalab.limits import truncate
from kafkalab.live.cluster import LiveCluster
from kafkalab.testing.verdict import AnomalyError
from kafkalab.trace import Frame

FRAMES = 30
LONGEST = 50_000
"""A longer session would take minutes to be run again."""
LATER = 14
"""The number of stops that are drawn after the step that proves an anomaly: enough for the markers that commit it."""


def keep(lab: LiveCluster, folder: str, test: str, error: BaseException | None) -> str:
    """Write the session and its picture to `folder`, named after the test; return the text for the test's report."""
    head = f"the last {FRAMES} frames between clients and brokers, without those about metadata:"
    lines = [head, *frame_lines(lab, FRAMES)]
    if held := lab.held:
        lines.append(f"held at the gate: {', '.join(held)}")
    if not folder:
        return "\n".join([*lines, "nothing is kept: name a folder with --kafka-lab-keep DIR"])
    if lab.trace.steps > LONGEST:
        return "\n".join([*lines, f"nothing is kept: {lab.trace.steps:,} events; at most {LONGEST:,} are"])
    name = re.sub(r"[^\w.-]+", "_", test.replace("::", "."))[-150:].strip("_.")
    trace, picture = Path(folder).resolve() / f"{name}.klab", Path(folder).resolve() / f"{name}.svg"
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        for path in (trace, picture):
            path.unlink(missing_ok=True)
        lines.append(_save(lab, trace))
        picture.write_text(picture_of(lab, error.findings if isinstance(error, AnomalyError) else ()), encoding="utf-8")
        lines.append(f"picture: {picture}")
    except Exception as reason:  # whatever goes wrong here must not hide why the test has failed
        lines.append(f"not all is kept: {reason!r}")
    return "\n".join(lines)


def _save(lab: LiveCluster, trace: Path) -> str:
    try:
        return f"trace: {trace}\n{lab.save(trace)}".replace("\n", "\n    ")
    except ValueError as reason:
        return f"no trace is kept: {truncate(reason)}"


def frame_lines(lab: LiveCluster, count: int) -> list[str]:
    """Return a line for each of the last `count` frames between clients and brokers: when, who to whom, its name, what
    became of it. Frames about metadata are left out, as in pictures."""
    return [_line(frame, lab.began_ms) for frame in frames_between(lab, count)]


def frames_between(source: Any, count: int) -> list[Frame]:
    """Return the last `count` frames between clients and brokers of a live cluster or a tap, without metadata."""

    def act() -> list[Frame]:
        run = source.run
        clients = set(run.cast.clients)
        newest_first = reversed(run.trace.frames.values())
        of_clients = (f for f in newest_first if not clients.isdisjoint((f.sender, f.receiver)))
        frames = (f for f in of_clients if f.category != "metadata")
        return list(islice(frames, count))[::-1]

    return cast("list[Frame]", source.do(act))


def _line(frame: Frame, began_ms: int) -> str:
    error = f"  {frame.error}" if frame.error not in ("", "NONE") else ""
    fate = "" if frame.fate == "delivered" else f"  ({frame.fate})"
    seconds = (frame.sent_ms - began_ms) / 1000
    return f"{seconds:10.3f}  {frame.sender} → {frame.receiver}  {frame.id} v{frame.version}{error}{fate}"


def picture_of(lab: Any, findings: tuple[Finding, ...] = ()) -> str:
    """Return an SVG of the last steps of a live cluster or a tap: of those around the first finding, or of the run."""
    from kafkalab.widgets.payload.growing import GrowingPayload
    from kafkalab.widgets.payload.text import stops
    from kafkalab.widgets.views.static_sequence import draw

    groups = ("transaction", "verification")
    payload = lab.do(lambda: GrowingPayload(lab.run, lab.began_ms).whole)
    last = len(payload["events"]) - 1
    proven = min(max(findings[0].steps, default=last), last) if findings else last
    places = list(stops(payload, groups, ()))
    behind = [step for step in places if step >= proven][:LATER]
    step = (behind or places[-1:] or [max(last, 0)])[-1]
    return draw(payload, step, groups, (), {"results": list(_results(findings, last))}, places)


def _results(findings: tuple[Finding, ...], last: int) -> Iterator[dict[str, object]]:
    """The findings as pictures take them; what an application breaks is red, whatever Kafka allows."""
    for finding in findings:
        since = min(max(finding.steps, default=last), last)
        row = {"policy": FORBIDDEN, "text": finding.text, "since": since, "places": []}
        yield {"name": finding.anomaly, "findings": [row]}
