"""Files and codes that an earlier kafkalab wrote, when a response's frame was called "EndTxnReply#1", are still read.

`data/` is that version's data/; `codes.json` holds what it gave out: codes, challenges and answers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab.faults.frame import Delay, Drop, Hold, Release, Reorder
from kafkalab.grading.challenge import Challenge, answer_challenge, open_challenge, unpack_token
from kafkalab.grading.tokens import rank_tokens
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.codec import code_of, scenario_of_code
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import SCENARIOS

HERE = Path(__file__).parent
SAVED = sorted(path.relative_to(HERE / "data").as_posix() for path in (HERE / "data").rglob("*.klab"))
REWRITTEN = (
    "bugs/kafka_9600.klab",
    "rules/exact_end_epoch.klab",
    "rules/keep_epoch_expected.klab",
    "rules/newest_offset.klab",
    "rules/stable_offsets.klab",
)
"""Others today: those showed what no Kafka did, do not declare which input an output was made from, or call their
clients "first" and "second". As they were, they are still read and run."""
GIVEN = json.loads((HERE / "codes.json").read_text(encoding="utf-8"))
LOST = (
    Drop("EndTxnResponse#1"),
    Reorder("ProduceResponse#1", "EndTxnResponse#1"),
    Release("AddPartitionsToTxnResponse#1", at_step=200),
)
SENDS = (Program("p", "operations", {"steps": [["send", "out", "a", None, 0], ["flush"]]}),)
RETRY = Scenario(
    title="A retry",
    rules_off=("duplicates are recognised by producer id and sequence",),
    topics={"out": 1},
    programs=SENDS,
    faults=(Delay("MetadataResponse#1", 7),),
)
CHALLENGES = {
    "torn": Challenge(scenario=replace(SCENARIOS["kafka_17754"](), faults=()), find=("torn transaction",), most=2),
    "twice": Challenge(scenario=RETRY, find=("duplicate", "G1a"), most=3, allowed=("Drop", "Delay")),
}
ANSWERS = {"torn": ("Zoë", Delay("EndTxn#1", 31_500)), "twice": ("Bo", Drop("ProduceResponse#1"))}


def outcome(path: Path) -> tuple[object, str]:
    """Return what became of the saved run."""
    cluster = Cluster(Scenario.load(path))
    return type(_run(cluster)), cluster.trace.digest()


def _run(cluster: Cluster) -> object:
    try:
        return cluster.run()
    except RuntimeError as error:
        return error


@pytest.mark.parametrize("name", [name for name in SAVED if name not in REWRITTEN])
def test_a_saved_file_gives_the_run_that_it_gave(name: str, root: Path) -> None:
    before, present = HERE / "data" / name, root / "data" / name
    assert Scenario.load(before) == Scenario.load(present)
    if before.read_bytes() != present.read_bytes():
        assert outcome(before) == outcome(present)


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_saved_file_whose_story_was_rewritten_still_runs(name: str) -> None:
    scenario = Scenario.load(HERE / "data" / name)
    cluster = Cluster(scenario)
    cluster.run()
    assert sorted(cluster.results) == sorted(program.node for program in scenario.programs)


def test_there_are_files_of_that_version_with_the_former_names() -> None:
    assert len(SAVED) > 60
    assert any('Reply#1"' in (HERE / "data" / name).read_text(encoding="utf-8") for name in SAVED)


@pytest.mark.parametrize("name", [name for name in GIVEN["codes"] if name != "own"])
def test_a_code_that_names_responses_is_read_and_still_written(name: str) -> None:
    paused = {"paused_ms": 120} if name.startswith("lab06") else {}  # it falls asleep earlier today
    scenario = SCENARIOS[name](**paused).with_faults(*LOST)
    assert scenario_of_code(GIVEN["codes"][name]) == scenario
    assert code_of(scenario) == GIVEN["codes"][name]


def test_a_code_that_holds_a_whole_scenario_is_read() -> None:
    mine = Scenario(title="mine", topics={"out": 1}, programs=SENDS, faults=(Hold("ProduceResponse#1"),))
    assert scenario_of_code(GIVEN["codes"]["own"]) == mine


@pytest.mark.parametrize("name", CHALLENGES)
def test_a_challenge_and_the_answer_to_it_are_read(name: str) -> None:
    line, answer = GIVEN["challenges"][name], GIVEN["answers"][name]
    opened = open_challenge(line)
    assert opened == CHALLENGES[name]
    mark, *given = unpack_token(answer)
    assert given == [ANSWERS[name][0], ANSWERS[name][1:]]
    assert opened.is_answered_by(mark)
    assert not CHALLENGES["twice" if name == "torn" else "torn"].is_answered_by(mark)


def test_answers_of_both_formats_to_a_challenge_of_the_first_are_counted(tmp_path: Path) -> None:
    line = GIVEN["challenges"]["twice"]
    new = answer_challenge(line, "Anna", [Drop("ProduceResponse#1")]).splitlines()[-1].strip()
    assert new.startswith("T1-")
    (tmp_path / "answers.txt").write_text("\n".join([line, GIVEN["answers"]["twice"], new, GIVEN["answers"]["torn"]]))
    rows = rank_tokens(tmp_path / "answers.txt")[1]
    assert [row[:4] for row in rows[:2]] == [[1, "Bo", "duplicate", 1], [1, "Anna", "duplicate", 1]]
    assert rows[2][5] == "it answers another challenge"
