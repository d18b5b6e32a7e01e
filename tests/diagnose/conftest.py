"""What the tests of diagnose share: findings of texts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import Finding
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.reading import read_text


def read_texts(*texts: str) -> Evidence:
    """Return what the texts say, the first of them in the file "1"."""
    evidence = Evidence()
    for n, text in enumerate(texts, 1):
        read_text(str(n), ((line, False) for line in text.splitlines()), evidence)
    return evidence


@pytest.fixture
def diagnose() -> Callable[..., list[Finding]]:
    """Return the findings of texts, each a file of its own."""
    return lambda *texts: judge(read_texts(*texts))
