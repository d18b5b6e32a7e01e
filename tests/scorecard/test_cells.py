"""The judgement of what was seen, the file of the cells, the faults that are tried, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Frame
from tests.scorecard import page
from tests.scorecard.cells import (
    BAD,
    CELLS,
    DIES,
    DUPLICATES,
    HANGS,
    KEEPS,
    LOSES,
    NEVER_STRUCK,
    UNKNOWN,
    Observed,
    Row,
    add_row,
    decide,
    judge,
    newest,
    read_rows,
)
from tests.scorecard.trials import frames_of, is_in_next, list_faults
from tests.scorecard.versions import versions
from tests.wire.clients.running import CLIENTS

HUNG = Observed(waits=("nothing goes on after app:EndTxn#1",))


@pytest.mark.parametrize(
    ("seen", "cell"),
    [
        (Observed(), KEEPS),
        (Observed(struck=False), NEVER_STRUCK),
        (Observed(struck=False, waits=("nothing goes on",)), NEVER_STRUCK),
        (Observed(struck=False, held=True), NEVER_STRUCK),
        (Observed(struck=False, held=True, waits=("nothing goes on",)), HANGS),
        (Observed(struck=False, lost=("3",)), LOSES),
        (Observed(duplicated=("3",), waits=("nothing goes on",)), DUPLICATES),
        (Observed(duplicated=("3",), lost=("4",)), LOSES),
        (HUNG, HANGS),
        (Observed(ends=("an error",)), DIES),
        (Observed(finished=False, ends=("an error",) * 4), DIES),
        (Observed(undecided=("5",)), UNKNOWN),
        (Observed(anomalies=("torn transaction",)), UNKNOWN),
        (Observed(broken="recording has stopped"), UNKNOWN),
    ],
)
def test_wrong_data_count_first_and_what_is_not_known_is_unknown(seen: Observed, cell: str) -> None:
    assert judge(seen)[0] == cell


def test_a_cell_hangs_only_if_three_runs_of_three_do() -> None:
    assert decide([HUNG] * 3, 3)[0] == HANGS
    assert decide([HUNG, HUNG, Observed()], 3) == (KEEPS, "hung in 2 of 3 runs")
    assert decide([HUNG], 3)[0] == UNKNOWN
    assert decide([HUNG, Observed(lost=("1",))], 3)[0] == LOSES


def row(**fields: Any) -> Row:
    """Return a row."""
    return Row(**{"client": "app", "brokers": 1, "level": 2, "fault": "Drop:app:EndTxn#1", "cell": KEEPS, **fields})


def test_rows_are_kept_and_a_cut_off_line_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    assert read_rows(path) == []
    old, new = row(), row(cell=DIES, note="an error", causes=("a",))
    for one in (old, row(fault=""), new):
        add_row(path, one)
    with path.open("a") as file:
        file.write('{"client": "ap')
    assert newest(read_rows(path)) == [new, row(fault="")]


def frames(*names: str) -> dict[str, Frame]:
    """Return the requests of these APIs by one client, in this order, each with its response."""
    found: dict[str, Frame] = {}
    counts: dict[str, int] = {}
    for step, name in enumerate(names):
        number = counts[name] = counts.get(name, 0) + 1
        body = type("Body", (), {"key_type": 1, "markers": ()})()
        common: dict[str, Any] = {"category": "", "body": body, "version": 1, "correlation_id": 0}
        asked = Frame(
            f"{name}#{number}", name, "request", "app", "b1", sent_step=2 * step, client_number=number, **common
        )
        answer = Frame(
            f"{name}Response#{number}", f"{name}Response", "response", "b1", "app", of=asked.id,
            sent_step=2 * step + 1, client_number=number, **common,
        )  # fmt: skip
        found |= {asked.id: asked, answer.id: answer}
    return found


def test_every_frame_of_two_transactions_is_tried_and_no_other() -> None:
    made = frames("Fetch", "InitProducerId", "Produce", "EndTxn", "Heartbeat", "Produce", "EndTxn", "EndTxn")
    tried = [frame.id for frame in frames_of(made, "other").tried if frame.kind == "request"]
    assert tried == ["InitProducerId#1", "Produce#1", "EndTxn#1", "Produce#2", "EndTxn#2"]
    faults = list(list_faults(frames_of(made, "other")))
    assert len(set(faults)) == len(faults)
    for name in tried:
        api, _, number = name.partition("#")
        for fault in (f"Drop:app:{name}", f"Drop:app:{api}Response#{number}", f"Delay:app:{name}:2600"):
            assert fault in faults
        assert {f"Duplicate:app:{name}", f"CrashAt:app:{name}:handled:3000", f"CrashAt:app:{name}:3000"} <= {*faults}
    struck = {fault.split(":")[2] for fault in faults}
    assert {"Fetch#1", "Heartbeat#1", "EndTxn#3"}.isdisjoint(struck)
    assert "Late:app:EndTxn#1:app:EndTxn#2" in faults
    of_three = list(list_faults(frames_of(made, "other"), failover=True))
    assert {fault.partition(":")[0] for fault in of_three} == {"CrashAt"}
    with pytest.raises(ValueError, match="1 transactions"):
        frames_of(frames("InitProducerId", "EndTxn"), "other")


def test_a_late_request_is_of_the_transaction_before() -> None:
    made = frames("AddOffsetsToTxn", "EndTxn", "AddOffsetsToTxn", "EndTxn", "InitProducerId", "AddOffsetsToTxn")
    first = made["AddOffsetsToTxn#1"]
    in_next = [f.id for f in made.values() if f.kind == "request" and is_in_next(first, f, made)]
    assert in_next == ["AddOffsetsToTxn#2", "EndTxn#2"]
    last = [f.id for f in made.values() if f.kind == "request" and is_in_next(made["EndTxn#2"], f, made)]
    assert last == ["InitProducerId#1"]


def test_every_client_has_a_version() -> None:
    assert {*CLIENTS} <= {*versions()}


ROWS = read_rows(page.DATA / "cells.jsonl")


def test_the_page_has_the_cells_that_were_run() -> None:
    text = page.PAGE.read_text("utf-8")
    assert page.tables(ROWS) in text
    assert newest(ROWS) == ROWS
    assert {one.cell for one in ROWS} <= {*CELLS}


def test_every_bad_cell_has_its_cause_and_a_saved_run() -> None:
    causes = page.read_causes()
    assert [one.place for one in ROWS if one.cell in BAD and page.cause_of(one, causes) is None] == []
    kept = page.saved_runs(ROWS)
    assert sorted(one.file for one in kept) == sorted(path.name for path in page.DATA.glob("*.klab"))


def test_the_saved_run_of_a_bad_cell_shows_what_the_cell_says() -> None:
    for one in page.saved_runs(ROWS):
        scenario = Scenario.load(page.DATA / one.file)
        assert scenario.brokers == one.brokers
        assert scenario.faults
