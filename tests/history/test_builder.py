"""Histories built by hand have the rows that a run would leave, in its order."""

from __future__ import annotations

from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.schema import FrameRow


def test_a_record_is_appended_between_the_call_and_its_acknowledgement() -> None:
    history = HistoryBuilder().send("p", "k-0", "x").send("p", "k-0", "y", seq=1, n=2).history()
    calls = [(o.index, o.type, o.invocation, o.offset, o.transaction, o.step) for o in history.operations]
    assert calls == [
        (0, "invoke", -1, -1, -1, 1),
        (1, "ok", 0, 0, -1, 3),
        (2, "invoke", -1, -1, 2, 4),
        (3, "ok", 2, 1, 2, 6),
    ]
    assert [(r.offset, r.sequence, r.transactional, r.step) for r in history.log] == [(0, 0, False, 2), (1, 1, True, 5)]


def test_a_send_may_be_in_no_log_or_without_an_end_or_without_an_offset() -> None:
    builder = HistoryBuilder().send("p", "k-0", "x", logged=False, type="fail").send("p", "k-0", "y", type="")
    history = builder.send("p", "k-0", "z", told=False).history()
    assert [(o.value, o.type, o.offset) for o in history.operations] == [
        ("x", "invoke", -1), ("x", "fail", -1), ("y", "invoke", -1), ("z", "invoke", -1), ("z", "ok", -1),
    ]  # fmt: skip
    assert [(r.value, r.offset) for r in history.log] == [("y", 0), ("z", 1)]


def test_a_row_as_it_is_goes_to_the_table_of_its_class() -> None:
    frame = FrameRow(id="EndTxn#1")
    assert HistoryBuilder().add(frame).history().frames == (frame,)
