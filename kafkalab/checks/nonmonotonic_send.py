"""nonmonotonic-send and int-nonmonotonic-send: a later send of a producer to a key gets an earlier offset."""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, anomaly
from kafkalab.checks.transactions import Send
from kafkalab.checks.view import View


def examine(check: Check, view: View) -> Examined:
    """Sends in the order of their sequences, which is the application's; without idempotence in that of sending."""
    inside = check.name.startswith("int-")
    examined, found = 0, []
    last: dict[tuple[str, str, int], Send] = {}
    for send in view.sends:
        if send.offset < 0 or send.end is None:
            continue
        place = (send.invoke.client, send.invoke.key, send.invoke.producer_id)
        before = last.get(place)
        if before is not None and before.end is not None:
            same = 1 <= send.invoke.transaction == before.invoke.transaction
            if same is inside:
                examined += 1
                if send.offset < before.offset:
                    key = send.invoke.key
                    text = (
                        f"{send.invoke.client} sent {before.invoke.value!r}, then {send.invoke.value!r} to {key}; "
                        f"they lie at offsets {before.offset} and {send.offset}"
                    )
                    policy = FORBIDDEN if send.invoke.producer_id >= 0 else ALLOWED
                    steps = [before.invoke.step, send.invoke.step, before.end.step, send.end.step]
                    found.append(check.make_finding(text, steps, [key], [before.offset, send.offset], policy))
        if before is None or send.offset > before.offset:
            last[place] = send
    return examined, found


BETWEEN = anomaly(
    "nonmonotonic-send",
    "A later send of a producer to a key gets an earlier offset; legal without idempotence.",
    needs=("operations",),
)(examine)
INSIDE = anomaly(
    "int-nonmonotonic-send",
    "Inside one transaction a later send to a key gets an earlier offset.",
    needs=("operations",),
)(examine)
