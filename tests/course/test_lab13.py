"""Lab 13's exercises: the model answers pass under any seed, wrong answers are named and get their hint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

from kafkalab.course.lab13 import chains, evidence, exercise_1, exercise_2, exercise_3, exercise_4, incidents
from kafkalab.grading.check import check, counterexample, hint
from kafkalab.grading.exercise import WrongAnswer, WrongType, WrongValue
from kafkalab.grading.seeds import VARIABLE
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY
from kafkalab.sim.scenario import Scenario
from tests.grading.told import catch_wrong_answer

pytestmark = pytest.mark.usefixtures("no_hints_given")
SEEDS = ("1", "2026", "77")
FIRST = exercise_1.cases(1)[0]["least_per_second"]
DATA = Path(__file__).parents[2] / "data" / "found"


def size_for(measured: list[dict[str, int]], least_per_second: float, longest_ms: int) -> int | None:
    small, large = measured[0], measured[-1]
    each = (large["ms"] - small["ms"]) / (large["size"] - small["size"])
    takes = {n: small["ms"] + each * (n - small["size"]) for n in range(1, 401)}
    good = [n for n, ms in takes.items() if ms <= longest_ms and 1000 * n / ms >= least_per_second]
    return good[len(good) // 2] if good else None


def waits(interval_ms: int, every_ms: int, commit_ms: int) -> tuple[float, float, float]:
    longest = commit_ms + interval_ms - every_ms
    return commit_ms, (commit_ms + longest) / 2, longest


def find_chains(case: int) -> dict[str, Any]:
    """Return an answer that explains each incident of the case."""
    letters = {name: letter for letter, name in exercise_3.name_rules(case).items()}
    rows = []
    for place, (rule, _) in enumerate(incidents.draw_incidents(case)):
        frames, effects = chains.explain(case, place, rule.name)
        parts = {"frame": min(frames), "state": chains.CAUSES[rule].state, "rule": letters[rule.name]}
        rows.append({**parts, "effect": min(effects)})
    return {"case": case, "chains": rows}


def change(case: int, place: int, **changed: str) -> dict[str, Any]:
    """Return the right answer with some parts of one chain changed."""
    answer = find_chains(case)
    answer["chains"][place] |= changed
    return answer


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L13.E1", size_for) == "L13.E1 ✓ 6 of 6 cases"
    assert check("L13.E2", waits) == "L13.E2 ✓ 5 of 5 cases"
    assert check("L13.E3", find_chains(int(seed))) == f"L13.E3 ✓ 3 of 3 incidents of case {seed}"


@pytest.mark.parametrize(
    ("answer", "miss"),
    [
        (lambda rows, least, longest: 1, "too small"),
        (lambda rows, least, longest: 60, "too large"),
        (lambda rows, least, longest: None if least == FIRST else size_for(rows, least, longest), "gave up"),
        (lambda rows, least, longest: 0, "out of range"),
        (lambda rows, least, longest: int(longest / ((rows[1]["ms"] - rows[0]["ms"]) / 8)), "no fixed cost"),
        (lambda rows, least, longest: size_for(rows, least, longest) or 20, "no size will do"),
    ],
)
def test_each_wrong_size_is_told_what_its_run_has_measured(answer: Callable[..., Any], miss: str) -> None:
    error = catch_wrong_answer("L13.E1", answer)
    assert error.miss == miss
    assert hint("L13.E1").startswith("Hint")
    if miss not in ("gave up", "out of range"):
        assert "It was run:" in str(error)
        assert counterexample() is error.run


@pytest.mark.parametrize("seed", range(12))
def test_the_targets_leave_a_window_of_sizes_or_none(seed: int) -> None:
    cases = exercise_1.cases(seed)
    assert [case["possible"] for case in cases].count(False) == 1
    for case in cases:
        size = size_for(*exercise_1.arguments_of(case))
        assert (size is not None) == case["possible"]
        assert exercise_1.judge(case, size) is None
        assert exercise_1.judge(case, 1) is not None
        assert exercise_1.judge(case, 60) is not None


@pytest.mark.parametrize("belief", exercise_2.BELIEFS, ids=lambda belief: belief.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_wrong_law_is_named_as_itself(
    belief: exercise_2.Belief, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    error = catch_wrong_answer("L13.E2", belief.waits)
    assert error.miss == belief.name
    assert belief.says in str(error).replace("\n", " ")
    assert hint("L13.E2").startswith("Hint")


@pytest.mark.parametrize(("place", "name"), list(enumerate(exercise_2.NAMES)))
def test_a_number_that_is_off_is_named(place: int, name: str) -> None:
    def off(*case: Any) -> list[float]:
        return [value + 400 * (i == place) for i, value in enumerate(waits(*case))]

    error = catch_wrong_answer("L13.E2", off)
    assert error.miss == name
    assert f"for the {name} wait; the run has measured less" in str(error).replace("\n", " ")


def test_what_is_close_is_right_and_what_is_no_number_is_refused() -> None:
    assert check("L13.E2", lambda *case: [value + 2 for value in waits(*case)])
    for wrong in (5, (1, 2), ("a", 1, 2), (float("nan"), 1, 2)):
        with pytest.raises(WrongType, match="shortest, mean, longest"):
            check("L13.E2", lambda *case, wrong=wrong: wrong)


@pytest.mark.parametrize("case", range(1, 21))
def test_each_case_has_three_incidents_and_one_explanation_of_each(case: int) -> None:
    answer = find_chains(case)
    assert len(incidents.draw_incidents(case)) == 3
    assert check("L13.E3", answer)
    for place, (rule, scenario) in enumerate(incidents.draw_incidents(case)):
        assert incidents.anomalies_of(scenario) == []
        assert incidents.anomalies_of(incidents.without(scenario, rule)) != []
        assert chains.fits_together(read_chain(answer["chains"][place], case)) == ""


def read_chain(row: dict[str, str], case: int) -> chains.Chain:
    return chains.Chain(**{**row, "rule": exercise_3.name_rules(case)[row["rule"]]})


@pytest.mark.parametrize("place", range(3))
def test_a_chain_that_contradicts_itself_is_named(place: int) -> None:
    row = find_chains(1)["chains"][place]
    state = next(word for word in chains.STATES if word != row["state"])
    effect = next(
        name for name in chains.EFFECTS if name not in chains.CAUSES[incidents.draw_incidents(1)[place][0]].breaks
    )
    for changed in ({"state": state}, {"effect": f"{effect} out-0@0"}, {"frame": "EndTxn#1"}):
        error = catch_wrong_answer("L13.E3", change(1, place, **changed))
        assert (error.miss, error.part) == ("no chain", 0.0)
        assert f"Incident {place + 1}: " in str(error)
        assert hint("L13.E3").startswith("Hint for this answer: The four parts")


def test_whether_one_two_or_three_chains_are_wrong_is_not_told() -> None:
    right = find_chains(1)["chains"]
    wrong = [{**row, "effect": f"{row['effect'].rpartition('@')[0]}@77"} for row in right]
    said = set()
    for answer in (wrong, [right[0], *wrong[1:]], [wrong[0], *right[1:]], [*right[:2], wrong[2]]):
        error = catch_wrong_answer("L13.E3", {"case": 1, "chains": answer})
        assert (error.miss, error.part, error.run) == ("another cause", 0.0, None)
        said.add(str(error))
    assert len(said) == 1


def list_fitting(case: int, place: int) -> list[dict[str, str]]:
    """Return every chain of an incident that does not contradict itself, with the frames and records that are there."""
    incident = evidence.list_given(case)[place]
    names = [line.split()[5] for line in incident["frames"]]
    heads = [n for n, line in enumerate(incident["dump"]) if "(leader)" in line]
    records = [
        f"{incident['dump'][head].split()[0]}@{line.strip(' [').split()[0]}"
        for head, end in zip(heads, [*heads[1:], len(incident["dump"])], strict=True)
        for line in incident["dump"][head + 1 : end]
    ]
    return [
        {"frame": name, "state": cause.state, "rule": letter, "effect": f"{anomaly} {record}"}
        for letter, rule in exercise_3.name_rules(case).items()
        for cause in (chains.CAUSES[chains.BY_NAME[rule]],)
        for name in names
        if name.partition("#")[0].removesuffix("Response") in cause.frames
        for anomaly in cause.breaks
        for record in records
    ]


def harvest(case: int) -> float:
    """Try every chain of each incident against `check`, beside any two others; return the share of points it earns.

    It keeps a chain for which `check` has said something else than for the others, and hands in what it has kept.
    """
    options = [list_fitting(case, place) for place in range(3)]
    kept = [one[0] for one in options]
    for place, chains_of_one in enumerate(options):
        said = dict[str, list[dict[str, str]]]()
        for row in chains_of_one:
            rows = [*kept[:place], row, *kept[place + 1 :]]
            try:
                exercise_3.check({"case": case, "chains": rows})
            except WrongAnswer as error:
                told = str(error).partition(f"{place + 1}: ")
                said.setdefault(f"{told[0]} {error.miss} {error.part} {error.run}", []).append(row)
            else:
                return 1.0
        kept[place] = min(said.values(), key=len)[0]
    with pytest.raises(WrongAnswer) as caught:
        exercise_3.check({"case": case, "chains": kept})
    return caught.value.part


def test_a_program_that_tries_every_chain_against_the_check_earns_less_than_a_third() -> None:
    assert sum(map(harvest, range(1, 21))) / 20 <= 0.3


@pytest.mark.parametrize("case", range(1, 21))
def test_the_chains_that_fit_together_are_too_many_to_try_in_threes(case: int) -> None:
    """Nothing tells the incidents apart, so a program has to try all triples: days at 1,000 a second."""
    assert prod(len(list_fitting(case, place)) for place in range(3)) > 5 * 86_400 * 1_000


def test_the_chains_of_one_case_do_not_explain_another() -> None:
    for case in range(2, 12):
        letters = {name: letter for letter, name in exercise_3.name_rules(case).items()}
        rows = find_chains(1)["chains"]
        known = [{**row, "rule": letters[exercise_3.name_rules(1)[row["rule"]]]} for row in rows]
        with pytest.raises((WrongAnswer, WrongValue)):
            exercise_3.check({"case": case, "chains": known})


def test_two_rules_that_break_the_same_promise_are_told_apart_by_the_logs() -> None:
    found: dict[rules.Rule, tuple[int, int]] = {}
    for case in range(1, 40):
        for place, (rule, _) in enumerate(incidents.draw_incidents(case)):
            found.setdefault(rule, (case, place))
    assert set(found) == set(incidents.MISSING) == set(chains.CAUSES)
    case, place = found[rules.LSO_BOUND]
    assert chains.explain(case, place, rules.ABORTED_FILTER.name) == (frozenset(), frozenset())


@pytest.mark.parametrize("case", [1, 2, 3])
def test_what_a_learner_gets_names_no_rule_and_cannot_be_run(case: int) -> None:
    text = json.dumps(exercise_3.open_case(case)["incidents"])
    assert all(rule.name not in text for rule in REGISTRY)
    assert "rules_off" not in text
    assert "faults" not in text


def test_what_is_no_chain_is_refused() -> None:
    row = find_chains(1)["chains"][0]
    wrongs: list[Any] = [[], "duplicate", {"case": 1}, *({"case": 1, "chains": c} for c in ([row], [row, row, "x"]))]
    for wrong in wrongs:
        with pytest.raises(WrongType, match="chains"):
            check("L13.E3", wrong)
    for number in (0, "1", None, 10**9):
        with pytest.raises(WrongValue, match="A case has a number"):
            check("L13.E3", {"case": number, "chains": [row] * 3})
        with pytest.raises(WrongValue, match="A case has a number"):
            exercise_3.open_case(number)  # type: ignore[arg-type]
    for part, word, says in (
        ("rule", "z", "the rule is one of a, b"), ("state", "open", "the state is one of"),
        ("frame", "Produce#99", "no frame of its record"), ("effect", "duplicate", "and a record, like"),
    ):  # fmt: skip
        with pytest.raises(WrongValue, match=says):
            check("L13.E3", change(1, 0, **{part: word}))
    blank = {"frame": "", "state": "", "rule": "", "effect": ""}
    assert "still blank" in str(catch_wrong_answer("L13.E3", {"case": 1, "chains": [blank] * 3}))
    assert "the state is still blank" in str(catch_wrong_answer("L13.E3", change(1, 1, state="")))


@pytest.mark.parametrize("exercise_id", ["L13.E1", "L13.E2"])
def test_a_blank_function_is_called_blank(exercise_id: str) -> None:
    assert "still blank" in str(catch_wrong_answer(exercise_id, lambda *case: None if exercise_id != "L13.E1" else ...))


@pytest.mark.parametrize(("rule", "scenario"), incidents.scenarios(), ids=lambda value: getattr(value, "name", ""))
def test_each_incident_is_clean_with_all_rules_and_is_that_of_the_search(rule: rules.Rule, scenario: Scenario) -> None:
    name = next(n for n, value in vars(rules).items() if value == rule)
    assert scenario == replace(Scenario.load(DATA / f"{name.lower()}.klab"), title="An incident", rules_off=())
    assert incidents.anomalies_of(scenario) == []
    assert incidents.anomalies_of(incidents.without(scenario, rule)) != []
    assert rule in REGISTRY


def plan(fleet: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return the cheapest plan, and the services that each step protects."""
    safe = [s["name"] for s in fleet if s["fears"] == "late Produce"]
    steps = [("brokers", list(safe))]
    safe += [s["name"] for s in fleet if s["client"] == "Java 4.3" and s["name"] not in safe]
    steps.append(("level 2", list(safe)))
    for service in fleet:
        if service["name"] not in safe:
            safe.append(service["name"])
            way = "client" if service["client"] == "Java 3.9" else "port"
            steps.append((f"{way} {service['name']}", list(safe)))
    return steps


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cheapest_plan_passes_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L13.E4", plan) == "L13.E4 ✓ 6 of 6 fleets"


