"""Every API in every version: what one side writes, the other reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalab.protocol.messages.fetch import FetchResponse
from kafkalab.wire.codec import UnsupportedVersionError, read_request, read_response, request_bytes, response_bytes
from kafkalab.wire.rules import BadMessageError
from kafkalab.wire.special import OFFERED
from tests.wire.messages import NAMES, in_version

FEW = settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
VERSIONS = [(api, version) for api, offered in OFFERED.items() for version in offered]


def asked(api: str, version: int, body: Any) -> Any:
    """Return the request as a server reads it."""
    data = request_bytes(api, version, 7, "app", body, NAMES)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    return read_request(data[4:], NAMES)


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_a_request_is_read_as_it_was_written(api: str, version: int):
    @FEW
    @given(in_version(api, version, response=False))
    def check(body: Any) -> None:
        found = asked(api, version, body)
        assert (found.api, found.version, found.correlation_id, found.client_id) == (api, version, 7, "app")
        assert found.bodies == (body,)

    check()


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_a_response_is_read_as_it_was_written(api: str, version: int):
    @FEW
    @given(st.data())
    def check(data: st.DataObject) -> None:
        body = data.draw(in_version(api, version, response=True))
        request = data.draw(in_version(api, version, response=False))
        if isinstance(body, FetchResponse):
            request = replace(request, positions=dict.fromkeys(body.partitions, 0))
        found = asked(api, version, request)
        if api != "Fetch":
            found.message, found.bodies = None, (None,)
        written = response_bytes(found, (body,), NAMES)
        assert read_response(api, version, written[4:], NAMES) == (7, body)

    check()
