"""Find transactions that are decided and not complete, topics that were deleted, and aborts by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import AbortCommand, DescribedTransaction, Said, StateRecord
from kafkalab.diagnose.finding import CERTAIN, UNKNOWN, Finding, Proof, describe_transaction, list_proofs
from kafkalab.diagnose.log_view import LogView
from kafkalab.diagnose.mechanisms.hanging import partitions_of
from kafkalab.protocol import rules
from kafkalab.protocol.partitions import topic_of

LASTS = "`CONCURRENT_TRANSACTIONS` does not go away"
DELETED = "A topic was deleted in a transaction"
HALF = "Half of a transaction is missing since somebody ran `abort`"
RISES = "The epoch rises with every commit"
TOPICS = "kafka-topics.sh --bootstrap-server host:9092 --describe"


def wait_for_markers(evidence: Evidence) -> Iterator[Finding]:
    """A transaction in PrepareCommit or PrepareAbort: certain if one of its partitions has no leader."""
    rows: dict[str, list[DescribedTransaction]] = {}
    for row in evidence.described:
        rows.setdefault(row.transactional_id, []).append(row)
    for seen in rows.values():
        row = seen[-1]
        if row.state not in ("PrepareCommit", "PrepareAbort"):
            continue
        without = [one for one in evidence.leaders if one.leader < 0 and one.partition in row.partitions]
        proofs = [Proof(one.source, f"decided, not complete: {one.state}") for one in seen if one.state == row.state]
        proofs[1:-1] = []
        proofs += [Proof(one.source, f"{one.partition} has no leader to take the marker") for one in without[:3]]
        yield Finding(
            mechanism="markers_wait",
            where=row.transactional_id,
            says=f"The transaction of {row.transactional_id} is in {row.state}: its outcome is decided, and markers "
            "are missing. "
            + (
                f"{without[0].partition} has no leader, so its marker waits; the next transaction waits for it."
                if without
                else "A partition without a leader would do that, and so would a coordinator that has lost track of "
                "its markers; for a moment it is normal."
            ),
            certainty=CERTAIN if without else UNKNOWN,
            proofs=list_proofs(proofs),
            ask=_ask_leaders(row),
            symptom=LASTS,
            rule=rules.LEADER_AWAITED.name if without else "",
            explains=("timeout_InitProducerId", "named_CONCURRENT_TRANSACTIONS"),
        )


def _ask_leaders(row: DescribedTransaction) -> str:
    topics = {topic_of(partition) for partition in row.partitions}
    return f"{TOPICS} --topic {topics.pop()}" if len(topics) == 1 else f"{TOPICS} --unavailable-partitions"


def delete_topic(evidence: Evidence) -> Iterator[Finding]:
    """The coordinator skipped the marker of a partition that a broker's line calls deleted."""
    deleted: dict[str, Said] = {}
    for said in evidence.all_said("topic deleted"):
        for name in partitions_of(said):
            deleted.setdefault(name, said)
    for said in evidence.all_said("marker skipped"):
        for partition in partitions_of(said):
            if partition not in deleted or not said.who:
                continue
            yield Finding(
                mechanism="deleted_topic",
                where=partition,
                says=f"{partition} was deleted while the transaction of {said.who} had it: the coordinator skipped its "
                "marker, the transaction is complete without it, and its records there are gone.",
                certainty=CERTAIN,
                proofs=list_proofs(
                    [
                        Proof(deleted[partition].source, f"{partition} was deleted"),
                        Proof(said.source, f"the coordinator of {said.who} skips it"),
                    ]
                ),
                ask=f"{TOPICS} --topic {topic_of(partition)}",
                symptom=DELETED,
                explains=(f"hanging {partition}",),
            )


def abort_by_hand(evidence: Evidence) -> Iterator[Finding]:
    """An operator's `abort` ended a transaction in one partition that its coordinator then committed."""
    for command in evidence.aborts:
        view = evidence.views.get(command.partition)
        if view is not None:
            yield from _judge_abort(command, view)


def _judge_abort(command: AbortCommand, view: LogView) -> Iterator[Finding]:
    for one in view.finished:
        marker = one.marker
        if one.first.first != command.start or marker is None or marker.commit is not False:
            continue
        later = [
            lone
            for lone in view.lone_markers
            if lone.commit and (lone.producer, lone.epoch) == (marker.producer, marker.epoch)
            and lone.offset == marker.offset + 1
        ]  # fmt: skip
        for lone in later[:1]:
            yield Finding(
                mechanism="aborted_by_hand",
                where=command.partition,
                says=f"`abort` ended the transaction of producer {marker.producer} in {command.partition} from offset "
                f"{command.start} on, while its coordinator knew it: the coordinator committed it afterwards. Its "
                "records in other partitions are committed, those here are lost.",
                certainty=CERTAIN,
                proofs=list_proofs(
                    [
                        Proof(command.source, "the operator's command"),
                        Proof(marker.source, "the ABORT that it wrote"),
                        Proof(lone.source, "the coordinator's COMMIT, which finds nothing open"),
                    ]
                ),
                ask="kafka-dump-log.sh --print-data-log of the other partitions of the transaction",
                symptom=HALF,
                explains=(f"open_transaction {command.partition}", "markers_take_offsets"),
            )


def raise_epochs(evidence: Evidence) -> Iterator[Finding]:
    """Each commit of an id raises its epoch, as a producer of client protocol 2 does: nothing is wrong."""
    for name in evidence.states:
        records = evidence.records_of(name)
        commits = [
            (before, after)
            for before, after in pairwise(records)
            if (before.state, after.state) == ("Ongoing", "PrepareCommit")
        ]
        raised = [after for before, after in commits if after.epoch == before.epoch + 1]
        if len(raised) < 2 or len(raised) < len(commits) or not _is_whole(evidence, records):
            continue
        yield Finding(
            mechanism="epoch_per_transaction",
            where=name,
            says=f"Each of the {len(raised)} commits of {name} raised its epoch by one: the client speaks client "
            "protocol 2, in which each transaction has an epoch of its own. It is not fenced.",
            certainty=CERTAIN,
            proofs=list_proofs(Proof(record.source, f"a commit, epoch {record.epoch}") for record in raised[:3]),
            ask=describe_transaction(name),
            symptom=RISES,
            rule=rules.EPOCH_PER_TRANSACTION.name,
            harmless=True,
        )


def _is_whole(evidence: Evidence, records: list[StateRecord]) -> bool:
    """Return True if no record can be missing between these: one dump, without a gap, all of it decoded."""
    views = [view for view in evidence.views.values() if view.decoded]
    if len(views) != 1 or records[-1].offset - records[0].offset + 1 > views[0].decoded:
        return False
    return not views[0].gaps and not views[0].disorder and views[0].decoded == views[0].records


RULES = (wait_for_markers, delete_topic, abort_by_hand, raise_epochs)
