"""The scenarios of lab 9: a shop whose orders are booked in two places, and two sessions of real clients."""

from __future__ import annotations

from typing import Any

from kafkalab.course.real_sessions import load_session
from kafkalab.faults.fault import Fault
from kafkalab.programs.paid_orders import DELIVERIES, PAYMENTS
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario

TOPICS = {PAYMENTS: 1, DELIVERIES: 1}


@register_scenario
def lab09(
    profile: str = "4.x/TV1", orders: tuple[str, ...] = ("tea", "jam"), cancelled: tuple[str, ...] = ("jam",),
    seed: int = 1, faults: tuple[Fault, ...] = (), **more: Any,
) -> Scenario:  # fmt: skip
    """Orders are booked one after the other, each in a transaction; those of `cancelled` are aborted.

    `more` is as in `Scenario`.
    """
    return Scenario(
        title="A shop that books each order in two places",
        profile=profile,
        seed=seed,
        topics=TOPICS,
        programs=(Program("shop", "paid_orders", {"orders": list(orders), "cancelled": list(cancelled)}),),
        faults=faults,
        **more,
    )


@register_scenario
def commit_in_doubt(then: str = "again", profile: str = "4.x/TV1", seed: int = 1) -> Scenario:
    """One order, whose commit gets no answer in ten seconds; `then` is what the shop does: see `in_doubt`."""
    return Scenario(
        title=f"The commit timed out: {then}",
        profile=profile,
        seed=seed,
        topics=TOPICS,
        programs=(Program("shop", "in_doubt", {"then": then}),),
    )


def librdkafka_session() -> Scenario:
    """Return what librdkafka 2.16 sent, and when, while its first EndTxn was held (data/torn_for_real.klab)."""
    return load_session(__package__, "librdkafka")


def java_session() -> Scenario:
    """The same with Java's client of Kafka 4.3, which speaks version 2 (data/torn_for_real_java.klab)."""
    return load_session(__package__, "java")


def lost_session() -> Scenario:
    """Return what librdkafka 2.16 sent, and when, while the EndTxn of its second transaction, an abort, was held.

    `live.save` wrote it after `for_real.lose` had run on a LiveCluster of level 2.
    """
    return load_session(__package__, "lost")
