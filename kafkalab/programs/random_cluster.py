"""Clusters by chance: brokers, settings, a fresh start, epochs near their end, and what clients may not do."""

from __future__ import annotations

from typing import Any

from kafkalab.programs.groups import GROUP
from kafkalab.programs.randomness import Pick, once_in
from kafkalab.protocol.acls import ALL, DESCRIBE, IDEMPOTENT_WRITE, READ, WRITE, Deny
from kafkalab.protocol.transaction_metadata import PRODUCER_EPOCH_MAX
from kafkalab.sim.scenario import Program

BROKERS = (3, 3, 3, 2, 4, 5, 1)
SETTINGS: dict[str, tuple[int, ...]] = {
    "min_insync_replicas": (2,),
    "transaction_state_log_min_isr": (1,),
    "transaction_state_log_replication_factor": (1, 2),
    "transaction_abort_cleanup_interval_ms": (1_000,),
    "transaction_max_timeout_ms": (60_000,),
    "group_initial_rebalance_delay_ms": (0,),
    "group_min_session_timeout_ms": (1_000,),
    "group_max_size": (1,),
    "group_new_member_join_timeout_ms": (5_000,),
    "offsets_commit_timeout_ms": (500,),
    "add_partitions_retry_backoff_max_ms": (20,),
    "replica_lag_time_max_ms": (3_000, 10_000),
    "replica_fetch_backoff_ms": (100,),
    "coordinator_load_ms": (0, 500),
    "producer_id_block_size": (1, 10),
}
"""Broker settings and the values that are drawn beside the default. None of them weakens a guarantee."""


def random_config(pick: Pick, profile: str, brokers: int) -> dict[str, Any]:
    """Draw up to three settings; under "4.x/TV2" the cluster may also begin at a lower `transaction.version`.

    A topic of transactions with more replicas than `brokers` could never be created, and no program would end.
    """
    config: dict[str, Any] = {}
    for _ in range(max(pick.number(0, 5) - 2, 0)):
        name = pick.one_of(list(SETTINGS))
        value = pick.one_of(SETTINGS[name])
        config[name] = min(value, brokers) if name.endswith("_replication_factor") else value
    if profile == "4.x/TV2" and once_in(pick, 6):
        config["transaction_version"] = pick.number(0, 1)
    return config


def random_epochs(pick: Pick, transactional_ids: list[str]) -> dict[str, int]:
    """Draw ids that have been in use until shortly before their epoch's end: the next ones exhaust it."""
    return {tid: PRODUCER_EPOCH_MAX - pick.number(1, 6) for tid in transactional_ids if once_in(pick, 2)}


def random_denial(pick: Pick, programs: list[Program], transactional_ids: list[str]) -> Deny:
    """Draw one thing that one client may not do."""
    operation, resource = pick.one_of(
        (
            (WRITE, "Topic:out"), (READ, "Topic:in"), (READ, "Topic:out"), (DESCRIBE, "Topic:out"),
            (READ, f"Group:{GROUP}"), (DESCRIBE, f"Group:{GROUP}"), (ALL, "Group:*"), (IDEMPOTENT_WRITE, "Cluster"),
            *((kind, f"TransactionalId:{tid}") for tid in transactional_ids for kind in (WRITE, DESCRIBE))
        )
    )  # fmt: skip
    return Deny(pick.one_of([program.node for program in programs]), operation, resource)
