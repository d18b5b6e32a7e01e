"""Mutated files, codes, messages, command lines and requests: each gets an answer or a clear error, and soon."""

from __future__ import annotations

import pytest

from tests.fuzz.campaign import campaign

CASES = {"file": 200, "code": 150, "message": 80, "command": 70, "bytes": 300, "saved": 150}


@pytest.mark.parametrize("kind", CASES)
def test_whatever_is_fed_in_is_met(kind: str) -> None:
    report = campaign(kind, CASES[kind])
    assert report.failures == {}
    assert report.cases >= CASES[kind] * 9 // 10
