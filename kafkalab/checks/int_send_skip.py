"""int-send-skip: a foreign record lands between two sends of one transaction.

Always allowed: transactions interleave.
"""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, Check, Examined, anomaly
from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import View
from kafkalab.history.schema import LogRecord


@anomaly(
    "int-send-skip",
    "A foreign record lands between two sends of one transaction: transactions interleave.",
    ALLOWED,
    needs=("operations", "log"),
)
def int_send_skip(check: Check, view: View) -> Examined:
    """One finding for each pair of neighbours in a transaction that has something of another one in between."""
    examined, found = 0, []
    for key in view.data_keys:
        last: dict[str, tuple[int, LogRecord]] = {}
        for number, record in enumerate(view.data(key)):
            owner: ClientTxn | None = view.transaction_of.get((key, record.offset))
            if owner is None:
                continue
            if owner.id in last:
                examined += 1
                place, before = last[owner.id]
                if place + 1 < number:
                    text = f"others lie between {before.offset} and {record.offset} of {key}, both of {owner.id}"
                    steps, offsets = [before.step, record.step], [before.offset, record.offset]
                    found.append(check.make_finding(text, steps, [key], offsets))
            last[owner.id] = (number, record)
    return examined, found
