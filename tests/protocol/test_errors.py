"""Each error has Kafka's message."""

from __future__ import annotations

from kafkalab.protocol.error_messages import MESSAGES
from kafkalab.protocol.errors import Error


def test_every_error_has_a_message_and_every_message_an_error() -> None:
    assert list(MESSAGES) == sorted(MESSAGES, key=lambda name: Error[name].code)
    assert {error.name for error in Error} == set(MESSAGES)


def test_a_message_is_kafkas() -> None:
    """From `org.apache.kafka.common.protocol.Errors` of 4.3.1; NONE has no exception, and says its name."""
    assert Error.INVALID_TXN_STATE.message == "The producer attempted a transactional operation in an invalid state."
    assert Error.UNKNOWN_MEMBER_ID.message == "The coordinator is not aware of this member."
    assert Error.NONE.message == "NONE"
