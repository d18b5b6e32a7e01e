"""Brokers for all tests of a module; the connections of a test are closed at its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wire.serving import serving
from tests.wire.tap import behind


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The brokers of `kafkalab serve` with the topics in and out."""
    with serving(tmp_path_factory.mktemp("serve"), "--topics", "in:1,out:1") as found:
        yield found


@pytest.fixture(autouse=True)
def _no_connection_left() -> Iterator[None]:
    yield
    while behind.OPEN:
        behind.OPEN.pop().close()
