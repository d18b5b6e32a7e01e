"""Checks say what is right, name the first part that is not and how to see it, and never give the answer away."""

from __future__ import annotations

import contextlib
import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.course.lab01 import exercise_1 as lab01_e1
from kafkalab.course.lab03 import exercise_1 as lab03_e1
from kafkalab.faults.node import Crash
from kafkalab.grading import check as checks
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import EXERCISES, WrongAnswer, WrongType, WrongValue, cells
from kafkalab.sim.cluster import Cluster
from tests.grading.told import open_counterexample

E1 = {
    1: "nothing", 2: "aborted", 3: "committed", 4: "committed", 5: "aborted",
    6: "committed", 7: "committed", 8: "aborted", 9: "committed", 10: "committed",
}  # fmt: skip
GAP = "OUT_OF_ORDER_SEQUENCE_NUMBER"
OTHER = {
    1: "appended", 2: "known", 3: GAP, 4: GAP, 5: "appended", 6: "appended", 7: "appended",
    8: "INVALID_PRODUCER_EPOCH", 9: GAP,
}  # fmt: skip
"""Written down here by hand, and nowhere in the package."""

RIGHT: dict[str, dict[Any, str]] = {"L3.E1": E1, "L1.E1": OTHER}
LINES = {"L3.E1": "L3.E1 ✓ 10 of 10 rows", "L1.E1": "L1.E1 ✓ 9 of 9 rows"}


@pytest.fixture(autouse=True)
def no_hints_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_session", checks._Session())


def catch_text(exercise_id: str, answer: Any) -> str:
    """The message of the wrong answer."""
    with pytest.raises(WrongAnswer) as caught:
        check(exercise_id, answer)
    return str(caught.value)


def others(exercise_id: str, right: str) -> list[str]:
    words = lab03_e1.WORDS if exercise_id == "L3.E1" else lab01_e1.WORDS
    return [w for w in words if w != right]


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_the_right_answer_passes_with_one_line(exercise_id: str) -> None:
    line = check(exercise_id, RIGHT[exercise_id])
    assert line == LINES[exercise_id]
    assert repr(line).splitlines()[0] == line
    assert "Why: " in repr(line)
    assert "Next: " in repr(line)


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_every_wrong_word_in_every_place_is_caught(exercise_id: str) -> None:
    right = RIGHT[exercise_id]
    for name, word in right.items():
        for wrong in [*others(exercise_id, word), ""]:
            message = catch_text(exercise_id, {**right, name: wrong})
            assert f"{len(right) - 1} of {len(right)}" in message if wrong else "till blank" in message


def test_the_belief_that_the_wrong_rows_fit_is_named_with_a_run_that_refutes_it() -> None:
    message = catch_text("L3.E1", {**E1, 3: "aborted", 4: "nothing", 7: "aborted", 8: "committed"})
    assert message.startswith(
        "L3.E1: 6 of 10 rows are right. Three of your rows fit one belief: the crash of a broker ends the transaction. "
        'Look at row 3, where you say "aborted": b1 crashes right after b1 appends the debits to accounts-0.\n'
    )
    assert '    Sequence(lab03().with_faults(Crash("b1", at_step=' in message


@pytest.mark.parametrize("number", E1)
def test_the_run_of_each_row_can_be_pasted_and_ends_as_the_row_does(number: int) -> None:
    code = lab03_e1.pasteable(1, lab03_e1.ROWS[number - 1])
    scenario = eval(code, {"Sequence": lambda scenario: scenario, "lab03": lab03, "Crash": Crash})
    cluster = Cluster(scenario)
    cluster.run()
    assert not cluster.unused_faults
    assert cluster.outcome().verdict == E1[number]


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_no_message_gives_the_answer_away(exercise_id: str) -> None:
    right = RIGHT[exercise_id]
    for name, word in right.items():
        message = catch_text(exercise_id, {**right, name: ""})
        after = message.partition("It is still blank")[2]
        assert word not in after.replace("NONE of", "").split(), (name, message)
        assert f'"{word}"' not in after


@pytest.mark.campaign
def test_the_answers_are_the_same_for_every_seed() -> None:
    assert [s for s in (*range(1, 21), 2026) if {f.name: f.truth for f in lab03_e1.facts(s)} != E1] == []


def test_the_answers_come_from_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab03_e1.Row, "faults", lambda row, trace: ())
    assert {fact.truth for fact in lab03_e1.facts.__wrapped__(1)} == {"committed"}


