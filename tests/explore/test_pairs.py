"""The programs in small are clean and small, what is left out of them is another set over again, and work is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab.explore.anomalies import parse_names
from kafkalab.explore.candidates import late_arrivals, sequences_after
from kafkalab.explore.experiment import Job, attempt, run_to_end
from kafkalab.explore.fault_sequence import FaultSequence
from kafkalab.explore.redundant_faults import given_up_ms
from kafkalab.explore.small_programs import IN_SMALL, next_transaction_in_small, transaction_in_small
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Event
from tests.explore import pairs
from tests.explore.pairs import file_of, read_done, run, table

ACTS = ("append", "truncate", "state", "complete", "invoke", "crash", "recover")


@pytest.mark.parametrize("profile", ["4.x/TV2", "4.x/TV1"])
@pytest.mark.parametrize("make", IN_SMALL)
def test_a_program_in_small_is_clean_and_has_few_events(make: Callable[..., Scenario], profile: str) -> None:
    trial = attempt(Job(scenario=make(profile), find=parse_names(())))
    assert (trial.end, trial.findings) == ("ended", ())
    assert Scenario.from_json(make(profile).to_json()) == make(profile)
    cluster = run_to_end(make(profile))[0]
    assert cluster.trace.steps - cluster.start < 300


def acts(scenario: Scenario, *faults: Fault) -> list[tuple[str, str, str]]:
    """Return what every node does but sending, receiving and waiting, node by node."""

    def row(event: Event) -> tuple[str, str, str]:
        return event.node, event.kind, event.name

    cluster = run_to_end(scenario.with_faults(*faults))[0]
    return sorted((row(e) for e in cluster.trace.events if e.kind in ACTS), key=lambda one: one[0])


def test_a_frame_that_is_heard_once_is_not_doubled() -> None:
    scenario = transaction_in_small()
    cluster = run_to_end(scenario)[0]
    doubled = {one.faults[0] for one in sequences_after(cluster, cluster.start, ("duplicate",))[0]}
    frames = [f.id for f in cluster.trace.frames.values() if f.sent_step > cluster.start]
    left = [name for name in frames if Duplicate(name) not in doubled]
    assert 20 < len(left) < len(frames)
    usual = acts(scenario)
    assert [name for name in left if acts(scenario, Duplicate(name)) != usual] == []


def test_what_nobody_hears_any_more_is_as_good_as_lost() -> None:
    scenario = next_transaction_in_small()
    cluster = run_to_end(scenario)[0]
    count = 0
    for one in sequences_after(cluster, cluster.start, ("drop",))[0]:
        lost = run_to_end(scenario.with_faults(*one.faults))[0]
        assert isinstance(one.faults[0], Drop)
        frame = lost.trace.frames[one.faults[0].frame]
        end = given_up_ms(lost, frame)
        if end is None:
            continue
        count += 1
        late = Delay(frame.id, end - frame.sent_ms + 1)
        assert acts(scenario, late) == acts(scenario, one.faults[0]), frame.id
        assert [m for m in late_arrivals(lost, one) if _delay(m) >= end - frame.sent_ms] == []
    assert count > 20


def _delay(one: FaultSequence) -> int:
    assert isinstance(one.faults[0], Delay)
    return one.faults[0].delay_ms


def test_what_was_run_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Job] = []

    def attempt_and_count(job: Job) -> object:
        made.append(job)
        return attempt(job)

    few = replace(transaction_in_small(), programs=transaction_in_small().programs[1:2])

    def tiny(profile: str = "") -> Scenario:
        return few

    monkeypatch.setattr(pairs, "attempt", attempt_and_count)
    monkeypatch.setattr(pairs, "KINDS", ("drop", "crash"))
    monkeypatch.setattr(pairs, "IN_SMALL", (tiny,))
    run(tiny, "4.x/TV2", tmp_path, 0)
    path = file_of(tmp_path, tiny, "4.x/TV2")
    first = read_done(path)
    assert [row.number for row in first] == [-1]
    assert "| no: 0 of" in list(table(tmp_path))[2]
    run(tiny, "4.x/TV2", tmp_path)
    rows = read_done(path)
    assert len(rows) == 1 + 2 * first[0].kept
    assert rows[0] == first[0]
    assert {len(job.sequences) for job in made} == {0, 1, 2}
    assert list(table(tmp_path))[2].endswith("| all |")
    made.clear()
    run(tiny, "4.x/TV2", tmp_path)
    assert max(len(job.sequences) for job in made) == 1
    path.write_text(path.read_text("utf-8")[:-20], "utf-8")
    assert read_done(path) == rows[:-1]
    run(tiny, "4.x/TV2", tmp_path)
    assert [row.number for row in read_done(path)] == [row.number for row in rows]
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([json.dumps({"code": "another"}), *lines[1:], ""]), "utf-8")
    assert len(read_done(path)) == len(rows)
    assert read_done(path, pairs.code()) == []
