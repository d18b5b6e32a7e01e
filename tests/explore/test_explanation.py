"""Every sentence of an explanation is true of the trace, for each rule's scenario and each bug's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab.checks.check import Finding
from kafkalab.explore.anomalies import MEANINGS, STUCK, findings_of
from kafkalab.explore.experiment import run_to_end
from kafkalab.explore.explanation import Sentence, explain_finding, sentences_of
from kafkalab.explore.programs import idempotent_produce
from kafkalab.faults.frame import Drop
from kafkalab.protocol.rules import Rule
from kafkalab.reference.bug import Bug
from kafkalab.reference.bug import scenario_of as bug_scenario
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.rule_matrix import EXPECTED, scenario_of
from kafkalab.run.run import Run
from kafkalab.sim.scenario import Scenario

FRAME = re.compile(r"\b[A-Z][A-Za-z]+#\d+")
ANSWER = re.compile(r"([A-Z]\w+#\d+)(?: \(\w+\))?, (?:(\S+)'s|its) answer to ([A-Z]\w+#\d+)")
LOST = re.compile(r"([A-Z]\w+#\d+)(?:, \S+'s answer to \w+#\d+,| from \S+ to \S+) is lost")
LATE = re.compile(
    r"([A-Z]\w+#\d+)\S*(?: \S+){2,5} arrives (?:[\d,]+ ms )?late, at ([\d,]+) ms(?:, overtaken by (\w+#\d+))?"
)
APPEND = re.compile(r"(\S+) appends (.+?) to (\S+-\d+) at offset (\d+)(?: \(producer id (-?\d+), epoch (-?\d+)\))?")
ERROR = re.compile(r"([A-Z]\w+#\d+) \(([A-Z_]+)\)")
AT = re.compile(r"(\S+) (crashes|restarts) at ([\d,]+) ms")


def number(text: str) -> int:
    return int(text.replace(",", ""))


def untrue(sentence: Sentence, run: Run) -> list[str]:
    """Return what the sentence says that the trace does not."""
    text, frames, events = sentence.text, run.trace.frames, run.trace.events
    wrong = [name for name in FRAME.findall(text) if name not in frames]
    for answer, sender, request in ANSWER.findall(text):
        if frames[answer].of != request or sender not in ("", frames[answer].sender):
            wrong.append(f"{answer} does not answer {request}")
    wrong += [f"{name} was not lost" for name in LOST.findall(text) if frames[name].fate != "dropped"]
    for name, at, other in LATE.findall(text):
        if frames[name].received_ms != number(at):
            wrong.append(f"{name} arrived at {frames[name].received_ms}")
        if other and not (frames[other].sent_step > frames[name].sent_step
                          and frames[other].received_step < frames[name].received_step):  # fmt: skip
            wrong.append(f"{other} did not overtake {name}")
    for node, what, partition, offset, producer, epoch in APPEND.findall(text):
        found = [
            e.data for e in events
            if e.kind == "append" and (e.node, e.name) == (node.lstrip("("), partition)
            and e.data.base_offset == int(offset)
        ]  # fmt: skip
        if not found:
            wrong.append(f"{node} appended nothing at {offset} of {partition}")
        elif producer and not any(
            (b.producer_id, b.producer_epoch) == (int(producer), int(epoch)) for b in found
        ):
            wrong.append(f"{what} has another producer id or epoch")
        elif "marker" in what and not any(b.control is not None and b.control.name in what for b in found):
            wrong.append(f"{what} is not there")
    wrong += [f"{name} has no {error}" for name, error in ERROR.findall(text) if frames[name].error != error]
    kinds = {"crashes": "crash", "restarts": "recover"}
    for node, what, at in AT.findall(text):
        if not any((e.node, e.kind, e.at_ms) == (node.lower(), kinds[what], number(at)) for e in events):
            wrong.append(f"{node} never {what} at {at}")
    return wrong


def check_sentences(scenario: Scenario, rule: Rule, finding: Finding, run: Run) -> str:
    """Check each sentence; return the paragraph."""
    sentences = sentences_of(run, finding, (rule.name,))
    off = tuple(name for name in scenario.rules_off if name != rule.name)
    other = run_to_end(replace(scenario, rules_off=off))[0]
    for sentence in sentences[:-1]:
        assert untrue(sentence, run) == [], sentence.text
    with_rule, _, without = sentences[-1].text.partition(", where without it ")
    assert untrue(Sentence(with_rule, ()), other) == [], with_rule
    assert untrue(Sentence(without, ()), run) == [], without
    assert f'"{rule.name}" ({rule.source})' in sentences[-1].text
    assert len(sentences) >= 2
    return " ".join(sentence.text for sentence in sentences)


@pytest.mark.parametrize("rule", EXPECTED)
def test_the_explanation_of_a_rule_is_true(rule: Rule, root: Path) -> None:
    scenario = scenario_of(rule, root)
    scenario = replace(scenario, rules_off=(*scenario.rules_off, rule.name))
    run, _ = run_to_end(scenario)
    finding = findings_of(run, (EXPECTED[rule],))[0]
    paragraph = check_sentences(scenario, rule, finding, run)
    assert finding.text in paragraph


@pytest.mark.parametrize("bug", [bug for bug in BUGS if not bug.profile], ids=lambda bug: bug.number)
def test_the_explanation_of_a_bug_is_true(bug: Bug, root: Path) -> None:
    scenario = bug_scenario(bug, root)
    scenario = replace(scenario, rules_off=(*scenario.rules_off, bug.rule.name))
    run, _ = run_to_end(scenario)
    names = (bug.anomaly,) if bug.anomaly else tuple(name for name in MEANINGS if name != STUCK)
    found = findings_of(run, names)
    shown = found[0] if found else Finding(anomaly="", policy="", text="the sign of the bug shows", steps=())
    check_sentences(scenario, bug.rule, shown, run)


@pytest.mark.parametrize("lost", [("Produce#1",), ("ProduceResponse#1",), ("Produce#2",), ("Produce#1", "Produce#2")])
def test_the_explanation_names_the_request_that_is_sent_again(lost: tuple[str, ...]) -> None:
    scenario = replace(idempotent_produce(), faults=tuple(map(Drop, lost)))
    run, _ = run_to_end(scenario)
    text = explain_finding(run, Finding(anomaly="", policy="", text="a request is lost", steps=()), ())
    frames, again = run.trace.frames, []
    for name in lost:
        request = frames[frames[name].of or name]
        later = [f for f in frames.values() if f.body == request.body and f.sent_step > request.sent_step]
        again.append(min(later, key=lambda f: f.sent_step).id)
    assert re.findall(r"p gets no answer in time, and sends the same again as (\S+)\.", text) == again


def test_an_untrue_sentence_is_found(root: Path) -> None:
    run, _ = run_to_end(scenario_of(next(iter(EXPECTED)), root))
    for text in (
        "b1 appends 'x' to out-0 at offset 7 (producer id 0, epoch 0)",
        "b1 crashes at 17 ms",
        "FetchResponse#99 arrives at p",
    ):
        assert untrue(Sentence(text, ()), run) != [], text
