"""Readers: a lag that is a marker, a position that does not move, gaps in offsets, positions kept outside Kafka."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import GroupRow
from kafkalab.diagnose.finding import (
    CERTAIN,
    LIKELY,
    UNKNOWN,
    Finding,
    Proof,
    describe_producers,
    list_proofs,
)
from kafkalab.diagnose.mechanisms.hanging import STUCK
from kafkalab.protocol import rules
from kafkalab.protocol.partitions import topic_of

ONE = "Lag stays at 1"
GAPS = "Offsets have gaps"
OUTSIDE = "A row is missing in a database, or there twice, without an error"


def leave_marker(evidence: Evidence) -> Iterator[Finding]:
    """A group stands at the last entry of the partition, and that entry is a marker: nothing is unread."""
    for row in evidence.groups:
        view = evidence.views.get(row.partition)
        if view is None and row.lag == 1 and row.current == row.end - 1:
            yield _may_be_marker(row)
        if view is None or row.lag != 1 or view.last_marker is None or view.open:
            continue
        if view.last_marker.offset == row.current == row.end - 1 == view.end - 1:
            yield Finding(
                mechanism="marker_is_lag",
                where=f"{row.group}, {row.partition}",
                says=f"Nothing is unread: {row.group} committed {row.current} in {row.partition}, and the one entry "
                "from "
                "there on is a marker, which no reader is given.",
                certainty=CERTAIN,
                proofs=(
                    Proof(row.source, f"a lag of 1 at {row.current}"),
                    Proof(view.last_marker.source, "the last entry is a marker"),
                ),
                ask=_describe_group(row),
                symptom=ONE,
                harmless=True,
                explains=("markers_take_offsets", "one_entry_is_left"),
            )


def _may_be_marker(row: GroupRow) -> Finding:
    topic = topic_of(row.partition)
    return Finding(
        mechanism="one_entry_is_left",
        where=f"{row.group}, {row.partition}",
        says=f"One entry of {row.partition} is left to {row.group}, at {row.current}. If the producers of {topic} are "
        "transactional it may be a marker, which no reader is given; a dump of the log tells.",
        certainty=UNKNOWN,
        proofs=(Proof(row.source, f"a lag of 1 at {row.current}"),),
        ask=f"kafka-dump-log.sh --print-data-log --files {row.partition}/SEGMENT.log",
        symptom=ONE,
    )


def _describe_group(row: GroupRow) -> str:
    return f"kafka-consumer-groups.sh --bootstrap-server host:9092 --describe --group {row.group}"


def stand_still(evidence: Evidence) -> Iterator[Finding]:
    """A group's position is the same in several descriptions while the log grows."""
    rows: dict[tuple[str, str], list[GroupRow]] = {}
    for row in evidence.groups:
        rows.setdefault((row.group, row.partition), []).append(row)
    for (group, partition), seen in rows.items():
        first, last = seen[0], seen[-1]
        if len(seen) < 2 or first.current != last.current or last.end <= first.end or last.current < 0:
            continue
        view = evidence.views.get(partition)
        at_stable = view is not None and bool(view.open) and view.stable == last.current
        proofs = [Proof(row.source, f"at {row.current}, the log's end is {row.end}") for row in (first, last)]
        if view is not None and at_stable:
            proofs += [Proof(one.first.source, "an open transaction begins here") for one in view.open.values()][:1]
        yield Finding(
            mechanism="reader_stands",
            where=f"{group}, {partition}",
            says=f"{group} stands at {last.current} in {partition}, while the log grew from {first.end} to {last.end}. "
            + (
                "A transaction is open there, so read_committed readers wait."
                if at_stable
                else "An open transaction would do that, and so would a reader that does not read: the text does not "
                "tell."
            ),
            certainty=LIKELY if at_stable else UNKNOWN,
            proofs=list_proofs(proofs),
            ask=describe_producers(partition),
            symptom=STUCK,
            rule=rules.LSO_BOUND.name,
        )


def take_offsets(evidence: Evidence) -> Iterator[Finding]:
    """Markers take offsets: each that no record has in a dump without gaps is one of theirs."""
    for view in evidence.views.values():
        if view.partition.startswith("__") or not view.markers or view.gaps or view.disorder:
            continue
        if view.last_marker is None:
            continue
        aborted = [one for one in view.finished if one.marker and one.marker.commit is False]
        proofs = [
            Proof(one.marker.source, f"a marker at {one.marker.offset}") for one in view.finished[:2] if one.marker
        ]
        proofs += [Proof(one.first.source, "records of a transaction that was aborted") for one in aborted[:1]]
        yield Finding(
            mechanism="markers_take_offsets",
            where=view.partition,
            says=f"No offset of {view.partition} from {view.start} to {view.end - 1} is missing: {view.records} are "
            "records, "
            f"{view.markers} are markers"
            + (f", and {len(aborted)} transactions were aborted." if aborted else ".")
            + " Whether the right ones were committed, offsets do not tell.",
            certainty=LIKELY if view.partition[0] == "(" else CERTAIN,
            proofs=list_proofs(proofs or [Proof(view.last_marker.source, "a marker")]),
            symptom=GAPS,
            harmless=True,
        )


def keep_outside(evidence: Evidence) -> Iterator[Finding]:
    """A consumer seeks by itself and its group has no position: where it stands is known outside Kafka only."""
    sought = list(evidence.all_said("position sought"))
    none = list(evidence.all_said("no position"))
    without = [row for row in evidence.groups if row.current < 0 < row.end]
    if not sought and not without:
        return
    proofs = [Proof(said.source, f"the consumer is put to a position: {said.detail}") for said in sought[:3]]
    proofs += [Proof(said.source, "the group has no position") for said in none[:2]]
    proofs += [Proof(row.source, f"{row.group} has no position in {row.partition}") for row in without[:2]]
    yield Finding(
        mechanism="positions_outside",
        where=sought[0].partition or sought[0].process if sought else without[0].partition,
        says=(
            "The consumer's positions are kept outside Kafka (a checkpoint, a database, a file)."
            if sought
            else "The group has no position in Kafka: it never committed one, or keeps it elsewhere (a checkpoint, a "
            "database, a file)."
        )
        + " Whether records were lost or doubled is decided there; the text does not show it.",
        certainty=UNKNOWN,
        proofs=list_proofs(proofs),
        ask="SELECT the position, with the newest row that it covers, in the store outside Kafka; compare with the log",
        symptom=OUTSIDE,
    )


RULES = (keep_outside, leave_marker, stand_still, take_offsets)
