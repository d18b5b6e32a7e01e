"""Runs to look at, and the browser that the tests of whole labs use too."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.payload.marks import with_marks
from kafkalab.widgets.payload.payload import payload_of
from tests.browser.conftest import browser, console_errors, page

__all__ = ["browser", "console_errors", "page"]


@pytest.fixture(scope="session", params=["4.x/TV1", "4.x/TV2"])
def lab_run(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The payload of lab 03's run, once for each transaction version."""
    cluster = Cluster(lab03(profile=request.param, seed=1))
    cluster.run()
    return with_marks(payload_of(cluster))
