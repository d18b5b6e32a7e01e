"""A challenge is one line, an answer is one line, and what counts is what the presses do when they are run again."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab import lab03
from kafkalab.cli.main import main
from kafkalab.faults.frame import Delay, Drop
from kafkalab.faults.node import Crash
from kafkalab.grading.challenge import Challenge, answer_challenge, open_challenge, unpack_token
from kafkalab.grading.exercise import WrongAnswer, WrongValue
from kafkalab.grading.tokens import rank_tokens
from kafkalab.programs.transfers import kafka_17754
from kafkalab.sim.codec import ANSWER, CHALLENGE, encode, fault_row
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.views.sequence import Sequence

TORN = Challenge(scenario=replace(kafka_17754(), faults=()), find=("torn transaction",), most=2)
LATE = Delay("EndTxn#1", 31_500)
NO_DEDUP = Scenario(
    title="A retry",
    rules_off=("duplicates are recognised by producer id and sequence",),
    topics={"out": 1},
    programs=(Program("p", "operations", {"steps": [["send", "out", "a", None, 0], ["flush"]]}),),
)
TWICE = Challenge(scenario=NO_DEDUP, find=("duplicate", "G1a"), most=3, allowed=("Drop", "Delay"))


def token(line: str) -> str:
    return line.splitlines()[-1].strip()


def forge(challenge: Challenge, name: str, *faults: object) -> str:
    presses = [fault_row(f) for f in faults]  # type: ignore[arg-type]
    return encode(ANSWER, [challenge.mark, name, presses])


@pytest.mark.parametrize("challenge", [TORN, TWICE])
def test_a_challenge_comes_out_of_its_code_as_it_went_in(challenge: Challenge) -> None:
    assert open_challenge(challenge.code) == challenge
    assert open_challenge(challenge.code).mark == challenge.mark
    assert challenge.code.split() == [challenge.code]
    assert len(challenge.code) < 300


def test_it_says_what_is_to_be_found_and_how() -> None:
    text = str(TWICE)
    assert "Find duplicate or G1a in at most 3 presses. Faults that count: Drop, Delay." in text
    assert "without: duplicates are recognised" in text


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"find": ("nonsense",)}, "no anomaly is called 'nonsense'; there are inconsistent-offsets"),
        ({"find": ()}, "names what is to be found"),
        ({"allowed": ("Explode",)}, "no fault is called 'Explode'; there are Drop"),
        ({"most": 0}, "most is a number of presses from 1 to 20"),
        ({"most": True}, "most is a number"),
    ],
)
def test_a_challenge_that_nobody_could_meet_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        replace(TWICE, **change)  # type: ignore[arg-type]


def test_a_challenge_that_is_met_without_a_press_has_no_code() -> None:
    met = replace(TWICE, scenario=NO_DEDUP.with_faults(Drop("ProduceResponse#1")))
    with pytest.raises(ValueError, match="shows duplicate without any press; there is nothing to find"):
        _ = met.code


@pytest.mark.parametrize("row", [7, {}, [["lab03", "4.x/TV2"], "duplicate", 1, []], {"x": 1}])
def test_a_line_that_holds_no_challenge_is_refused(row: object) -> None:
    with pytest.raises(ValueError, match="holds no challenge"):
        open_challenge(encode(CHALLENGE, row))


def test_who_finds_it_gets_a_line_to_hand_in() -> None:
    line = answer_challenge(TORN.code, " Zoë ", [LATE])
    assert line.startswith("You found torn transaction in 1 press. Hand in this line:")
    assert unpack_token(token(line)) == (TORN.mark, "Zoë", (LATE,))
    assert repr(line).splitlines()[-1].strip() == token(line)


def test_the_widget_in_which_one_pressed_is_an_answer() -> None:
    widget = Sequence(open_challenge(TWICE.code).scenario)
    widget.press("drop", "ProduceResponse#1")
    assert unpack_token(token(answer_challenge(TWICE.code, "Bo", widget)))[2] == (Drop("ProduceResponse#1"),)


@pytest.mark.parametrize(
    ("faults", "why"),
    [
        ([], "no press in it"),
        ([Drop("MetadataResponse#1")], "shows no duplicate or G1a"),
        ([Drop("EndTxn#1")], "Drop\\(.*changed nothing"),
        ([Crash("p", at_step=3)], "does not count here; Drop, Delay do"),
        ([Drop("ProduceResponse#1")] * 4, "4 presses; at most 3 count"),
    ],
)
def test_who_does_not_find_it_is_told_why(faults: list[Drop], why: str) -> None:
    with pytest.raises(WrongAnswer, match=why):
        answer_challenge(TWICE.code, "Bo", faults)


@pytest.mark.parametrize("name", ["", "  ", 7, "x" * 61, "a\nb"])
def test_a_name_is_a_short_line(name: object) -> None:
    with pytest.raises(WrongValue, match="give your name"):
        answer_challenge(TWICE.code, name, [Drop("ProduceResponse#1")])  # type: ignore[arg-type]


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    drop = Drop("ProduceResponse#1")
    lines = [
        "# Tuesday's class",
        forge(TWICE, "Anna", drop, Drop("MetadataResponse#1")),
        forge(TWICE, "Bo", drop),
        "",
        forge(TWICE, "anna", drop),
        forge(TWICE, "Chen", Delay("Produce#1", 31_000)),
        forge(TWICE, "Liar", Drop("MetadataResponse#1")),
        forge(TWICE, "Unallowed", Crash("p", at_step=3)),
        forge(TORN, "Other", drop),
        token(answer_challenge(TWICE.code, "Dee", [drop]))[:-1] + "x",
        "hello",
    ]
    path = tmp_path / "tokens.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_tokens_are_replayed_and_ranked(tokens: Path) -> None:
    columns, rows = rank_tokens(tokens, TWICE.code)
    assert columns == ("place", "name", "found", "presses", "which", "remark")
    assert [row[:4] for row in rows[:3]] == [[1, name, "duplicate", 1] for name in ("Bo", "anna", "Chen")]
    refused = {row[1]: str(row[5]) for row in rows if row[0] == "-"}
    assert refused["Liar"] == "This run shows no duplicate or G1a."
    assert refused["Other"] == "it answers another challenge"
    assert refused["Unallowed"].startswith("Crash('p', at_step=3) does not count here")
    assert refused["line 10"].startswith("there is a typo in the answer")
    assert "is no answer of kafkalab" in refused["line 11"]


@pytest.mark.parametrize(
    "row",
    [
        {"fault": []},
        [TWICE.mark, "Eve", [{"fault": []}]],
        [TWICE.mark, "Eve", [["Drop", []]]],
        [TWICE.mark, "Eve", [["Delay", "Produce#1", -(10**40)]]],
        [TWICE.mark, "Eve", [["Crash", "p", 10**30, []]]],
        [TWICE.mark, "Eve", {"fault": []}],
        [TWICE.mark, [], []],
        [[], {}, []],
        [TWICE.mark, "Eve", [7, None, "Drop", [], [[]]]],
    ],
)
def test_a_token_of_any_other_form_has_a_row_and_the_others_count(row: object, tmp_path: Path) -> None:
    path = tmp_path / "tokens.txt"
    good = forge(TWICE, "Bo", Drop("ProduceResponse#1"))
    path.write_text("\n".join([encode(ANSWER, row), good]), encoding="utf-8")
    _, rows = rank_tokens(path, TWICE.code)
    assert [r[1] for r in rows] == ["Bo", rows[1][1]]
    assert rows[1][5]


def test_an_error_nobody_thought_of_is_a_remark(tokens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(challenge: Challenge, faults: object) -> None:
        raise ZeroDivisionError("of a kind")

    monkeypatch.setattr("kafkalab.grading.tokens.replay", fails)
    _, rows = rank_tokens(tokens, TWICE.code)
    assert "it cannot be replayed: ZeroDivisionError: of a kind" in {row[5] for row in rows}


def test_the_challenge_may_stand_in_the_file_or_in_another(tokens: Path, tmp_path: Path) -> None:
    rows = rank_tokens(tokens, TWICE.code)
    (tmp_path / "code.txt").write_text(TWICE.code + "\n")
    assert rank_tokens(tokens, str(tmp_path / "code.txt")) == rows
    with pytest.raises(ValueError, match="whose tokens are these"):
        rank_tokens(tokens)
    with pytest.raises(ValueError, match=r"--challenge is a code \(C1-...\), or a file"):
        rank_tokens(tokens, "nowhere")
    tokens.write_text(f"{TWICE.code}\n{tokens.read_text()}")
    assert [row[1] for row in rank_tokens(tokens)[1]][:2] == ["Bo", "anna"]


def test_the_command_prints_the_table(tokens: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", "--tokens", str(tokens), "--challenge", TWICE.code], tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["place", "name", "found", "presses", "which", "remark"]
    assert lines[1].split()[:4] == ["1", "Bo", "duplicate", "1"]
    assert main(["grade", "--tokens", str(tokens), "--challenge", TWICE.code, "--json"], tmp_path) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "Bo"
    assert main(["grade", "--tokens", str(tmp_path / "none"), "--challenge", TWICE.code], tmp_path) == 2
    assert "none: no such file" in capsys.readouterr().err
    assert main(["grade", "--tokens", str(tokens)], tmp_path) == 2
    assert capsys.readouterr().err.startswith("kafkalab grade: whose tokens are these")


def test_a_challenge_may_ask_for_one_of_several_anomalies() -> None:
    challenge = Challenge(scenario=lab03(), find=("partial visibility", "hanging transaction"), most=3)
    assert open_challenge(challenge.code) == challenge


def test_par_is_what_a_search_needs() -> None:
    assert TWICE.par(60) == 1
    assert Challenge(scenario=NO_DEDUP, find=("hanging transaction",), most=1, allowed=("Duplicate",)).par(60) == 0
    assert Challenge(scenario=NO_DEDUP, find=("duplicate",), most=1, allowed=("Roll",)).par(60) == 0


@pytest.mark.parametrize("code", [None, "PIPE"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, code: str | None) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    (tokens := tmp_path / "tokens.txt").write_text("ann\n", "utf-8")
    with pytest.raises(ValueError, match=r"is a device, a pipe or a socket|a file that holds one"):
        rank_tokens(tokens if code else pipe, str(pipe) if code else TWICE.code)
