"""A consumer's subscription state by itself: positions, and why they moved."""

from __future__ import annotations

from kafkalab.client.consumer.subscription_state import SubscriptionState


def test_a_position_that_did_not_come_from_reading_is_reported_once_with_the_reason() -> None:
    subscriptions = SubscriptionState()
    subscriptions.assign(["t-0", "t-1"])
    subscriptions.initialise("t-0", 3)
    subscriptions.advance("t-0", 4)
    assert (subscriptions.positions, subscriptions.take_moved(["t-0"])) == ({"t-0": 4}, {"t-0": "assign"})
    subscriptions.seek("t-1", 9)
    subscriptions.reset("t-0", 2)
    assert (subscriptions.take_moved(["t-0"]), subscriptions.moved) == ({"t-0": "seek"}, {"t-1": "seek"})
    assert (subscriptions.take_moved(["t-0", "t-1"]), subscriptions.moved) == ({"t-1": "seek"}, {})


def test_a_seek_wins_over_a_position_that_was_being_looked_up() -> None:
    subscriptions = SubscriptionState()
    subscriptions.assign(["t-0"])
    version = subscriptions.version
    subscriptions.seek("t-0", 5)
    subscriptions.initialise("t-0", 3)
    assert (subscriptions.positions, subscriptions.moved) == ({"t-0": 5}, {"t-0": "seek"})
    assert subscriptions.version > version