def test_what_protects_is_the_cluster_level_and_the_client_together_and_verification_protects_all() -> None:
    late_end = [exercise_4.holds(p, level, exercise_4.LATE_END) for p in (1, 2) for level in (0, 1, 2)]
    assert late_end == [False, False, False, False, False, True]
    assert all(exercise_4.holds(p, level, exercise_4.LATE_WRITE) for p in (1, 2) for level in (0, 1, 2))
    unverified = replace(exercise_4.scenario(1, 0, exercise_4.LATE_WRITE), rules_off=(rules.VERIFICATION.name,))
    assert "hanging transaction" in incidents.anomalies_of(unverified)


Plan = list[tuple[str, list[str]]]


def reorder(fleet: list[dict[str, Any]], steps: Plan) -> Plan:
    return [steps[1], steps[0], *steps[2:]]


def believe(client: str, before: str) -> Callable[[list[dict[str, Any]], Plan], Plan]:
    """Return a change of a plan: all services with this client are called protected from this step on."""

    def change_plan(fleet: list[dict[str, Any]], steps: Plan) -> Plan:
        names = [s["name"] for s in fleet if s["client"] == client]
        at = [step for step, _ in steps].index(before)
        return [(s, sorted({*safe, *names}) if n >= at else safe) for n, (s, safe) in enumerate(steps)]

    return change_plan


