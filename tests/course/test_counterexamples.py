"""Every case of an exercise can be shown as a run or as a table, which says what the exercise says."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.course.lab00 import exercise_2 as lab00_e2
from kafkalab.course.lab01 import exercise_1 as lab01_e1
from kafkalab.course.lab01 import exercise_2 as lab01_e2
from kafkalab.course.lab02 import exercise_1 as lab02_e1
from kafkalab.course.lab05 import exercise_1 as lab05_e1
from kafkalab.course.lab05 import exercise_2 as lab05_e2
from kafkalab.course.lab05.logs import RECORD, deliver_values, stable_offset
from kafkalab.course.lab05.picture import show_log, shown_whole
from kafkalab.course.lab12 import exercise_1 as lab12_e1
from kafkalab.course.lab12 import exercise_2 as lab12_e2
from kafkalab.course.lab12 import exercise_3 as lab12_e3
from kafkalab.course.lab12 import exercise_4 as lab12_e4
from kafkalab.course.lab12.nights import night, one_torn, places, torn_in
from kafkalab.course.lab12.spark_exercise import compare_rows
from kafkalab.grading.counterexamples import picture
from kafkalab.grading.seeds import LEARNER_SEED, random_for
from kafkalab.sim.cluster import ran
from kafkalab.widgets.model.findings import report_of

EVERY = 8
"""One case of so many is run."""


def test_a_frame_of_lab_0_is_shown_where_it_is_sent() -> None:
    for frame, earlier in lab00_e2.cases(LEARNER_SEED)[::EVERY]:
        found = lab00_e2.show_case(frame, earlier)
        assert found["run"].trace.events[found["step"]].frame == frame["id"]


def test_a_leader_of_lab_1_answers_as_the_reference_does() -> None:
    for state, batch in lab01_e2.cases(LEARNER_SEED)[::EVERY]:
        cluster = lab01_e2.show_case(state, batch)["run"]
        *before, last = [error for api, error in cluster.results["by hand"] if api == "Produce"]
        written = [r.value for b in cluster.log_of("orders-0").batches for r in b.records]
        appended = sum(value.startswith(str(len(state["batches"]) + 1)) for value in written)
        assert set(before) <= {"NONE"}
        assert (appended, last) == lab01_e2.reference(state, batch)


def test_no_promise_is_broken_where_a_leader_of_lab_1_does_what_is_right() -> None:
    rows = [lab01_e1.scenario(LEARNER_SEED, rows) for rows in range(1, 10)]
    cases = [lab01_e2.scenario(*case) for case in lab01_e2.cases(LEARNER_SEED)[::EVERY]]
    assert [s for s in [*rows, *cases] if report_of(ran(s))["verdict"] == "violated"] == []


@pytest.mark.parametrize("setting", lab02_e1.SETTINGS, ids=lambda setting: setting.name)
def test_a_line_of_lab_2_is_shown_with_what_it_breaks(setting: lab02_e1.Setting) -> None:
    result = ran(lab02_e1.scenario(LEARNER_SEED, setting)).results["app"]
    broken = lab02_e1.find_broken(LEARNER_SEED, setting)
    assert result == broken if broken in lab02_e1.WORDS[:3] else ("order 1" in result) is bool(broken)


def row_of(tape: Any, word: str) -> str:
    return next(line.strip() for line in str(tape).splitlines() if word in line)


def test_a_log_of_lab_5_has_its_marks_where_the_case_has_them() -> None:
    for log, high_watermark in lab05_e1.cases(LEARNER_SEED)[::EVERY]:
        line = row_of(picture(**show_log(log, high_watermark)), "log start")
        marks = f"LSO {stable_offset(log, high_watermark)}, HW {high_watermark}, end {len(log)}"
        assert line.endswith(marks)


def test_a_fetch_of_lab_5_is_handed_on_as_the_case_says() -> None:
    for rows, aborted in lab05_e2.cases(LEARNER_SEED)[::EVERY]:
        tape = str(picture(**shown_whole(rows, aborted)))
        kept = deliver_values(rows, aborted)
        for row in (row for row in rows if row["kind"] == RECORD):
            (line,) = [text for text in tape.splitlines() if f"[{row['offset']} v{row['offset']}" in text]
            assert (row["value"] in kept) is ("aborted" not in line), line


def test_the_table_of_a_query_has_the_rows_that_differ_and_what_the_night_says_of_them() -> None:
    here = night(LEARNER_SEED)
    truth = places(here)["G1a"]
    difference = compare_rows([*truth[1:], ("nowhere", 1)], truth, lab12_e1.COLUMNS)
    assert difference.table("The rows") is not None
    assert compare_rows(truth, truth, lab12_e1.COLUMNS).table("The rows") is None
    value, transaction, polls, reads = lab12_e1.describe_place(here, truth[0])
    assert (value[0], transaction, int(polls) > 0) == ("v", "ABORT", True)
    assert "read_committed" in reads
    assert lab12_e1.describe_place(here, ("nowhere", 1)) == ("there is none", "", "", "")


def test_the_table_of_the_torn_transaction_has_its_two_words() -> None:
    shape = one_torn(LEARNER_SEED, lab12_e2.SIZE)
    (torn,) = torn_in(shape)
    (markers,) = lab12_e2.markers(shape, torn)
    assert {word.split()[0] for word in markers.split(", ")} == {"COMMIT", "ABORT"}
    assert lab12_e2.markers(shape, (-5, 0)) == ("none",)


def test_the_table_of_a_job_adds_up_to_what_the_topic_holds() -> None:
    for rows, fails in lab12_e3.cases(random_for("L12.E3")):
        *tasks, last = lab12_e3.attempts(0, rows, fails).rows
        firsts = [int(str(first).split(",")[0]) for _, _, first, _ in tasks]
        assert sum(firsts) + sum(second or 0 for *_, second in tasks) == int(last[2])


@pytest.mark.parametrize("row", range(1, 11))
def test_the_table_of_a_finding_opens_at_the_step_that_proves_it(row: int) -> None:
    name, _, builder, _ = lab12_e4.ROWS[row - 1]
    table = lab12_e4.show_history(builder.history(), name)
    (finding,) = BY_NAME[name](builder.history()).findings
    assert table.rows[table.at][0] == max(finding.steps)
    assert [step for step, *_ in table.rows] == sorted({step for step, *_ in table.rows})
