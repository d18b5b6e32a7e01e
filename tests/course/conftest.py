"""What the tests of exercises share: no test remembers hints or misses of another."""

from __future__ import annotations

import pytest

from kafkalab.grading import check as checks


@pytest.fixture
def no_hints_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new kernel: no hint was given, nothing was answered wrongly yet."""
    monkeypatch.setattr(checks, "_session", checks._Session())
