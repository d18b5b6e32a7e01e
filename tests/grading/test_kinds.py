"""The kinds of exercises: functions beside mutants, presses replayed, programs over schedules, values predicted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.checks.all import check_all
from kafkalab.faults.frame import Drop, Duplicate
from kafkalab.faults.node import Crash
from kafkalab.grading import check as checks
from kafkalab.grading import seeds
from kafkalab.grading.exercise import Belief, Exercise, WrongAnswer, WrongType, WrongValue
from kafkalab.grading.mutants import Mutant, against_mutants, call, judge_tests
from kafkalab.grading.predictions import Fact, judge_predictions, table
from kafkalab.grading.presses import Goal, Miss, judge_presses, presses_of
from kafkalab.grading.schedules import AuditFinding, over_schedules
from kafkalab.history.export import history_of
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.views.sequence import Sequence

# accept(last, sequence): the answer of a leader that remembers one last sequence


def leader(last: int, sequence: int) -> str:
    if sequence <= last:
        return "DUPLICATE"
    return "NONE" if sequence == last + 1 else "OUT_OF_ORDER"


MUTANTS = (
    Mutant(name="no gap check", says="a gap were fine", function=lambda last, s: "DUPLICATE" if s <= last else "NONE"),
    Mutant(
        name="no duplicates",
        says="a retry were new",
        function=lambda last, s: "OUT_OF_ORDER" if s > last + 1 else "NONE",
    ),
)
CASES = [(last, sequence) for last in (0, 3) for sequence in range(7)]
FORM = "a function accept(last, sequence)"


def catch_error(act: Callable[[], Any]) -> WrongAnswer:
    with pytest.raises(WrongAnswer) as caught:
        act()
    return caught.value


def test_the_reference_itself_is_right_and_every_mutant_is_named() -> None:
    assert against_mutants(leader, leader, MUTANTS, CASES, FORM) == "14 of 14 cases"
    for mutant in MUTANTS:
        error = catch_error(partial(against_mutants, mutant.function, leader, MUTANTS, CASES, FORM))
        assert (error.miss, mutant.says in str(error)) == (mutant.name, True)
        assert 0 < error.part < 1


def test_a_function_like_no_mutant_gets_no_misconception() -> None:
    error = catch_error(lambda: against_mutants(lambda last, s: "MAYBE", leader, MUTANTS, CASES, FORM))
    assert error.miss == ""
    assert "0 of 14 cases" in str(error)
    assert "Work this case out on paper" in str(error)


def test_the_case_shown_is_one_that_shows_the_misconception() -> None:
    def both(last: int, s: int) -> str:
        return "?" if (last, s) == (0, 0) else MUTANTS[0].function(last, s)

    error = catch_error(lambda: against_mutants(both, leader, MUTANTS, CASES, FORM))
    assert error.miss == "no gap check"
    assert "both(0, 2)" in str(error)


def test_a_function_that_raises_is_shown_with_its_call_and_one_that_returns_nothing_is_blank() -> None:
    error = catch_error(lambda: against_mutants(lambda last, s: {}[s], leader, MUTANTS, CASES, FORM))
    assert "stops with KeyError: 0" in str(error)
    assert "still blank" in str(catch_error(lambda: against_mutants(lambda last, s: ..., leader, MUTANTS, CASES, FORM)))
    with pytest.raises(WrongType, match=r"Give a function accept\(last, sequence\), not str 'NONE'"):
        against_mutants("NONE", leader, MUTANTS, CASES, FORM)


def test_the_learners_function_cannot_change_the_cases() -> None:
    def greedy(batches: list[int]) -> int:
        n = len(batches)
        batches.clear()
        return n

    assert against_mutants(greedy, len, (), [([1, 2],), ([3],)], "f") == "2 of 2 cases"


def test_a_test_must_find_every_mutant_and_nothing_else() -> None:
    cases = [(MUTANTS[0], (0, 5, "NONE")), (MUTANTS[1], (3, 3, "NONE"))]
    fine = [(0, 1, "NONE"), (0, 5, "OUT_OF_ORDER")]

    def wrong(last: int, sequence: int, said: str) -> bool:
        return leader(last, sequence) != said

    assert judge_tests(wrong, fine, cases, "f") == "2 of 2 mutants found"
    error = catch_error(lambda: judge_tests(lambda last, s, said: s > last + 1 and said == "NONE", fine, cases, "f"))
    assert (error.miss, error.part) == ("no duplicates", 0.5)
    assert "finds fault where nothing is wrong" in str(
        catch_error(lambda: judge_tests(lambda *a: True, fine, cases, "f"))
    )
    assert "still blank" in str(catch_error(lambda: judge_tests(lambda *a: None, fine, cases, "f")))


# presses


def twice(cluster: Cluster) -> bool:
    return any(len(set(values)) < len(values) for values in cluster.outcome().committed.values())


NO_DEDUP = Scenario(
    title="no deduplication",
    rules_off=("duplicates are recognised by producer id and sequence",),
    topics={"out": 1},
    programs=(Program("p", "operations", {"steps": [["send", "out", "a", None, 0], ["flush"]]}),),
)
GOAL = Goal(
    says="record twice in the log",
    reached=twice,
    misses=(Miss("late", "Nothing was sent again.", lambda c: "Produce#2" not in c.trace.frames),),
)


def test_presses_are_replayed_and_counted() -> None:
    assert judge_presses([Drop("ProduceResponse#1")], NO_DEDUP, GOAL, most=2, par=1) == "1 press, the fewest there are"
    error = catch_error(lambda: judge_presses([Drop("MetadataResponse#1")], NO_DEDUP, GOAL, most=2, par=1))
    assert "shows no record twice in the log yet" in str(error)
    assert isinstance(error.run, Cluster)
    assert (error.miss, error.run.outcome().committed) == ("late", {"out-0": ("a",)})
    many = [Drop("ProduceResponse#1"), Drop("MetadataResponse#1")]
    assert "Can you do it with 1?" in str(catch_error(lambda: judge_presses(many, NO_DEDUP, GOAL, most=1, par=1)))


def test_a_press_without_effect_or_of_another_form_is_named() -> None:
    useless = [Drop("ProduceResponse#1"), Drop("EndTxn#1")]
    assert "Drop(frame='EndTxn#1') changed nothing" in str(
        catch_error(lambda: judge_presses(useless, NO_DEDUP, GOAL, 2, 1))
    )
    assert "still blank" in str(catch_error(lambda: judge_presses([], NO_DEDUP, GOAL, most=2, par=1)))
    with pytest.raises(WrongType, match="The list holds str 'drop', which is no fault"):
        judge_presses(["drop"], NO_DEDUP, GOAL, most=2, par=1)
    with pytest.raises(WrongType, match="Give the presses as a list of faults"):
        judge_presses(7, NO_DEDUP, GOAL, most=2, par=1)
    with pytest.raises(WrongValue, match=r"'b9' is no node|b9"):
        judge_presses([Crash("b9", at_step=3)], NO_DEDUP, GOAL, most=2, par=1)
    with pytest.raises(WrongValue, match="may not be pressed here; there are Duplicate"):
        judge_presses([Drop("ProduceResponse#1")], NO_DEDUP, GOAL, most=2, par=1, allowed=("Duplicate",))


def test_the_widget_in_which_was_pressed_is_an_answer_and_that_of_another_scenario_is_not() -> None:
    widget = Sequence(lab03())
    widget.press("drop", "EndTxnResponse#1")
    assert presses_of(widget, lab03()) == presses_of(widget.cluster, lab03()) == (Drop("EndTxnResponse#1"),)
    with pytest.raises(WrongValue, match="another scenario than that of the exercise, 'no deduplication'"):
        presses_of(widget, NO_DEDUP)


# programs over schedules


async def careless(app: App) -> None:
    producer = app.producer(enable_idempotence=False, retries=0, acks=1)
    await producer.send("out", "a", partition=0)


async def careful(app: App) -> None:
    producer = app.producer(transactional_id="t")
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send("out", "a", partition=0)
    await producer.commit_transaction()


def check_written(cluster: Cluster) -> AuditFinding | None:
    found = cluster.outcome().committed["out-0"]
    return None if found == ("a",) else AuditFinding(says=f"The log has {found}.", miss="sent once")


def schedules() -> list[Scenario]:
    base = Scenario(topics={"out": 1}, programs=(Program("p", "learner"),))
    return [base.with_seed(s).with_faults(*faults) for s in range(3) for faults in ((), (Drop("Produce#1"),))]


def test_a_program_must_end_well_under_every_schedule() -> None:
    assert over_schedules(careful, schedules(), (check_written,), "a program") == "6 of 6 schedules"
    error = catch_error(lambda: over_schedules(careless, schedules(), (check_written,), "a program"))
    assert "3 of 6 schedules end well" in str(error)
    assert "seed 0, Drop(frame='Produce#1')" in str(error)
    assert isinstance(error.run, Cluster)
    assert (error.miss, error.part, error.run.scenario.seed) == ("sent once", 0.5, 0)
    Sequence(error.run)


def test_a_program_that_stops_waits_for_ever_or_is_none_is_told_so() -> None:
    async def stops(app: App) -> None:
        raise KeyError("x")

    async def waits(app: App) -> None:
        await app.sleep("long")  # type: ignore[arg-type]

    assert "stops with KeyError: 'x'" in str(catch_error(lambda: over_schedules(stops, schedules(), (), "f")))
    assert "stops with TypeError" in str(catch_error(lambda: over_schedules(waits, schedules(), (), "f")))
    with pytest.raises(WrongType, match="with `async def`, not function"):
        over_schedules(lambda app: None, schedules(), (), "f")


# values


FACTS = (
    Fact(name=1, says="nothing happens", truth="committed", look="Look.", run=lambda: lab03(), misses={"torn": "x"}),
    Fact(name=2, says="b1 crashes", truth="aborted"),
)
BELIEFS = {"x": Belief(says="a commit has two halves", hint="Look again.")}


def test_a_table_names_the_belief_of_its_wrong_rows_with_a_run_that_refutes_it() -> None:
    words = ("committed", "aborted", "torn")
    assert table({1: "committed", 2: "aborted"}, FACTS, words, "f") == "2 of 2 rows"
    error = catch_error(lambda: table({1: "torn", 2: "aborted"}, FACTS, words, "f", beliefs=BELIEFS))
    assert str(error) == (
        "1 of 2 rows are right. One of your rows fits one belief: a commit has two halves. "
        'Look at row 1, where you say "torn": nothing happens.\nLook.'
    )
    assert (error.miss, error.part, error.run) == ("x", 0.5, lab03())
    assert "All rows are still blank" in str(catch_error(lambda: table({1: "", 2: ""}, FACTS, words, "f")))


def test_a_table_with_a_blank_row_is_not_judged() -> None:
    def judge(word: str) -> str:
        return str(catch_error(lambda: table({1: word, 2: ""}, FACTS, ("committed", "torn"), "f")))

    assert [judge("committed"), judge("torn")] == ["Still blank: row 2. Give a value for each row first."] * 2


def test_predictions_may_be_a_list_or_a_function() -> None:
    facts = [Fact(name=n, says=f"{n} squared", truth=n * n) for n in range(4)]
    assert judge_predictions([0, 1, 4, 9], range(4), facts, "f") == "4 of 4 predictions"
    assert judge_predictions(lambda n: n * n, range(4), facts, "f") == "4 of 4 predictions"
    assert "3 of 4 predictions are right" in str(
        catch_error(lambda: judge_predictions([0, 1, 4, 8], range(4), facts, "f"))
    )
    assert "still blank" in str(catch_error(lambda: judge_predictions(..., range(4), facts, "f")))
    assert "still blank" in str(catch_error(lambda: judge_predictions(lambda n: None, range(4), facts, "f")))
    with pytest.raises(WrongValue, match="There are 3 predictions for 4 inputs"):
        judge_predictions([0, 1, 4], range(4), facts, "f")


# seeds, hints and counterexamples


def test_a_grader_asks_with_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(seeds.VARIABLE, raising=False)
    assert seeds.seed() == seeds.LEARNER_SEED
    mine = seeds.random_for("L1.E1").random()
    monkeypatch.setenv(seeds.VARIABLE, "77")
    assert seeds.seed() == 77
    assert seeds.random_for("L1.E1").random() != mine
    assert seeds.random_for("L1.E1", seeds.LEARNER_SEED).random() == mine
    monkeypatch.setenv(seeds.VARIABLE, "many")
    with pytest.raises(WrongValue, match="KAFKALAB_GRADER_SEED is a whole number, not 'many'"):
        seeds.seed()


@pytest.fixture
def squares(monkeypatch: pytest.MonkeyPatch) -> Exercise:
    """An exercise of its own: squares of generated numbers, with a hint for those who double."""

    def inputs(seed: int) -> list[int]:
        return [seeds.random_for("L99.E1", seed).randrange(3, 99) for _ in range(2)]

    def compare(answer: Any) -> str:
        numbers = inputs(seeds.seed())
        facts = [
            Fact(name=n, says="a square", truth=n * n, misses={2 * n: "doubled", n: "same"}, run=lab03) for n in numbers
        ]
        return judge_predictions(answer, numbers, facts, "a list")

    misses: dict[str, int | str] = {"doubled": 1, "same": "Once is not enough."}
    exercise = Exercise("L99.E1", compare, ("one", "two", "three"), misses=misses, question=inputs)
    monkeypatch.setattr(checks, "_session", checks._Session())
    monkeypatch.setattr(checks, "find", lambda name: exercise)
    return exercise


def test_typed_in_results_fail_under_the_graders_seed(squares: Exercise, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = [n * n for n in checks.question("L99.E1")]
    assert checks.check("L99.E1", typed) == "L99.E1 ✓ 2 of 2 predictions"
    monkeypatch.setenv(seeds.VARIABLE, "2026")
    with pytest.raises(WrongAnswer):
        checks.check("L99.E1", typed)
    checks.check("L99.E1", [n * n for n in checks.question("L99.E1")])


HINTS = ((1, "one"), (2, "two"), (3, "three"), (3, "three"))


def test_the_hint_fits_the_last_miss_and_the_ladder_begins_at_1(squares: Exercise) -> None:
    def wrong(answer: Any) -> None:
        with pytest.raises(WrongAnswer):
            checks.check("L99.E1", answer)

    wrong(lambda n: 2 * n)
    assert checks.hint("L99.E1") == "Hint for this answer: two"
    wrong(lambda n: n)
    assert checks.hint("L99.E1") == "Hint for this answer: Once is not enough."
    assert [checks.hint("L99.E1") for _ in range(4)] == [f"Hint {n} of 3: {w}" for n, w in HINTS]


def test_a_wrong_answer_leaves_its_counterexample(squares: Exercise) -> None:
    with pytest.raises(WrongValue, match="there is no counterexample"):
        checks.counterexample()
    with pytest.raises(WrongAnswer, match=r"Sequence\(counterexample\(\)\)") as caught:
        checks.check("L99.E1", lambda n: 0)
    assert caught.value.run == checks.counterexample() == lab03()


def test_an_exercise_cannot_point_to_a_hint_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="the miss 'x' takes hint 4 of 3"):
        Exercise("L1.E1", str, ("a", "b", "c"), misses={"x": 3})


def test_a_fitting_hint_is_never_the_last_of_the_ladder() -> None:
    with pytest.raises(ValueError, match="the miss 'x' takes hint 3 of 3; it needs a sentence of its own"):
        Exercise("L1.E1", str, ("a", "b", "c"), misses={"x": 2})


def test_the_checks_of_histories_can_be_goals() -> None:
    def has_duplicate(cluster: Cluster) -> bool:
        read_to_the_end(cluster)
        return "duplicate" in check_all(history_of(cluster)).violated

    goal = Goal(says="duplicate", reached=has_duplicate)
    for press in (Drop("ProduceResponse#1"), Duplicate("Produce#1")):
        assert judge_presses([press], NO_DEDUP, goal, most=1, par=1) == "1 press, the fewest there are"
    error = catch_error(lambda: judge_presses([Drop("MetadataResponse#1")], NO_DEDUP, goal, most=1, par=1))
    assert "shows no duplicate yet" in str(error)


def test_the_shortest_case_is_shown_and_what_is_long_has_a_line_for_each_part() -> None:
    def count(rows: list[dict[str, int]], more: int) -> int:
        return len(rows) + more

    def one(rows: list[dict[str, int]], more: int) -> int:
        return 1

    cases = [([{"offset": n, "producer": 2000} for n in range(length)], 7) for length in (60, 4, 9)]
    with pytest.raises(WrongAnswer) as caught:
        against_mutants(one, count, (), cases, "a function", run_of=lambda rows, more: {"run": len(rows)})
    lines = str(caught.value).splitlines()
    assert lines[1:3] == ["    one([", "        {'offset': 0, 'producer': 2000},"]
    run: object = caught.value.run
    assert (lines[6], run) == ("    ], 7)", 4)
    with pytest.raises(WrongAnswer) as caught:
        against_mutants(one, count, (), cases[:1], "a function")
    assert str(caught.value).splitlines()[-2] == "    …"


def test_the_counterexample_is_the_shortest_run_that_breaks_as_the_first_one_does() -> None:
    at = {0: ("sent once", 40), 1: ("other", 3), 2: ("sent once", 20)}

    def find_broken(cluster: Cluster) -> AuditFinding | None:
        miss, step = at[cluster.scenario.seed]
        return (
            AuditFinding(says=f"Seed {cluster.scenario.seed}.", miss=miss, step=step)
            if cluster.scenario.faults
            else None
        )

    error = catch_error(lambda: over_schedules(careful, schedules(), (find_broken,), "a program"))
    assert isinstance(error.run, Cluster)
    assert (error.miss, error.run.scenario.seed, error.step) == ("sent once", 2, 20)
    assert "The shortest that does not: seed 2, Drop" in str(error)


def test_a_call_with_rows_in_a_dict_has_a_line_for_each_row() -> None:
    def five_numbers(seen: object) -> object:
        return seen

    rows = [{"offset": n, "producer": 7, "kind": "record", "value": f"v{n}", "fate": "open"} for n in range(2)]
    assert call(five_numbers, ({"rows": rows, "end": 4},)).splitlines() == [
        "five_numbers({",
        "        'rows': [",
        f"            {rows[0]!r},",
        f"            {rows[1]!r},",
        "        ],",
        "        'end': 4,",
        "    })",
    ]
