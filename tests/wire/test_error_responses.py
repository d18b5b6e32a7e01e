"""A response that says nothing but an error can be written and read in every version that a broker offers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from kafkalab.protocol.error_responses import carries_error, error_response
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.trace import error_of
from kafkalab.wire.codec import read_response, response_bytes
from tests.wire.messages import NAMES, OFFERED, carry, message
from tests.wire.test_codec import read_back

SOME = settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)


@pytest.mark.parametrize("api", [name for name in OFFERED if carries_error(BY_NAME[name])])
def test_a_client_reads_the_error_in_every_version(api: str) -> None:
    read = []

    @SOME
    @given(message(BY_NAME[api].request))
    def check(made: Any) -> None:
        for version in OFFERED[api]:
            if (body := carry(api, version, made)) is None:
                continue
            asked = read_back(api, version, body)
            answers = [error_response(one, Error.NOT_COORDINATOR) for one in asked.bodies]
            _, found = read_response(api, version, response_bytes(asked, answers, NAMES)[4:], NAMES)
            read.append(error_of(found))

    check()
    assert set(read) <= {"NOT_COORDINATOR", "NONE"}
    assert "NOT_COORDINATOR" in read
