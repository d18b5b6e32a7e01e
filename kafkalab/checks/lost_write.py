"""lost-write: an acknowledged, committed value that nobody polled although a poll of its key passed it."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.checks.check import Check, Examined, Finding, anomaly
from kafkalab.checks.reading import collect_polls, passages, passed_over
from kafkalab.checks.transactions import Send
from kafkalab.checks.view import COMMITTED, PLAIN, View


@anomaly(
    "lost-write",
    "An acknowledged, committed value was never polled, though a poll of its key passed it.",
    needs=("operations", "log", "reads", "polls"),
)
def lost_write(check: Check, view: View) -> Examined:
    """A poll that began behind the offset, by seek or by committed offset, has not come past it."""
    given, passed = collect_polls(view), passages(view)
    told = {(t.client, t.number) for t in view.transactions if t.has_ended("commit", "ok")}
    committed = [s for s in view.sends if is_committed(view, s, told)]
    sends = [s for s in committed if s.offset >= 0 and s.invoke.key in passed]
    found = []
    for send in sends:
        key, offset, value = send.invoke.key, send.offset, send.invoke.value
        if value in given.get((key, offset), ()) or any(r.removed in ("compacted", "deleted") for r in send.records):
            continue
        step = passed_over(passed[key], offset)
        if step >= 0 and send.end is not None:
            gone = [r.removed_step for r in send.records if r.removed]
            text = f"{value!r} was acknowledged at offset {offset} of {key}; a poll passed it, and no consumer got it"
            found.append(check.make_finding(text, [send.invoke.step, send.end.step, step, *gone], [key], [offset]))
    return len(sends), [*found, *_never_written(check, view, committed, passed)]


def _never_written(
    check: Check, view: View, committed: list[Send], passed: dict[str, list[tuple[int, int, int]]]
) -> Iterator[Finding]:
    """A leader that knows a batch but not its offset (DUPLICATE_SEQUENCE_NUMBER) vouches for it all the same."""
    for send in committed:
        key, end = send.invoke.key, send.end
        if not send.acknowledged or send.offset >= 0 or send.invoke.producer_id < 0 or send.records or end is None:
            continue
        before = [r.offset for r in view.logs.get(key, ()) if r.step < send.invoke.step]
        step = passed_over(passed.get(key, []), max(before, default=-1) + 1)
        if step > end.step:
            text = f"{send.invoke.value!r} was acknowledged on {key}, but no log ever held it; a poll passed it"
            yield check.make_finding(text, [send.invoke.step, end.step, step], [key])


def is_committed(view: View, send: Send, told: set[tuple[str, int]]) -> bool:
    """By the log or, of a transaction, by what its client was `told`; outside of one by the acknowledgement."""
    place = (send.invoke.key, send.offset)
    record = view.at.get(place)
    is_there = record is not None and record in send.records
    if is_there and view.outcomes[place] in (COMMITTED, PLAIN):
        return True
    if send.invoke.transaction < 1:
        return send.acknowledged and not is_there
    return (send.invoke.client, send.invoke.transaction) in told