@pytest.mark.parametrize(
    ("wrong", "miss"),
    [
        (reorder, "too early"),
        (believe("librdkafka 2.16", "level 2"), "librdkafka speaks 1"),
        (believe("Java 3.9", "level 2"), "the level alone"),
        (lambda fleet, steps: [(s, []) for s, _ in steps], "protected already"),
        (lambda fleet, steps: steps[:-1], "not all"),
        (lambda fleet, steps: [steps[0], ("level 1", steps[0][1]), *steps[1:], steps[0]], "too dear"),
        (lambda fleet, steps: [*steps, (f"port {fleet[0]['name']}", steps[-1][1])], "too dear"),
        (lambda fleet, steps: [("tea", []), *steps], "no step"),
    ],
)
def test_each_wrong_belief_about_an_upgrade_is_named(wrong: Callable[..., Plan], miss: str) -> None:
    error = catch_wrong_answer("L13.E4", lambda fleet: wrong(fleet, plan(fleet)))
    assert error.miss == miss
    assert miss in exercise_4.EXERCISE.misses
    assert hint("L13.E4").startswith("Hint for this answer")


def test_a_new_client_alone_is_not_protected() -> None:
    def first(fleet: list[dict[str, Any]]) -> Plan:
        old = next(s["name"] for s in fleet if s["client"] == "Java 3.9" and s["fears"] == "late EndTxn")
        safe = [s["name"] for s in fleet if s["fears"] == "late Produce"]
        return [(f"client {old}", [*safe, old])]

    error = catch_wrong_answer("L13.E4", first)
    assert error.miss == "the client alone"
    assert isinstance(error.run, Scenario)
    assert incidents.anomalies_of(error.run) != []


def test_what_is_no_plan_is_refused() -> None:
    for wrong in (5, [("brokers",)], ["brokers"]):
        with pytest.raises(WrongType, match="plan"):
            check("L13.E4", lambda fleet, wrong=wrong: wrong)
    assert "still blank" in str(catch_wrong_answer("L13.E4", lambda fleet: None))
