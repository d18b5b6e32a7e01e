"""lost-write: an acknowledged, committed value that nobody polled although some poll of its key came past it."""

from __future__ import annotations

from kafkalab.checks.check import FORBIDDEN, Check, Examined
from kafkalab.checks.reading import passages, passed_over, polled
from kafkalab.checks.transactions import Send
from kafkalab.checks.view import COMMITTED, PLAIN, View


def examine(check: Check, view: View) -> Examined:
    """A poll that began behind the offset, by seek or by committed offset, has not come past it."""
    given, passed = polled(view), passages(view)
    sends = [s for s in view.sends if s.offset >= 0 and s.invoke.key in passed and is_committed(view, s)]
    found = []
    for send in sends:
        key, offset, value = send.invoke.key, send.offset, send.invoke.value
        if value in given.get((key, offset), ()) or any(r.removed in ("compacted", "deleted") for r in send.records):
            continue
        step = passed_over(passed[key], offset)
        if step >= 0 and send.end is not None:
            gone = [r.removed_step for r in send.records if r.removed]
            text = f"{value!r} was acknowledged at offset {offset} of {key}; a poll came past it, nobody was given it"
            found.append(check.found(text, [send.invoke.step, send.end.step, step, *gone], [key], [offset]))
    return len(sends), found


def is_committed(view: View, send: Send) -> bool:
    """Acknowledged, and of no transaction or of one that committed."""
    place = (send.invoke.key, send.offset)
    record = view.at.get(place)
    if record is not None and record in send.records:
        return view.outcomes[place] in (COMMITTED, PLAIN)
    if send.invoke.transaction < 1:
        return send.acknowledged
    return any(
        t.ended("commit", "ok")
        for t in view.transactions
        if (t.client, t.number) == (send.invoke.client, send.invoke.transaction)
    )


CHECK = Check(
    name="lost-write",
    policy=FORBIDDEN,
    meaning="An acknowledged, committed value was never polled, though a poll of its key came past it.",
    examine=examine,
)
