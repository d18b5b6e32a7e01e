"""docs/protocol.md: what the code says today, with an anchor for each section and no table left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkalab.cli.main import main
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.registry import ALL
from kafkalab.protocol.rules import REGISTRY
from kafkalab.reference.protocol_page import PAGE, TABLES, table, text_of

TEXT = text_of()


def test_the_page_is_what_the_code_says_today(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == TEXT, "run `kafkalab protocol`"


def test_every_table_is_in_the_page_and_no_slot_is_left() -> None:
    assert [name for name, lines in TABLES.items() if "\n".join(lines()) not in TEXT] == []
    assert "<<" not in TEXT


def test_every_section_has_an_anchor_and_no_anchor_comes_twice() -> None:
    headings = re.findall(r"^#{2,} (.+)\n(.*)$", TEXT, re.MULTILINE)
    assert [title for title, below in headings if not below.startswith('<a id="')] == []
    anchors = re.findall(r'<a id="([^"]+)">', TEXT)
    assert sorted(set(anchors)) == sorted(anchors)


def test_every_section_names_its_source() -> None:
    """A KIP, a KAFKA number, or a class of Kafka's in backticks."""
    sections = re.split(r"^#{2,} ", TEXT, flags=re.MULTILINE)[1:]
    source = re.compile(r"KIP-\d+|KAFKA-\d+|`[A-Z]\w+[a-z]\w*(\.\w+)?`")
    assert len(sections) >= 40
    assert [s.splitlines()[0] for s in sections if len(s.splitlines()) > 4 and not source.search(s)] == []


@pytest.mark.parametrize(
    "line",
    [
        "| EndTxn(ABORT) | INVALID_TXN_STATE | **PrepareAbort** | INVALID_TXN_STATE |",
        "| EndTxn(COMMIT), retried | PRODUCER_FENCED | PRODUCER_FENCED | CONCURRENT_TRANSACTIONS |",
        "| 21 | attributes | int16 |",
        "| 61 | records |  |",
        "| my-txn | -1061187895 | 45 |",
        "| polygenelubricants | -2147483648 | 0 |",
        "| PRODUCER_FENCED | F | F | F | F | F | F | F |",
        "| acks | 1 (-1) | 1 (-1) | -1 |",
        "| EndTxn | 26 | 0 to 5 |",
        "| 90 | PRODUCER_FENCED | no |",
    ],
)
def test_lines_that_kafka_gives(line: str) -> None:
    assert line in TEXT


def test_every_error_api_and_rule_is_in_the_page() -> None:
    assert [e.name for e in Error if f"| {e.code} | {e.name} |" not in TEXT] == []
    assert [a.name for a in ALL if f"| {a.name} | {a.key} |" not in TEXT] == []
    assert [r.name for r in REGISTRY if f"| {r.name} |" not in TEXT] == []


def test_a_table_has_a_line_for_each_row() -> None:
    assert table(("a", "b"), [(1, None)]) == ["| a | b |", "| --- | --- |", "| 1 | None |"]


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["protocol"]) == 0
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == TEXT
    assert main(["protocol", "now"]) == 2
