"""A group's position that goes back: within one transaction, or from one to the next."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import LIKELY, UNKNOWN, Finding, Proof, list_proofs
from kafkalab.diagnose.log_view import Backwards
from kafkalab.protocol import rules

BACK = "Committed offsets move backwards"


def commit_late_offset(evidence: Evidence) -> Iterator[Finding]:
    """One transaction holds two positions of one group, the later one smaller: at the marker the later one wins."""
    for view in evidence.views.values():
        inside = [back for back in view.backwards if back.within is not None]
        if inside:
            yield _late_offset(view.partition, inside[0], len(inside))
        elif view.backwards:
            yield _moved_back(view.partition, view.backwards[0])


def _late_offset(partition: str, back: Backwards, count: int) -> Finding:
    before, after = back.earlier, back.later
    marker = back.within.marker if back.within else None
    proofs = [
        Proof(before.source, f"{before.group} commits {before.committed} of {before.partition} in the transaction"),
        Proof(after.source, f"and later, in the same transaction, {after.committed}"),
    ]
    if marker is not None:
        proofs.append(Proof(marker.source, f"the marker of both: {marker.outcome}"))
    return Finding(
        mechanism="late_offset_commit",
        where=f"{before.group}, {before.partition}",
        says=f"A transaction of producer {after.producer}, epoch {after.epoch} holds two positions of {before.group} "
        "in "
        f"{before.partition}: {before.committed}, then {after.committed}. The later one wins, and the group goes "
        "back: a "
        "TxnOffsetCommit of an earlier transaction arrived late and joined this one"
        + (f"; so {count} times." if count > 1 else "."),
        certainty=LIKELY,
        proofs=list_proofs(proofs),
        ask=f"kafka-dump-log.sh --offsets-decoder --files {partition}/SEGMENT.log",
        symptom=BACK,
        rule=rules.EPOCH_PER_TRANSACTION.name,
    )


def _moved_back(partition: str, back: Backwards) -> Finding:
    before, after = back.earlier, back.later
    return Finding(
        mechanism="position_moved_back",
        where=f"{before.group}, {before.partition}",
        says=f"The position of {before.group} in {before.partition} goes back from {before.committed} to "
        f"{after.committed}. "
        "A reset looks like this, and so does a member that was no longer one.",
        certainty=UNKNOWN,
        proofs=(Proof(before.source, f"{before.committed}"), Proof(after.source, f"later {after.committed}")),
        ask=f"kafka-consumer-groups.sh --bootstrap-server host:9092 --describe --group {before.group}",
        symptom=BACK,
    )


RULES = (commit_late_offset,)
