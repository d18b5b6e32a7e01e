"""The order of the table, and the bad cells that are run again: harder, smaller, and on Apache Kafka."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scorecard.apache import compare, is_tried
from tests.scorecard.cells import (
    DIES,
    DUPLICATES,
    HANGS,
    KEEPS,
    LOSES,
    Observed,
    Row,
    Setting,
    add_row,
    newest,
    read_rows,
)
from tests.scorecard.engine import Plan, harder, take_turns
from tests.scorecard.page import tables
from tests.scorecard.reduce import NO_FEWER, PLOTS, reduce_row
from tests.scorecard.running import Plot

FAULT = "Late:app:EndTxn#1:app:EndTxn#2"
BAD = Row(client="app", brokers=1, level=2, fault=FAULT, cell=DUPLICATES)
HUNG = Observed(waits=("nothing goes on",))
TWICE = Observed(duplicated=("1",))


def plan(client: str, *faults: str) -> Plan:
    """Return a plan with these faults, of which the crashes are run among three brokers, too."""
    row = Row(client=client, brokers=1, level=2, fault="", cell=KEEPS)
    return Plan(row, faults, tuple(fault for fault in faults if fault.startswith("CrashAt")))


def test_each_kind_of_each_client_is_begun_before_a_second_cell_of_any() -> None:
    first = plan("first", "Drop:1", "Drop:2", "Late:1", "CrashAt:1")
    second = plan("second", "Drop:1", "Late:1", "Late:2", "CrashAt:1")
    kinds = ("Drop", "Late", "CrashAt")
    order = list(take_turns([one.lanes(kinds) for one in (first, second)]))
    begun = [(setting.client, setting.brokers, fault.partition(":")[0]) for setting, fault in order]
    assert len({*begun[:8]}) == 8
    assert len({*order}) == len(order) == 10
    assert [fault for _, fault in order[8:]] == ["Drop:2", "Late:2"]
    assert list(take_turns([first.lanes(("Late",))])) == [(Setting("first"), "Late:1")]


def test_a_bad_cell_is_run_again_with_level_1_and_with_three_brokers_and_no_other_is() -> None:
    assert harder(BAD) == [(Setting("app", 1, 1), FAULT), (Setting("app", 3, 2), FAULT)]
    others = replace(BAD, cell=KEEPS), replace(BAD, cell=DIES), replace(BAD, brokers=3), replace(BAD, level=1)
    assert [place for row in others for place in harder(row)] == []


@pytest.mark.parametrize("words", PLOTS)
def test_a_cell_is_reduced_to_the_first_plot_that_shows_it(words: str, tmp_path: Path) -> None:
    tried: list[Plot] = []

    def run(setting: Setting, fault: str, runs: Path, plot: Plot) -> Row:
        tried.append(plot)
        runs.mkdir(exist_ok=True)
        (runs / BAD.file).write_text(str(len(tried)))
        return replace(BAD, cell=DUPLICATES if plot == PLOTS[words] else LOSES)

    assert reduce_row(BAD, tmp_path, run).fewest == words
    assert tried == list(PLOTS.values())[: len(tried)]
    assert (tmp_path / BAD.file).read_text() == str(len(tried))


def test_a_cell_that_no_smaller_plot_shows_keeps_its_run(tmp_path: Path) -> None:
    (tmp_path / BAD.file).write_text("whole")
    assert reduce_row(BAD, tmp_path, lambda *_, **__: replace(BAD, cell=KEEPS)).fewest == NO_FEWER
    assert (tmp_path / BAD.file).read_text() == "whole"


def answer(row: Row, *runs: Observed) -> str:
    """Return what is said of a cell if Apache Kafka shows these runs."""
    kafka: Any = type("Kafka", (), {"release": "4.4.0"})()
    waiting = list(runs)
    said = compare(kafka, row, "a", lambda *_: waiting.pop(0))
    assert waiting == []
    return said


def test_apache_kafka_shows_the_same_cell_or_another() -> None:
    assert answer(BAD, TWICE) == "the same on Apache Kafka 4.4.0"
    assert answer(BAD, Observed()) == "not the same on Apache Kafka 4.4.0: keeps"
    assert answer(BAD, Observed(lost=("1",))) == "not the same on Apache Kafka 4.4.0: loses (lost: 1)"
    hangs = replace(BAD, cell=HANGS)
    assert answer(hangs, HUNG, HUNG) == "the same on Apache Kafka 4.4.0"
    assert answer(hangs, HUNG, Observed()) == "not the same on Apache Kafka 4.4.0: keeps (hung in 1 of 2 runs)"


def test_bad_cells_and_deaths_with_one_broker_of_level_2_are_tried_on_apache_kafka() -> None:
    assert is_tried(BAD)
    assert is_tried(replace(BAD, cell=DIES))
    others = replace(BAD, cell=KEEPS), replace(BAD, brokers=3), replace(BAD, level=1)
    assert not any(map(is_tried, others))


def test_the_page_says_what_was_not_run(tmp_path: Path) -> None:
    whole = Row(
        client="app", brokers=1, level=2, fault="", cell=KEEPS, day="2026-11-29", planned={"Late": 3, "CrashAt": 2}
    )
    path = tmp_path / "cells.jsonl"
    for row in (whole, BAD, replace(BAD, level=1), replace(BAD, fault="CrashAt:app:EndTxn#1:3000", cell=KEEPS)):
        add_row(path, row)
    text = tables(newest(read_rows(path)))
    assert "Of 7 single faults 5 were not run" in text
    assert "of the 2 cells in which a bad one is run again with level 1 and with three brokers 1." in text
    assert "| app | – | 1 duplicates (1 of 3 run) | 1 (1 of 2 run) |" in text
