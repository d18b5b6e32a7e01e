"""README's "With your own client" works when it is pasted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")


def test_the_lines_of_the_readme_work_when_pasted(root: Path, tmp_path: Path) -> None:
    section = (root / "README.md").read_text(encoding="utf-8").partition("## With your own client")[2]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    assert len(code[1].strip().splitlines()) <= 10
    pasted: dict[str, Any] = {}
    exec(code[1], pasted)  # a cell of a notebook
    with pasted["live"] as live:
        passed: list[str] = []
        while "EndTxnResponse#1" not in passed:
            assert (name := live.step(20)), f"no frame waits after {passed}"
            passed.append(name)
        assert live.outcome().committed == {"orders-0": ("one",)}
        assert live.save(tmp_path / "mine.klab").differences == ()
