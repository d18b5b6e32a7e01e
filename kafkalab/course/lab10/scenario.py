"""The scenarios of lab 10: two packers of one group, and one of them sleeps."""

from __future__ import annotations

from typing import Any

from kafkalab.course.real_sessions import load_session
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.programs.packing import ORDERS, PARCELS, VALUES
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario

JOINS_MS, ASLEEP_MS, AWAKE_MS = 10_000, 4_000, 55_000
"""ben starts; anna falls asleep, with her parcels written; she wakes up."""
TIMEOUT_MS = 20_000


def packers(
    *faults: Fault, seed: int = 1, profile: str = "4.x/TV2", title: str = "Two packers of one group", joins_ms: int,
    first: dict[str, Any], both: dict[str, Any] | None = None,
) -> Scenario:  # fmt: skip
    """Two orders, and two members of the group `packers`; `first` are arguments of `anna`, `both` of both members."""
    shared = both or {}
    return Scenario(
        title=title,
        profile=profile,
        seed=seed,
        topics={ORDERS: 1, PARCELS: 1},
        records={f"{ORDERS}-0": VALUES},
        programs=(
            Program("anna", "packer", {"transactional_id": "packer-1", **first, **shared}),
            Program("ben", "packer", {"transactional_id": "packer-2", "start_after_ms": joins_ms, **shared}),
        ),
        faults=faults,
    )


@register_scenario
def lab10(seed: int = 1, profile: str = "4.x/TV2", **both: object) -> Scenario:
    """`anna` falls asleep with her parcels written and no offsets sent; `ben` gets her partition; `anna` wakes up.

    `both` are further arguments of both packers.
    """
    faults = (Pause("anna", at_ms=ASLEEP_MS), Resume("anna", at_ms=AWAKE_MS))
    return packers(
        *faults, seed=seed, profile=profile, title="A packer sleeps before it sends its offsets", joins_ms=JOINS_MS,
        first={"work_ms": 2_000}, both=both,
    )  # fmt: skip


@register_scenario
def pending_offsets(awake_ms: int = 20_000, seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """`anna` falls asleep one call later: her offsets are sent, and her transaction is not decided.

    `anna` wakes up at `awake_ms`; if that is 0 she crashes instead. The session lasts 10 s, the transaction 20 s.
    """
    asleep = (Pause("anna", at_ms=ASLEEP_MS), Resume("anna", at_ms=awake_ms))
    return packers(
        *(asleep if awake_ms else (Crash("anna", at_ms=ASLEEP_MS),)),
        seed=seed,
        profile=profile,
        title="A packer sleeps after it has sent its offsets",
        joins_ms=5_000,
        first={"late_ms": 2_000},
        both={"session_timeout_ms": 10_000, "transaction_timeout_ms": TIMEOUT_MS},
    )


def aiokafka_session() -> Scenario:
    """Return what aiokafka 0.14 sent, and when, while its first TxnOffsetCommit was late, on a cluster of level 2.

    `live.save` wrote it after `for_real.pack_twice` had run on a LiveCluster of level 2.
    """
    return load_session(__package__, "aiokafka")


def late_offset_session() -> Scenario:
    """Return what librdkafka 2.16 sent, and when, while the offset of an aborted transaction was late.

    `live.save` wrote it after `for_real.lose_one` had run on a LiveCluster of level 2.
    """
    return load_session(__package__, "librdkafka")
