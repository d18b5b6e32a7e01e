"""Known bugs of exactly-once semantics that no scenario shows, with the reason."""

from __future__ import annotations

REASONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Two threads of one process met in the wrong moment; here a handler runs to its end before anything else does.",
        ("KAFKA-9777", "KAFKA-9807", "KAFKA-9835", "KAFKA-15653", "KAFKA-19012", "KAFKA-20114"),
    ),
    (
        "A client was wrong, not a broker; the clients here are today's, or those of 0.11 and 1.0.",
        ("KAFKA-7296", "KAFKA-13412", "KAFKA-13598", "KAFKA-14831", "KAFKA-18019", "KAFKA-18227", "KAFKA-18401")
        + ("KAFKA-19176", "KAFKA-19250"),
    ),
    (
        "A coordinator that reads a partition does so in one step here, so an older load has nothing old to serve.",
        ("KAFKA-18137",),
    ),
    (
        "The transition table, or an exception, stopped a coordinator's own work; no rule takes that check back in.",
        ("KAFKA-5415", "KAFKA-8803", "KAFKA-14880"),
    ),
    (
        "The lab's group coordinator was made after the cure, and no rule takes it away.",
        ("KAFKA-8335", "KAFKA-17507"),
    ),
    (
        "Only what a client was told in an answer; the answers here are today's.",
        ("KAFKA-16386", "KAFKA-18654", "KAFKA-18660", "KAFKA-18662"),
    ),
    ("Brokers of different versions in one cluster are not modelled.", ("KAFKA-20322",)),
    ("Superseded by KIP-360, whose rule is above.", ("KAFKA-6817", "KAFKA-7298")),
)
