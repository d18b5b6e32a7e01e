"""The helper of docs/control/python says what the lab says."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def helper(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A lab that the helper has started."""
    monkeypatch.setenv("KAFKALAB", f"{sys.executable} -m kafkalab.cli.main")
    monkeypatch.delenv("KAFKALAB_CONTROL", raising=False)
    spec = importlib.util.spec_from_file_location("kafkalab_control", root / "docs/control/python/kafkalab_control.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.KafkaLab("orders:1", "--brokers", "1") as made:
        yield made


def test_it_starts_a_lab_and_passes_its_sentences_on(helper: Any) -> None:
    assert helper.bootstrap_servers.startswith("127.0.0.1:")
    assert helper.get("/topics") == {"topics": {"orders": 1}}
    assert helper.values("orders") == []
    with pytest.raises(RuntimeError, match="/crash: no node 'b7'"):
        helper.post("/crash", broker="b7")
    helper.fault("Drop:EndTxn#1")
    with pytest.raises(AssertionError, match="no client has sent or read anything"):
        helper.check()


def test_one_that_runs_is_used(helper: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKALAB_CONTROL", helper.url)
    with type(helper)() as same:
        assert (same.process, same.bootstrap_servers) == (None, helper.bootstrap_servers)
    assert helper.get("/held") == {"held": []}
