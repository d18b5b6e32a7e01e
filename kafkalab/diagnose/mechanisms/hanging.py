"""Transactions that nobody will end: what opened them, and why their marker is missing."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import HangingRow, Said
from kafkalab.diagnose.finding import (
    CERTAIN,
    LIKELY,
    TOOL,
    UNKNOWN,
    Finding,
    Proof,
    abort_hanging,
    describe_producers,
    find_hanging,
    list_proofs,
)
from kafkalab.diagnose.log_view import LogTransaction, LogView
from kafkalab.protocol import rules

HANGS = "A transaction never ends"
SKIPPED = "A `read_committed` consumer is stuck since brokers were restarted"
STUCK = "A `read_committed` consumer is stuck"
UNSTABLE = "The new owner of a partition reads nothing for a while"
OLDER_MS = 1_000
"""A coordinator answers EndTxn before it sends the markers, so the next transaction's records may be a little older."""
OFFSETS = "__consumer_offsets-"
ENDED = ("CompleteCommit", "CompleteAbort", "Empty", "Dead")
"""States of a transactional id in which no transaction is open."""


def name_hanging(evidence: Evidence) -> Iterator[Finding]:
    """A row of `find-hanging`: the tool asked the partition and the coordinator, and only the partition has it open."""
    for row in evidence.hanging:
        skipped = [said for said in evidence.all_said("marker skipped") if row.partition in partitions_of(said)]
        late = _opened_late(evidence, row)
        who = f"producer {row.producer}, epoch {row.epoch}"
        proofs = [Proof(row.source, f"find-hanging: open in {row.partition} from offset {row.start} on, by {who}")]
        if skipped:
            cause, why, rule = "skipped_marker", "its coordinator skipped the marker", rules.LEADER_AWAITED.name
            proofs += [Proof(said.source, "the coordinator took the partition for deleted") for said in skipped[:2]]
        elif late is not None:
            cause, rule = "late_batch", rules.VERIFICATION.name
            why = "a batch that was later than the marker of its transaction opened it again"
            why = why if is_older(late) else f"probably {why}"
            proofs += _prove_late(late)
        else:
            cause, why, rule = "", "the lines do not show why", rules.VERIFICATION.name
        yield Finding(
            mechanism="hanging",
            where=row.partition,
            cause=cause,
            says=f"The transaction of {who} is open in {row.partition} since offset {row.start}, and no coordinator "
            f"will end it: {why}. Readers with read_committed wait at offset {row.start}.",
            certainty=CERTAIN,
            proofs=list_proofs(proofs),
            ask=describe_producers(row.partition),
            act=abort_hanging(row.partition, row.start),
            symptom=SKIPPED if skipped else UNSTABLE if row.partition.startswith(OFFSETS) else HANGS,
            bugs=("KAFKA-20734",) if skipped else ("KAFKA-14402",),
            rule=rule,
        )


def partitions_of(said: Said) -> list[str]:
    """Return the partitions of a line that names several: `"a-0, b-1"`."""
    return [name.strip() for name in said.partition.split(",")]


def _opened_late(evidence: Evidence, row: HangingRow) -> LogTransaction | None:
    """Return the transaction of the row in a dump, if a marker of the same epoch had ended the producer's before."""
    for view in evidence.views.values():
        if view.partition != row.partition and not view.partition.startswith("("):
            continue
        found = view.open.get(row.producer)
        if found and found.first.first == row.start and _is_late(found):
            return found
    return None


def _is_late(found: LogTransaction) -> bool:
    return found.after is not None and found.after.epoch == found.first.epoch


def is_older(found: LogTransaction) -> bool:
    """Return True if the first batch was made OLDER_MS or more before the marker that stands in front of it."""
    return found.after is not None and 0 <= found.first.timestamp <= found.after.timestamp - OLDER_MS


def _prove_late(late: LogTransaction) -> list[Proof]:
    assert late.after is not None
    what = late.after.outcome
    return [
        Proof(late.after.source, f"the {what} of this producer and epoch, at offset {late.after.offset}"),
        Proof(late.first.source, f"the batch after it, at offset {late.first.first}, of the same producer and epoch"),
    ]


def skip_marker(evidence: Evidence) -> Iterator[Finding]:
    """The coordinator's line that it skips a partition without a leader, with what is known of that partition."""
    hanging = {row.partition for row in evidence.hanging}
    seen: set[tuple[str, str]] = set()
    for said in evidence.all_said("marker skipped"):
        for partition in partitions_of(said):
            if partition in hanging or (partition, said.who) in seen:
                continue
            seen.add((partition, said.who))
            yield _judge_skip(evidence, said, partition)


def _judge_skip(evidence: Evidence, said: Said, partition: str) -> Finding:
    producers = {one.producer for one in evidence.all_said("id initialized") if one.who == said.who}
    ended = [row for row in evidence.described if row.transactional_id == said.who]
    producers |= {row.producer for row in ended}
    ended = [row for row in ended if row.state in ENDED]
    opened = [row for row in evidence.producers if row.start >= 0 and row.partition in (partition, "")]
    opened = [row for row in opened if row.producer in producers]
    proofs = [Proof(said.source, f"the coordinator of {said.who} took {partition} for deleted and sent it no marker")]
    proofs += [Proof(row.source, f"the partition has it open from offset {row.start} on") for row in opened[:1]]
    proofs += [Proof(row.source, f"for the coordinator it is over: {row.state}") for row in ended[:1]]
    is_open = bool(opened) and bool(ended) and opened[0].partition == partition
    exists = is_open or partition in evidence.views or any(row.partition == partition for row in evidence.producers)
    return Finding(
        mechanism="hanging",
        where=partition,
        cause="skipped_marker",
        says=f"The marker of {said.who}'s transaction was never sent to {partition}: its coordinator took the "
        "partition for deleted. "
        + (
            "The transaction hangs there."
            if is_open
            else "The partition exists, so the transaction hangs there if it had records in it."
            if exists
            else "If it was deleted, nothing is wrong. If it exists, it had no leader then, and the transaction hangs "
            "there."
        ),
        certainty=CERTAIN if is_open else LIKELY if exists else UNKNOWN,
        proofs=list_proofs(proofs),
        ask=find_hanging(partition),
        act=abort_hanging(partition, opened[0].start) if opened else "",
        symptom=SKIPPED,
        bugs=("KAFKA-20734",),
        rule=rules.LEADER_AWAITED.name,
        explains=(f"open_transaction {partition}",) if opened else (),
    )


