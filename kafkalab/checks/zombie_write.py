"""zombie write: a record of a fenced producer id and epoch is appended after the fencing was complete."""

from __future__ import annotations

from bisect import bisect_left

from kafkalab.checks.check import Check, Examined, anomaly
from kafkalab.checks.view import View

AT_REST = ("Empty", "CompleteCommit", "CompleteAbort")
ROTATED = 1 << 16


@anomaly(
    "zombie write",
    "A record of a fenced producer id and epoch is appended after the fencing was complete.",
    needs=("log", "transactions"),
)
def zombie_write(check: Check, view: View) -> Examined:
    """Fenced by the transaction log (a later epoch or producer id is at rest there), or by a later epoch on the key."""
    fences = _fences(view)
    examined, found = 0, []
    for key, records in view.logs.items():
        newest: dict[int, tuple[int, int]] = {}
        for record in records:
            pid, epoch = record.producer_id, record.producer_epoch
            if pid < 0:
                continue
            known = newest.get(pid, (-1, -1))
            if not record.control:
                examined += 1
                steps, epochs = fences.get(pid, ([], []))
                place = bisect_left(steps, record.step)
                fence = (epochs[place - 1], steps[place - 1]) if place else (-1, -1)
                reached, step = max(known, fence)
                if epoch < reached:
                    what = "another producer id" if reached == ROTATED else f"epoch {reached}"
                    text = f"offset {record.offset} of {key} is of producer {pid}, epoch {epoch}; {what} came before"
                    found.append(check.make_finding(text, [step, record.step], [key], [record.offset]))
            if epoch > known[0]:
                newest[pid] = (epoch, record.step)
    return examined, found


def _fences(view: View) -> dict[int, tuple[list[int], list[int]]]:
    """For each producer id the steps from which on epochs below a number are fenced, both rising.

    An entry after which the coordinator goes on with an older producer id or epoch fenced nobody: its append had timed
    out.
    """
    found: dict[int, tuple[list[int], list[int]]] = {}
    owner: dict[str, int] = {}
    first: dict[tuple[str, int], int] = {}
    for number, entry in enumerate(view.entries):
        first.setdefault((entry.transactional_id, entry.producer_id), number)
    still_to_come: dict[str, tuple[int, int]] = {}
    counted = []
    for entry in reversed(view.entries):
        identity = (first[entry.transactional_id, entry.producer_id], entry.producer_epoch)
        oldest = min(identity, still_to_come.get(entry.transactional_id, identity))
        still_to_come[entry.transactional_id] = oldest
        if entry.state in AT_REST and oldest == identity:
            counted.append(entry)
    for entry in reversed(counted):
        before = owner.get(entry.transactional_id, entry.producer_id)
        owner[entry.transactional_id] = entry.producer_id
        if before != entry.producer_id:
            _add(found, before, entry.step, ROTATED)
        _add(found, entry.producer_id, entry.step, entry.producer_epoch)
    return found


def _add(found: dict[int, tuple[list[int], list[int]]], producer_id: int, step: int, epoch: int) -> None:
    steps, epochs = found.setdefault(producer_id, ([], []))
    if not epochs or epoch > epochs[-1]:
        steps.append(step)
        epochs.append(epoch)
