"""Every case of an exercise can be shown as a run, and the run says what the exercise says."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.course.lab00 import exercise_2 as lab00_e2
from kafkalab.course.lab01 import exercise_2 as lab01_e2
from kafkalab.course.lab03 import exercise_2 as lab03_e2
from kafkalab.course.lab05 import exercise_1 as lab05_e1
from kafkalab.course.lab05 import exercise_2 as lab05_e2
from kafkalab.course.lab05.logs import RECORD, delivered, stable_offset
from kafkalab.course.lab05.picture import shown, shown_whole
from kafkalab.grading.counterexamples import picture
from kafkalab.grading.seeds import LEARNER_SEED
from kafkalab.protocol.errors import Error
from kafkalab.sim.cluster import ran

EVERY = 8
"""One case of so many is run."""


def test_a_response_of_lab_0_is_shown_where_it_arrives() -> None:
    for response, requests in lab00_e2.cases(LEARNER_SEED)[::EVERY]:
        found = lab00_e2.shown(response, requests)
        assert found["run"].trace.events[found["step"]].frame == response["id"]


def test_a_leader_of_lab_1_answers_as_the_reference_does() -> None:
    for state, batch in lab01_e2.cases(LEARNER_SEED)[::EVERY]:
        cluster = lab01_e2.shown(state, batch)["run"]
        *before, last = [error for api, error in cluster.results["by hand"] if api == "Produce"]
        written = [r.value for b in cluster.log_of("orders-0").batches for r in b.records]
        appended = sum(value.startswith(str(len(state["batches"]) + 1)) for value in written)
        assert set(before) <= {"NONE"}
        assert (appended, last) == lab01_e2.reference(state, batch)


@pytest.mark.parametrize("state", [s for s in lab03_e2.STATES if s != lab03_e2.UNSHOWN])
def test_a_state_of_lab_3_is_shown_with_the_answer_of_the_table(state: str) -> None:
    cluster = ran(lab03_e2.scenario(state))
    answer = cluster.trace.frames[cluster.trace.events[lab03_e2.deciding(cluster)].frame]
    truth = lab03_e2.truth()[state]
    assert answer.name == "EndTxnResponse"
    assert answer.error == (truth if truth in Error.__members__ else "NONE")


def row_of(tape: Any, word: str) -> str:
    return next(line.strip() for line in str(tape).splitlines() if word in line)


def test_a_log_of_lab_5_has_its_marks_where_the_case_has_them() -> None:
    for log, high_watermark in lab05_e1.cases(LEARNER_SEED)[::EVERY]:
        line = row_of(picture(**shown(log, high_watermark)), "log start")
        marks = f"LSO {stable_offset(log, high_watermark)}, HW {high_watermark}, end {len(log)}"
        assert line.endswith(marks)


def test_a_fetch_of_lab_5_is_handed_on_as_the_case_says() -> None:
    for rows, aborted in lab05_e2.cases(LEARNER_SEED)[::EVERY]:
        tape = str(picture(**shown_whole(rows, aborted)))
        kept = delivered(rows, aborted)
        for row in (row for row in rows if row["kind"] == RECORD):
            (line,) = [text for text in tape.splitlines() if f"[{row['offset']} v{row['offset']}" in text]
            assert (row["value"] in kept) is ("aborted" not in line), line
