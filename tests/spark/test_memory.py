"""What an audit's workers take at once, and that an audit which cannot fit is refused before it starts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalab.cli import workload
from kafkalab.spark.audits import memory
from kafkalab.spark.audits.memory import bucket_mb, free_mb, held_mb, local_workers, require_memory, split_mb
from kafkalab.spark.per_key_audits import key_pass
from kafkalab.spark.per_key_audits.key_pass import Layout


class Session:
    """As much of a session as is asked for: its master."""

    def __init__(self, master: str) -> None:
        self.sparkContext = SimpleNamespace(master=master)


def test_the_memory_of_a_part_grows_with_its_rows() -> None:
    assert (bucket_mb(0), bucket_mb(1_000_000), bucket_mb(4_600_000)) == (150, 530, 1_898)
    assert (split_mb(0), split_mb(250_000)) == (150, 450)
    assert held_mb([10, 40, 30], workers=2) == 70


@pytest.mark.parametrize(
    ("master", "workers"), [("local", 1), ("local[1]", 1), ("local[3,2]", 3), ("spark://h:7077", 0), ("yarn", 0)]
)
def test_only_a_local_master_says_how_many_workers_share_this_machine(master: str, workers: int) -> None:
    assert local_workers(Session(master)) == workers  # type: ignore[arg-type]
    assert local_workers(Session("local[*]")) >= 1  # type: ignore[arg-type]
    assert local_workers(SimpleNamespace()) == 0, "Spark Connect has no context"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("records", "says"), [(100_000, ""), (100_001, "Java's heap and about 2,051 MB for 2 workers")]
)
def test_a_workload_says_what_an_audit_of_its_largest_keys_takes(
    records: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout({}, {3: 4_600_000, 0: 10_000, 1: 10}, records, 4)
    monkeypatch.setattr(key_pass, "layout_of", lambda out: layout)
    line = workload._memory_of_an_audit(Path("night"))
    assert line == (says and f"an audit takes {says}")


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ([700, 290], ""),
        ([700, 310, 20], r"2 workers .* 1,010 MB .* largest parts, .* 1,000 MB free; --master 'local\[1\]' takes 700"),
        ([1_001], "2 workers .* 1,001 MB .*: audit it on one with 1,001 MB for a worker"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(
    parts: list[int], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_mb", lambda: 1_000)
    session: Any = Session("local[2,2]")
    if not line:
        require_memory(session, parts, "parts")
        return
    with pytest.raises(ValueError, match=line):
        require_memory(session, parts, "parts")
    require_memory(Session("spark://host:7077"), parts, "parts")  # type: ignore[arg-type]


def test_a_machine_that_does_not_tell_its_memory_refuses_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert free_mb(tmp_path / "meminfo", tmp_path) is None
    monkeypatch.setattr(memory, "free_mb", lambda: None)
    session: Any = Session("local[2,2]")
    require_memory(session, [10**9], "parts")


def test_a_container_has_less_than_its_machine(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000000 kB\nMemAvailable:    4000000 kB\n", encoding="ascii")
    assert free_mb(meminfo, tmp_path) == 4_096
    version_1 = tmp_path / "memory"
    version_1.mkdir()
    for name, text in (("limit_in_bytes", "2000000000"), ("usage_in_bytes", "900000000")):
        (version_1 / f"memory.{name}").write_text(f"{text}\n", encoding="ascii")
    (version_1 / "memory.stat").write_text("cache 5\ntotal_inactive_file 400000000\n", encoding="ascii")
    assert free_mb(meminfo, tmp_path) == 1_500
    (tmp_path / "memory.max").write_text("max\n", encoding="ascii")
    assert free_mb(meminfo, tmp_path) == 1_500
    for name, text in (("max", "1000000000"), ("current", "300000000"), ("stat", "anon 7\ninactive_file 100000000\n")):
        (tmp_path / f"memory.{name}").write_text(text, encoding="ascii")
    assert free_mb(meminfo, tmp_path) == 800
