"""The frames that brought an anomaly about: what the trace proves, for the report of a failed test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkalab.checks.check import Finding
from kafkalab.checks.exactly_once import DUPLICATED, LOST
from kafkalab.checks.view import COMMITTED, PLAIN, View
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.trace import Frame, Trace

OF_TRANSACTIONS = ("exactly-once", "offset/output split", "torn transaction")
"""The anomalies that a late or unguarded request of a transaction brings about."""
NEWER_EPOCH = "duplicate"


@dataclass(frozen=True, slots=True)
class Cause:
    """A frame that the trace proves to be the cause of `anomalies`, and a sentence for the application's developer."""

    frame: Frame
    anomalies: tuple[str, ...]
    text: str
    key: str = ""

    def explains(self, finding: Finding) -> bool:
        """Return True if the finding is of such an anomaly, and of exactly-once about this key."""
        about = finding.anomaly != "exactly-once" or self.key in ("", *finding.keys)
        return finding.anomaly in self.anomalies and about


def find_causes(view: View, trace: Trace) -> list[Cause]:
    """Return what the trace proves, in the order in which the frames arrived."""
    asked = [f for f in trace.frames.values() if f.kind == "request" and f.received_step >= 0]
    answers = {f.of: f for f in trace.frames.values() if f.kind == "response"}
    found = [*_late_offsets(asked, answers), *_offsets_of_no_member(asked, answers, trace)]
    found += [*_late_producers(asked, answers), *_sent_under_a_newer_epoch(view, trace)]
    return sorted(found, key=lambda cause: cause.frame.received_step)


def _list_accepted(frame: Frame, answers: dict[str, Frame]) -> list[str]:
    """Return the partitions whose offsets a TxnOffsetCommit had accepted."""
    answer = answers.get(frame.id)
    return [key for key, error in answer.body.errors.items() if error is Error.NONE] if answer is not None else []


def _late_offsets(asked: list[Frame], answers: dict[str, Frame]) -> Iterator[Cause]:
    """Yield each TxnOffsetCommit that arrived after the EndTxn of its own transaction, and was accepted."""
    ends = [f for f in asked if f.name == "EndTxn"]
    for frame in asked:
        body = frame.body
        if not isinstance(body, TxnOffsetCommit):
            continue
        overtaken = (
            e for e in ends
            if e.body.transactional_id == body.transactional_id
            and frame.sent_step < e.sent_step and e.received_step < frame.received_step
        )  # fmt: skip
        end = next(overtaken, None)
        for key in _list_accepted(frame, answers) if end is not None else ():
            assert end is not None
            text = (
                f"{frame.id} was sent before {end.id} and arrived after it, in the next transaction of "
                f"{body.transactional_id!r}: the group goes on reading {key} at its old offset {body.offsets[key]}. A "
                "client that keeps its producer epoch from one transaction to the next cannot prevent that: after an "
                "unanswered TxnOffsetCommit begin with a new producer, or use a client with transaction version 2"
            )
            yield Cause(frame, OF_TRANSACTIONS, text, key)


def _offsets_of_no_member(asked: list[Frame], answers: dict[str, Frame], trace: Trace) -> Iterator[Cause]:
    """Yield each accepted TxnOffsetCommit that named no member although its group had some."""
    groups = [e for e in trace.events if e.kind == "state" and e.name == "group"]
    for frame in asked:
        body = frame.body
        if not isinstance(body, TxnOffsetCommit) or body.member_id or body.generation_id >= 0:
            continue
        before = [e for e in groups if e.step < frame.received_step and e.data.get("group") == body.group_id]
        if not before or not before[-1].data.get("members"):
            continue
        for key in _list_accepted(frame, answers):
            text = (
                f"{frame.id} named neither a member nor a generation although the group {body.group_id!r} had members, "
                f"so nothing fenced it: pass the consumer's group metadata to send_offsets_to_transaction"
            )
            yield Cause(frame, OF_TRANSACTIONS, text, key)


def _late_producers(asked: list[Frame], answers: dict[str, Frame]) -> Iterator[Cause]:
    """Yield each InitProducerId that arrived after a later one of its transactional id, and fenced that producer."""
    inits = [f for f in asked if isinstance(f.body, InitProducerId) and f.body.transactional_id is not None]
    for frame in inits:
        answer = answers.get(frame.id)
        for later in inits:
            same = later.body.transactional_id == frame.body.transactional_id and later.sender == frame.sender
            overtook = frame.sent_step < later.sent_step and later.received_step < frame.received_step
            if same and overtook and answer is not None and answer.body.error is Error.NONE:
                text = (
                    f"{frame.id} of a producer that {frame.sender} had given up arrived after {later.id} of its "
                    f"successor, and fenced it: close a producer before the next one of "
                    f"{frame.body.transactional_id!r} begins, and begin with a new one when it is fenced"
                )
                yield Cause(frame, (*OF_TRANSACTIONS, "zombie write", "hanging transaction"), text)
                break


def _sent_under_a_newer_epoch(view: View, trace: Trace) -> Iterator[Cause]:
    """Yield the Produce by which a client's library sent an idempotent batch again under a raised epoch."""
    names = {f.sender: f.body.client_software_name for f in trace.frames.values() if isinstance(f.body, ApiVersions)}
    for send in view.sends:
        of_one = [r for r in send.records if r.producer_id == send.invoke.producer_id]
        newer = [r for r in of_one if r.producer_epoch > min(one.producer_epoch for one in of_one)]
        if newer and (frame := trace.frames.get(newer[0].frame)) is not None:
            client = names.get(send.invoke.process, "the client")
            text = (
                f"{client} sent an unanswered batch again in {frame.id}, under epoch {newer[0].producer_epoch} instead "
                f"of {of_one[0].producer_epoch}, so that no leader could know it: the client library broke "
                "idempotence, not the application"
            )
            yield Cause(frame, (NEWER_EPOCH,), text, send.invoke.key)


def deciding_frames(finding: Finding, view: View, trace: Trace) -> list[str]:
    """Return the frames that decided a finding of exactly-once: that of its last decision, or of the offsets."""
    if finding.anomaly != "exactly-once" or not finding.offsets:
        return []
    key, offset = finding.keys[0], finding.offsets[0]
    steps: list[int] = []
    if f" is {DUPLICATED}: " in finding.text:
        made = [r for k in view.data_keys for r in view.data(k) if r.step in finding.steps and r.headers]
        markers = [view.markers[r.key, r.offset] for r in made if (r.key, r.offset) in view.markers]
        decisions = [d for m in markers if m.control == "COMMIT" and (d := view.decision(m)) is not None]
        steps = [max(d.step for d in decisions)] if decisions else [max((r.step for r in made), default=-1)]
    elif f" is {LOST}: " in finding.text:
        commits = (r for r in view.offset_commits if (r.record_key or "").endswith(f"/{key}"))
        beyond = [
            r for r in commits if view.outcomes[r.key, r.offset] in (COMMITTED, PLAIN) and int(r.value or -1) > offset
        ]
        steps = [min(r.step for r in beyond)] if beyond else []
    return [name for step in steps if step >= 0 and (name := _frame_of(trace, step))]


def _frame_of(trace: Trace, step: int) -> str:
    """Return the request that led to the event of a step; "" if none did."""
    while step >= 0:
        event = trace.events[step]
        frame = trace.frames.get(event.frame)
        if frame is not None and frame.kind == "request":
            return frame.id
        step = event.cause
    return ""
