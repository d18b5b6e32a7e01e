"""Each check states the tables that it needs; without one of them the verdict is unknown, and names it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kafkalab.checks.all import BY_NAME, check_all
from kafkalab.checks.check import OK, UNKNOWN
from kafkalab.checks.view import view_of
from kafkalab.history.history import History
from tests.checks import equal_records
from tests.checks.needs_page import PAGE, TABLES, page, without
from tests.spark.audits.simulated import by_chance, by_hand, simulate_stored


@cache
def histories() -> tuple[History, ...]:
    return (*by_hand(), *simulate_stored(), *equal_records.histories(), *by_chance(30))


@cache
def find_changes() -> dict[str, set[str]]:
    """By check the tables without which, when they are only empty, it says anything else of any history."""
    found: dict[str, set[str]] = {name: set() for name in BY_NAME}
    for history in histories():
        whole = check_all(history)
        for table in filter(history.table, TABLES):
            view = view_of(replace(history, **{table: ()}))
            for name, check in BY_NAME.items():
                one = check(view)
                if (one.verdict, one.findings) != (whole[name].verdict, whole[name].findings):
                    found[name].add(table)
    return found


@pytest.mark.parametrize("name", BY_NAME)
def test_a_check_needs_the_tables_that_change_what_it_says_and_no_other(name: str) -> None:
    assert set(BY_NAME[name].needs) == find_changes()[name]


@pytest.mark.parametrize("table", TABLES)
def test_without_a_table_that_it_needs_a_check_says_unknown_and_names_it(table: str) -> None:
    for history in (*by_hand()[::9], simulate_stored()[0]):
        whole, report = check_all(history), check_all(without(history, table))
        for name in BY_NAME:
            one = report[name]
            if table in BY_NAME[name].needs:
                assert (one.verdict, one.missing, one.findings) == (UNKNOWN, (table,), ())
            else:
                assert (one.verdict, one.missing) == (whole[name].verdict, ())


def test_unknown_does_not_swallow_everything() -> None:
    """Without one table most checks still say what they said."""
    text = page()
    assert text.count(f"| {OK} ") / (text.count(f"| {OK} ") + text.count(f"| {UNKNOWN} ")) > 0.5


def test_the_report_names_what_is_missing() -> None:
    history = without(simulate_stored()[0], "operations")
    assert "  unknown duplicate: the history lacks operations" in str(check_all(history)).splitlines()


def test_the_page_is_current(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert (root / PAGE).read_text(encoding="utf-8") == page(), "run python -m tests.checks.needs_page"