def reopen_after_end(evidence: Evidence) -> Iterator[Finding]:
    """A dump that ends with a transaction open, though the producer's last one had ended in the same epoch."""
    hanging = {(row.producer, row.start) for row in evidence.hanging}
    for view in evidence.views.values():
        for producer, found in view.open.items():
            if (producer, found.first.first) in hanging:
                continue
            if _is_late(found):
                yield _judge_late(evidence, view, found)


def _judge_late(evidence: Evidence, view: LogView, found: LogTransaction) -> Finding:
    batch, marker = found.first, found.after
    assert marker is not None
    who = f"producer {batch.producer}, epoch {batch.epoch}"
    proofs = _prove_late(found)
    over = [row for row in evidence.described if row.producer == batch.producer and row.state in ENDED]
    over_in_log = [
        record
        for name in evidence.states
        for record in evidence.records_of(name)[-1:]
        if record.producer == batch.producer and record.state in ENDED
    ]
    proofs += [Proof(row.source, f"for the coordinator it is over: {row.state}") for row in over[:1]]
    proofs += [Proof(one.source, f"the coordinator's last record of it: {one.state}") for one in over_in_log[:1]]
    older = is_older(found)
    if older:
        proofs.append(Proof(batch.source, f"its time, {batch.timestamp}, is before the marker's, {marker.timestamp}"))
    unstable = [
        said
        for said in evidence.all_said("offsets unstable")
        if any(partition in partitions_of(said) for _, partition in found.offsets)
    ]
    proofs += [Proof(said.source, "the group waits for its end") for said in unstable[:2]]
    likely = older or bool(over) or bool(over_in_log) or bool(unstable)
    return Finding(
        mechanism="hanging" if likely else "open_transaction",
        where=view.partition,
        cause="late_batch" if likely else "",
        says=f"A transaction of {who} is open in {view.partition} since offset {batch.first}. "
        + (
            "It is later than the marker of its transaction: it hangs, and readers with read_committed wait there."
            if likely
            else "It follows a marker of the same epoch: a new transaction looks like this, and so does a late batch."
        ),
        certainty=LIKELY if likely else UNKNOWN,
        proofs=list_proofs(proofs),
        ask=find_hanging(view.partition),
        act=abort_hanging(view.partition, batch.first) if likely else "",
        symptom=UNSTABLE if view.partition.startswith(OFFSETS) else HANGS,
        bugs=("KAFKA-14402",),
        rule=rules.VERIFICATION.name,
        explains=("pending_offsets",) if found.offsets else (),
    )


def wait_for_open(evidence: Evidence) -> Iterator[Finding]:
    """A transaction that is open by describe-producers or a dump, of which nothing tells whether it will end."""
    known = {(row.producer, row.start) for row in evidence.hanging}
    for row in evidence.producers:
        if row.start < 0 or (row.producer, row.start) in known:
            continue
        known.add((row.producer, row.start))
        yield _leave_open(row.partition, row.producer, row.epoch, row.start, Proof(row.source, "a transaction is open"))
    for view in evidence.views.values():
        for producer, found in view.open.items():
            if (producer, found.first.first) in known or _is_late(found):
                continue
            proof = Proof(found.first.source, "the batch that opens it; no marker of this producer follows")
            yield _leave_open(view.partition, producer, found.first.epoch, found.first.first, proof)


def _leave_open(partition: str, producer: int, epoch: int, start: int, proof: Proof) -> Finding:
    where = partition or "a partition that the text does not name"
    return Finding(
        mechanism="open_transaction",
        where=where,
        says=f"A transaction of producer {producer}, epoch {epoch} is open in {where} since offset {start}; readers "
        "with read_committed wait there. Whether it will end is not in the text.",
        certainty=UNKNOWN,
        proofs=(proof,),
        ask=find_hanging(partition),
        symptom=STUCK,
        rule=rules.LSO_BOUND.name,
    )


def wait_for_offsets(evidence: Evidence) -> Iterator[Finding]:
    """A group's new member waits for offsets of an open transaction, and no dump shows which."""
    lines = list(evidence.all_said("offsets unstable"))
    if lines:
        yield Finding(
            mechanism="pending_offsets",
            where=lines[0].partition or lines[0].process,
            says=f"A consumer waits for the position of {lines[0].partition}: a transaction that holds an offset "
            "commit of it "
            "is open. Whether that will end is not in the text.",
            certainty=UNKNOWN,
            proofs=list_proofs(Proof(said.source, "the offset is pending") for said in [*lines[:1], *lines[-1:]]),
            ask=f"{TOOL} find-hanging --topic __consumer_offsets",
            symptom=UNSTABLE,
            rule=rules.STABLE_OFFSETS.name,
        )


RULES = (name_hanging, skip_marker, reopen_after_end, wait_for_open, wait_for_offsets)
