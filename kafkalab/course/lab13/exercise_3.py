"""L13.E3, the capstone: from a scenario and the clients' logs alone, what went wrong in an incident, and where."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafkalab.course.lab13.incidents import (
    PLACES,
    QUESTIONS,
    Incident,
    anomalies_of,
    client_logs,
    draw_incidents,
    first_difference,
    list_given,
    place_of,
    without,
)  # fmt: skip
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.mutants import called_each
from kafkalab.grading.seeds import seed
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.sim.scenario import Scenario

FORM = 'a function diagnose(incident) that returns {"anomaly": ..., "rule": ..., "question": ..., "fix": ...}'
FIELDS = ("rule", "anomaly", "fix", "question")
Report = dict[str, Any]


@cache
def _by_name() -> dict[str, Rule]:
    return {rule.name: rule for rule in REGISTRY}


def check(answer: Any) -> str:
    """ "3 of 3 incidents" if all fields of each report are right; WrongAnswer is about the first that is not."""
    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    of_seed = seed()
    incidents, truths = list_given(of_seed), draw_incidents(of_seed)
    reports = called_each(answer, [(dict(incident),) for incident in incidents])
    if all(is_blank(report) for report in reports):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {FORM}.")
    right = 0
    first: WrongAnswer | None = None
    for number, (report, incident, (rule, scenario)) in enumerate(zip(reports, incidents, truths, strict=True), 1):
        wrong = judge(report, incident, rule, scenario)
        right += len(FIELDS) - len(wrong)
        if wrong and first is None:
            first = wrong[0]
            first.args = (f"Incident {number} of {len(incidents)}: {first}",)
    whole = len(FIELDS) * len(incidents)
    if first is None:
        return f"{len(incidents)} of {len(incidents)} incidents"
    raise WrongAnswer(
        f"{right} of {whole} fields are right. {first}",
        run=first.run,
        step=first.step,
        miss=first.miss,
        part=right / whole,
    )


def judge(report: Any, incident: Incident, rule: Rule, scenario: Scenario) -> list[WrongAnswer]:
    """Return what is wrong with each field of a report, in the order of FIELDS."""
    said = _fields(report)
    named = _by_name().get(said["rule"])
    if said["rule"] not in ("", rule.name) and named is None:
        raise WrongValue(f"There is no rule {said['rule']!r}. RULE_NAMES has them all.")
    fits = named is not None and (named == rule or client_logs(without(scenario, named)) == incident["logs"])
    found = [] if fits else [_wrong_rule(said["rule"], incident, rule, scenario)]
    missing = named if fits and named is not None else rule
    broken = without(scenario, missing)
    if said["anomaly"] not in anomalies_of(broken):
        harmless = not said["anomaly"]
        text = (
            "It names no anomaly." if harmless else f"No check finds {said['anomaly']!r} in the run without that rule."
        )
        found.append(WrongAnswer(text, run=broken, miss="another anomaly"))
    place = place_of(scenario, missing)
    if said["fix"] != place:
        cluster, step = first_difference(scenario, missing)
        text = f"You put the rule back at the {said['fix'] or '…'}; there the two runs do not begin to differ."
        found.append(WrongAnswer(text, run=cluster, step=step, miss="another place"))
    if said["question"] not in {q for one in (rule, missing) for q in QUESTIONS.get(one, ())}:
        text = f"Question {said['question'] or '…'} is not about what this rule protects."
        found.append(WrongAnswer(text, miss="another question"))
    return found


def _wrong_rule(name: str, incident: Incident, rule: Rule, scenario: Scenario) -> WrongAnswer:
    """Say why the logs are not those of a Kafka without the rule that was named."""
    if not name:
        return WrongAnswer("It names no rule.", run=without(scenario, rule), miss="no rule")
    logs = client_logs(without(scenario, _by_name()[name]))
    if not anomalies_of(without(scenario, _by_name()[name])):
        text = f"Without {name!r} nothing goes wrong in this incident."
        return WrongAnswer(text, run=without(scenario, _by_name()[name]), miss="a harmless rule")
    pairs = list(zip(incident["logs"], logs, strict=False))
    line = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), len(pairs) + 1)
    text = f"Without {name!r} something goes wrong, too, but the clients' logs differ in line {line}."
    return WrongAnswer(text, run=without(scenario, _by_name()[name]), miss="other logs")


def _fields(report: Any) -> Report:
    if not isinstance(report, dict) or sorted(report) != sorted(FIELDS):
        raise WrongType(f"Give {FORM}, not {describe(report)}.")
    said = {name: "" if is_blank(report[name]) else report[name] for name in FIELDS}
    if said["fix"] not in ("", *PLACES):
        raise WrongValue(f"fix is one of {', '.join(map(repr, PLACES))}, not {said['fix']!r}.")
    return said


EXERCISE = Exercise(
    "L13.E3",
    check,
    (
        "Run the scenario: with all rules nothing goes wrong. Then run it without one rule, and compare what the "
        "clients log.",
        "Go through RULE_NAMES: `replace(scenario, rules_off=(name,))` is the same incident without that rule. The one "
        "whose `client_logs` are those of the incident is missing.",
        "`anomalies_of` of that scenario names the anomaly. For the fix look at the first step at which the two runs "
        "differ: `first_difference` and `place_of` find it. For the question keep a table from a word of the rule's "
        "name to the number of the lab's question, as in the recap of each lab.",
    ),
    points=12,
    misses={
        "no rule": 0,
        "a harmless rule": 0,
        "other logs": "Compare all lines, not only whether there is an anomaly: different rules break the same promise "
        "in different ways.",
        "another anomaly": "Ask the checks, with the rule off: `anomalies_of`. Only forbidden anomalies count.",
        "another place": "Who acted in another way first? A symptom at a reader may be a missing rule at a leader.",
        "another question": "Look through the table of questions in labs/README.md for what this rule protects.",
    },
    question=lambda of_seed: list(list_given(of_seed)),
    afterwards=(
        "Why: a report that names an anomaly, the rule that would have prevented it, and where it belongs can be "
        "checked by anyone: run it with the rule, and without. You have done by hand what `kafkalab explore` does. "
        "Next: lab 14, and who else decides in this way."
    ),
)
