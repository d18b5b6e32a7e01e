"""The concept inventory: runs say what is right, and simulated learners are found to believe what was planted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from kafkalab import compare_inventory, open_inventory, save_inventory
from kafkalab.cli.main import main
from kafkalab.course.inventory.class_report import read_class, summarise_items
from kafkalab.course.inventory.diagnosis import bound_for_guessers, find_beliefs
from kafkalab.course.inventory.item import BELIEFS, OTHER, RIGHT
from kafkalab.course.inventory.items import ITEMS
from kafkalab.course.inventory.sitting import SEEDS, Question, blank_answers, draw_questions, load_inventory
from kafkalab.course.labs import BY_NUMBER
from kafkalab.grading.exercise import WrongValue

SLIPS, GUESSES, LEARNERS = 0.1, 0.2, 1_000
FIRSTS = (0, 1_000, 2_000)
"""The first learner of each thousand; a learner's number is the seed of its answers."""
VARIANTS = [(item.belief, number) for item in ITEMS for number in range(len(item.variants))]


def answer(
    question: Question, held: Iterable[str], random: Random, slips: float = SLIPS, guesses: float = GUESSES
) -> str:
    """The letter that a learner with these beliefs chooses."""
    letters, luck = [*question.options], random.random()
    if luck < guesses:
        return random.choice(letters)
    stands_for = {letter: option.stands_for for letter, option in question.options.items()}
    mine = [x for x in letters if stands_for[x] in held] or [x for x in letters if stands_for[x] == RIGHT]
    chosen = random.choice(mine)
    return random.choice([x for x in letters if x != chosen]) if luck < guesses + slips else chosen


def answers(held: Iterable[str], number: int, seed: int, **luck: float) -> dict[str, str]:
    random = Random(number)
    return {question.name: answer(question, held, random, **luck) for question in draw_questions(seed)}


# the items


def test_there_are_twenty_items_one_for_each_belief() -> None:
    assert [item.belief for item in ITEMS] != sorted(item.belief for item in ITEMS)
    assert {item.belief for item in ITEMS} == set(BELIEFS)
    assert len(ITEMS) == len(BELIEFS) == 20
    assert {item.lab for item in ITEMS} <= set(BY_NUMBER)


@pytest.mark.parametrize(("belief", "number"), VARIANTS)
def test_the_run_of_each_variant_has_the_outcome_of_its_right_option(belief: str, number: int) -> None:
    item = next(item for item in ITEMS if item.belief == belief)
    variant = item.variants[number]
    outcome = variant.outcome()
    assert [option.stands_for for option in variant.options if option.outcome == outcome] == [RIGHT]
    assert len({option.outcome for option in variant.options}) == len(variant.options) == 4
    assert {option.stands_for for option in variant.options} <= {RIGHT, OTHER, *BELIEFS}
    assert belief in {option.stands_for for option in variant.options}
    assert len(item.variants) >= max(3, item.asked)


@pytest.mark.parametrize("seed", [*SEEDS.values(), 7])
def test_every_belief_can_be_shown_by_four_questions_of_a_sitting(seed: int) -> None:
    questions = draw_questions(seed)
    for belief in BELIEFS:
        assert sum(any(o.stands_for == belief for o in q.options.values()) for q in questions) >= 4, belief
    assert len({q.name for q in questions}) == len(questions) == 47


def test_another_seed_asks_in_another_way_and_the_right_letter_has_no_place_of_its_own() -> None:
    before, after = (draw_questions(seed) for seed in SEEDS.values())
    assert [q.says for q in before] != [q.says for q in after]
    for questions in (before, after):
        letters = [next(x for x, o in q.options.items() if o.stands_for == RIGHT) for q in questions]
        assert all(letters.count(letter) >= 5 for letter in "ABCD")


# simulated learners, 1,000 of each seed


def count_named(number: int, **luck: float) -> int:
    """The number of learners without a belief to whom one is named, of those from this number on."""
    learners = range(number, number + LEARNERS)
    return sum(bool(find_beliefs(draw_questions(n % 100), answers((), n, n % 100, **luck))) for n in learners)


def test_planted_beliefs_are_found_through_slips_and_guesses() -> None:
    found = planted = right = 0
    for number in range(len(FIRSTS) * LEARNERS):
        random = Random(f"learner-{number}")
        held = set(random.sample(list(BELIEFS), random.randint(1, 3)))
        seed = random.randrange(100)
        named = set(find_beliefs(draw_questions(seed), answers(held, number, seed)))
        found, planted, right = found + len(named), planted + len(held), right + len(named & held)
    assert right / planted >= 0.9
    assert right / found >= 0.8


@pytest.mark.parametrize("first", FIRSTS)
def test_experts_and_random_guessers_get_no_belief(first: int) -> None:
    assert count_named(first, slips=0, guesses=0) == 0
    assert count_named(first, slips=0, guesses=1) == 0
    assert count_named(first, slips=SLIPS, guesses=0) <= LEARNERS / 100