@pytest.mark.parametrize("blank", [..., None, "", "  "])
@pytest.mark.parametrize("exercise_id", RIGHT)
def test_a_blank_answer_is_wrong_and_says_what_to_give(exercise_id: str, blank: Any) -> None:
    message = catch_text(exercise_id, dict.fromkeys(RIGHT[exercise_id], blank))
    assert "still blank" in message
    assert "a dict with" in message


@pytest.mark.parametrize("answer", ["committed", 3, None, ..., ["committed"] * 10, {"committed"}, ("aborted",), check])
@pytest.mark.parametrize("exercise_id", RIGHT)
def test_an_answer_of_another_type_is_refused_with_the_form_to_give(exercise_id: str, answer: Any) -> None:
    with pytest.raises(WrongType, match=rf"^{exercise_id}: Give a dict with .*, not {type(answer).__name__} "):
        check(exercise_id, answer)


@pytest.mark.parametrize(
    ("exercise_id", "change", "error", "words"),
    [
        ("L3.E1", {3: "commited"}, WrongValue, "For row 3 you give 'commited', .*did you mean 'committed'"),
        ("L3.E1", {3: "torn"}, WrongValue, "For row 3 you give 'torn', no word of this exercise"),
        ("L3.E1", {3: True}, WrongType, "For row 3 you give bool True"),
        ("L3.E1", {11: "aborted"}, WrongValue, "There is no row 11"),
        ("L3.E1", {"3": "aborted"}, WrongValue, "There is no row '3'"),
        ("L1.E1", {1: "apended"}, WrongValue, "For row 1 .*did you mean 'appended'"),
        ("L1.E1", {1: ["known"]}, WrongType, r"For row 1 you give list \['known'\]"),
        ("L1.E1", {"one": "known"}, WrongValue, "There is no row 'one'"),
    ],
)
def test_a_part_of_another_form_is_named(
    exercise_id: str, change: dict[Any, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        check(exercise_id, {**RIGHT[exercise_id], **change})


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_missing_parts_are_named(exercise_id: str) -> None:
    right = RIGHT[exercise_id]
    first, *rest = right
    with pytest.raises(WrongValue, match=rf"{first} is missing\. Give a dict"):
        check(exercise_id, {name: right[name] for name in rest})
    with pytest.raises(WrongValue, match=f"s {', '.join(map(str, rest))} are missing"):
        check(exercise_id, {first: right[first]})


def test_capitals_and_spaces_do_not_matter() -> None:
    assert check("L3.E1", {n: f" {w.upper()} " for n, w in E1.items()}) == LINES["L3.E1"]


@pytest.mark.parametrize("answer", [E1, {**E1, 1: "aborted"}, {1: "x"}, ["x"], {**E1, 3: []}])
def test_a_check_changes_nothing_of_the_answer(answer: Any) -> None:
    before = copy.deepcopy(answer)
    with contextlib.suppress(WrongAnswer, WrongType, WrongValue):
        check("L3.E1", answer)
    assert answer == before


@pytest.mark.parametrize("ask", [lambda name: check(name, {}), hint])
def test_an_unknown_exercise_is_refused_with_those_that_there_are(ask: Any) -> None:
    with pytest.raises(ValueError, match=r"no exercise 'L3\.E9'; did you mean L3.E\d\? \(the exercises are L0\.E1, L0"):
        ask("L3.E9")
    with pytest.raises(ValueError, match=r"did you mean L3\.E1\?"):
        ask("l3.e1")
    with pytest.raises(TypeError, match=r"named by a string .*, not int; the exercises are L0\.E1, L0\.E2"):
        ask(3)


@pytest.mark.parametrize(
    ("exercise_id", "change", "words"),
    [
        ("L3.E1", {3: "aborted", 4: "aborted", 7: "aborted"}, "a dead broker alone changes when"),
        ("L3.E1", {2: "committed", 5: "committed"}, "What does the coordinator, old or new, find in its log?"),
    ],
)
def test_a_plausible_wrong_answer_gets_the_hint_that_fits(exercise_id: str, change: dict[Any, str], words: str) -> None:
    error = catch_text(exercise_id, {**RIGHT[exercise_id], **change})
    assert error
    given = hint(exercise_id)
    assert given.startswith("Hint for this answer: ")
    assert words in given
    assert hint(exercise_id).startswith("Hint 1 of 3: ")


def test_the_counterexample_of_a_wrong_row_ends_as_the_row_does() -> None:
    catch_text("L3.E1", {**E1, 8: "committed"})
    cluster = Cluster(open_counterexample())
    cluster.run()
    assert cluster.outcome().verdict == "aborted"


@pytest.mark.parametrize("exercise_id", RIGHT)
def test_hints_grow_stronger_and_then_stay(exercise_id: str) -> None:
    given = [hint(exercise_id) for _ in range(5)]
    assert [h.split(":")[0] for h in given] == [f"Hint {n} of 3" for n in (1, 2, 3, 3, 3)]
    assert len(set(given)) == 3
    assert all(repr(h).replace("\n", " ") == h for h in given)


def test_every_exercise_is_registered_under_its_own_name_and_has_three_hints() -> None:
    for name in EXERCISES:
        exercise = checks.find(name)
        assert (exercise.id, len(exercise.hints)) == (name, 3)
        assert exercise.afterwards.startswith("Why: ")
        assert "Next: " in exercise.afterwards


def test_checks_need_neither_widgets_nor_spark(root: Path) -> None:
    code = "import sys; from kafkalab import check, hint; hint('L3.E1'); hint('L1.E1'); print(sorted(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert run.stderr == ""
    assert [m for m in ("anywidget", "ipywidgets", "IPython", "pyspark", "nbformat") if f"'{m}'" in run.stdout] == []


def test_a_notebook_shows_words_in_short_lines_and_code_in_one() -> None:
    error = WrongAnswer("word " * 60 + "\n    " + "code " * 60)
    shown = error._render_traceback_()
    assert [len(line) <= 100 for line in shown] == [True] * (len(shown) - 1) + [False]
    assert " ".join(" ".join(shown).split()) == " ".join(str(error).split())
    assert shown[-1].startswith("    code")


def test_cells_knows_the_nearest_name() -> None:
    with pytest.raises(WrongValue, match="did you mean 'left'"):
        cells({"letf": "a"}, ("left", "right"), ("a",), "a dict", "side")


def test_an_answer_that_kafkalab_has_written_is_refused_with_its_name() -> None:
    from kafkalab.course.lab05.exercise_2 import filter_values
    from kafkalab.protocol.partitions import partition_for

    def hide(text: str, partitions: int) -> int:
        from kafkalab.protocol.partitions import partition_for as own

        return own(text, partitions)

    code = compile("def f(a, b): return partition_for(a, b)", "cell", "exec")
    names: dict[str, Any] = {"partition_for": partition_for}
    exec(code, names)
    for answer in (partition_for, names["f"], hide):
        with pytest.raises(WrongType, match=r"L1\.E2: \w+ is kafkalab's own\. Write the function in this notebook"):
            check("L1.E2", answer)
    with pytest.raises(WrongType, match=r"filter_values is kafkalab's own"):
        check("L5.E2", filter_values)


BLANKS = {"L3.E1": dict.fromkeys(E1, ""), "L0.E1": [], "L5.E1": lambda *case: ...}
BLANKS["L12.E3"] = {"sent": lambda rows, fails: ..., "once": lambda topic: ...}


@pytest.mark.parametrize(("exercise_id", "blank"), BLANKS.items())
def test_a_blank_form_is_no_try(exercise_id: str, blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "progress.json"
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(record))
    catch_text(exercise_id, blank)
    assert not record.exists()
    catch_text("L3.E1", {**E1, 1: "aborted"})
    assert '"tries": 1' in record.read_text()


def _abyss() -> list[object]:
    found: list[object] = []
    for _ in range(100_000):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("exercise", "answer", "says"),
    [
        ("L0.E1", 10**100_000, "a number in it has more than 4,300 digits"),
        ("L0.E2", lambda *given, **named: 10**100_000, "a number in it has more than 4,300 digits"),
        ("L0.E1", _abyss(), "something in it is nested too deep"),
        ("L1.E3", lambda: 0, "program 'shop' has no argument 'orders'; its arguments are none"),
    ],
    ids=["number", "returned number", "abyss", "parameters"],
)
def test_an_answer_that_python_cannot_show_or_call_gets_a_sentence(exercise: str, answer: object, says: str) -> None:
    with pytest.raises(WrongValue) as caught:
        check(exercise, answer)
    assert str(caught.value) == f"{exercise}: the answer cannot be checked: {says}"
