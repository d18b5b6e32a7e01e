"""Which open transactions hang: those whose partition no coordinator has on its list (facts 1.13)."""

from __future__ import annotations

from kafkalab.client.admin.results import HangingTransaction, TransactionDescription


def hanging_among(
    candidates: list[HangingTransaction],
    transactional_ids: dict[int, str],
    descriptions: dict[str, TransactionDescription | None],
) -> list[HangingTransaction]:
    """Of open transactions that are older than any timeout: those that can expect no marker.

    A producer id without a transactional id, an id that its coordinator no longer knows, or a partition that the id's
    description does not name: nobody will ever write the marker.
    """
    found = []
    for candidate in candidates:
        tid = transactional_ids.get(candidate.producer.producer_id)
        description = descriptions.get(tid) if tid is not None else None
        if description is None or candidate.partition not in description.partitions:
            found.append(candidate)
    return found
