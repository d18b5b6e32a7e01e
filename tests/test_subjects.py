"""`-k` finds tests of every API, rule, check, and public class of `kafkalab`: faults, views, clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kafkalab
from kafkalab.checks.all import CHECKS
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.rules import REGISTRY
from tests.subjects import word_of

FOLDERS = {"broker", "checks", "conformance", "sim", "widgets"}
"""Folders of which a whole run collects tests: without one of them only a part is asked for."""


def names() -> Iterator[str]:
    """Yield the name of every subject."""
    yield from BY_NAME
    yield from (str(word_of(subject)) for subject in (*REGISTRY, *(check.name for check in CHECKS)))
    yield from (name for name in dir(kafkalab) if name[0].isupper())


def test_a_test_is_found_by_the_name_of_its_subject(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    if not {item.path.parent.name for item in items} >= FOLDERS or request.config.option.keyword:
        pytest.skip("only a part of the tests was collected")
    known = {name.lower() for item in items for name in item.extra_keyword_matches}
    ids = " ".join(item.nodeid for item in items).lower()
    assert [name for name in names() if name.lower() not in known and name.lower() not in ids] == []