def test_the_bound_for_guessers_is_the_share_of_guesses_that_follow() -> None:
    asked = [(frozenset({"lag", RIGHT, OTHER, "gaps"}), "lag")] * 3 + [(frozenset({RIGHT, OTHER}), OTHER)]
    three_of_four = 4 * 0.25**3 * 0.75 + 0.25**4
    assert bound_for_guessers(asked, ("lag",)) == pytest.approx(three_of_four * 20 * 2)
    # With both beliefs a guess follows three times in a half of all cases, and once in a quarter: 3 or 4 of 4 follow.
    three_or_four = 0.5**3 + 3 * 0.5**3 * 0.25
    assert bound_for_guessers(asked, ("lag", "gaps")) == pytest.approx(three_or_four * 190 * 4)


def test_one_answer_shows_no_belief_and_blanks_show_none() -> None:
    questions = draw_questions(1)
    expert = answers((), 1, 1, slips=0, guesses=0)
    one = next(q for q in questions if any(o.stands_for == "lag" for o in q.options.values()))
    slip = next(letter for letter, option in one.options.items() if option.stands_for == "lag")
    assert find_beliefs(questions, {**expert, one.name: slip}) == ()
    assert find_beliefs(questions, {}) == find_beliefs(questions, dict.fromkeys(expert, "")) == ()
    assert find_beliefs(questions, answers({"lag"}, 1, 1, slips=0, guesses=0)) == ("lag",)


# files and reports


def test_answers_are_saved_and_nothing_is_said_of_them(tmp_path: Path) -> None:
    given = answers((), 1, SEEDS["before"], slips=0, guesses=0)
    assert save_inventory(given, folder=tmp_path) == "47 of 47 answers are in inventory-before.json"
    assert load_inventory(tmp_path / "inventory-before.json") == ("before", 1, given)
    assert "Nothing is saved yet" in save_inventory(blank_answers("after"), "after", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["inventory-before.json"]
    shown = open_inventory("after")
    assert all(option.says in str(shown) for q in draw_questions(2) for option in q.options.values())
    for text in (str(shown), shown._repr_html_()):
        assert not any(word in text for word in ("stands_for", "outcome", "Option("))


def test_a_sitting_or_a_letter_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongValue, match='a sitting is "before" or "after"'):
        open_inventory("now")
    with pytest.raises(WrongValue, match=r"For question 1\.1 you give 'E'"):
        save_inventory({**blank_answers(), "1.1": "E"}, folder=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kafkalab inventory": 9}',
        "[" * 9_999,
        "x" * 30_000,
        '{"kafkalab inventory": 1, "sitting": "before", "seed": 1, "answers": {"1.1": "Z"}}',
    ],
)
def test_a_file_that_is_none_is_named_and_the_others_are_read(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("learner-1", "learner-2"):
        (tmp_path / name).mkdir()
    (tmp_path / "learner-1" / "inventory-before.json").write_text(text)
    save_inventory(answers((), 1, 1, slips=0, guesses=0), folder=tmp_path / "learner-2")
    assert main(["inventory", str(tmp_path), "--out", str(tmp_path / "x.html")]) == 0
    said = capsys.readouterr().out
    assert "1 learners, 0 with both sittings." in said
    assert "Not read: learner-1: inventory-before.json" in said


def test_the_class_report_says_how_many_moved_and_which_belief_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = {
        "learner-1": ({"lag", "rewind"}, {"rewind"}),
        "learner-2": ({"lag"}, set()),
        "learner-3": (set(), {"whole"}),
    }
    for name, sittings in held.items():
        (tmp_path / name).mkdir()
        for (sitting, seed), beliefs in zip(SEEDS.items(), sittings, strict=True):
            save_inventory(answers(beliefs, 1, seed, slips=0, guesses=0), sitting, tmp_path / name)
    learners, refused = read_class(tmp_path)
    rows = {row.belief: row for row in summarise_items(learners)}
    lag, rewind, whole = (rows[BELIEFS[name]] for name in ("lag", "rewind", "whole"))
    assert (lag.to_right, lag.stayed_right, lag.held_before, lag.held_after) == (2, 1, 2, 0)
    assert (rewind.stayed_wrong, rewind.held_before, rewind.held_after) == (1, 1, 1)
    assert (whole.to_wrong, whole.held_before, whole.held_after) == (1, 0, 1)
    assert refused == []
    assert main(["inventory", str(tmp_path), "--out", str(tmp_path / "report" / "class.html")]) == 0
    assert "3 learners, 3 with both sittings." in capsys.readouterr().out
    page = (tmp_path / "report" / "class.html").read_text()
    assert "<td>learner-1</td><td>" in page
    assert BELIEFS["whole"] in page
    assert "You may believe that an abort moves the consumer back. Walk lab 10." in compare_inventory(
        tmp_path / "learner-1"
    )


def test_a_folder_without_answers_is_a_mistake_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inventory", str(tmp_path)]) == 2
    assert main(["inventory", str(tmp_path / "none")]) == 2
    assert "has no folder with inventory-before.json" in capsys.readouterr().err
    assert "no answers yet" in compare_inventory(tmp_path)


def test_the_notebook_asks_for_each_question_of_both_sittings(root: Path) -> None:
    notebook = json.loads((root / "labs" / "solutions" / "94_what_do_you_believe.ipynb").read_text())
    for sitting in SEEDS:
        (cell,) = (c for c in notebook["cells"] if c["id"] == f"{sitting}-answers")
        names: dict[str, dict[str, str]] = {}
        exec("".join(cell["source"]), names)
        assert names[sitting] == blank_answers(sitting)
