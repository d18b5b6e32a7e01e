"""The shapes of all runs that the lab knows: those of bugs, rules and errors, and those of the labs.

`python -m kafkalab.diagnose.nearest.known` runs all of them and writes known_runs.json; a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from typing import NamedTuple

from kafkalab.diagnose.finding import Finding
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.nearest.shape import shape_of
from kafkalab.diagnose.run_evidence import evidence_of
from kafkalab.sim.codec import code_of, scenario_of_code
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.findings import forbidden
from kafkalab.widgets.model.journey import Journey

FILE = Path(__file__).with_name("known_runs.json")

MORE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
"""The kinds of parameters that a function can be called without."""


class Known(NamedTuple):
    """A run of a `kind`: "bugs", "rules", "errors" or "labs". `code` makes it again, and it opens at `step`.

    `features` are as `shape_of` gives them. `page` explains it; `call` shows it in a notebook, "" if nothing does.
    """

    kind: str
    name: str
    title: str
    page: str
    call: str
    code: str
    step: int
    features: tuple[str, ...]


@cache
def known_runs() -> tuple[Known, ...]:
    """Return the runs in their order: bugs, rules, errors, labs."""
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(Known(**{**row, "features": tuple(row["features"])}) for row in rows)


def open_run(known: Known) -> Journey:
    """Run it again, and return it with the cursor where it opens."""
    return Journey(scenario_of_code(known.code), step=known.step)


def text_of(root: Path) -> str:
    """Run all of them, from the project's folder `root`, and return the text of the file: one run a line."""
    rows = [json.dumps(one._asdict(), ensure_ascii=False) for one in _measure(root)]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def _measure(root: Path) -> Iterator[Known]:
    from kafkalab.reference.bug import anchor_of
    from kafkalab.reference.exhibits import bug_exhibits, error_exhibits, rule_exhibits
    from kafkalab.reference.known_runs import known_runs as runs_of_the_reference
    from kafkalab.reference.known_runs import open_known

    shown = {"museum": bug_exhibits(), "rule_gallery": rule_exhibits(), "error_gallery": error_exhibits()}
    calls = {exhibit.key: call for call, exhibits in shown.items() for exhibit in exhibits}
    for one in runs_of_the_reference(root):
        journey = open_known(one)
        key = {"bugs": one.heading.partition(":")[0], "errors": one.file.upper()}.get(one.kind, one.file)
        extra = {f"rule {name}" for name in journey.scenario.rules_off}
        extra |= {f"bug {key}"} if one.kind == "bugs" else set()
        page = f"docs/{one.kind}.md#{anchor_of(one.heading)}"
        call = f'from kafkalab import {calls[key]}; {calls[key]}("{key}")' if key in calls else ""
        yield _describe(one.kind, key, one.heading, page, call, journey, extra)
    yield from _labs()


def _labs() -> Iterator[Known]:
    from kafkalab.course.labs import BY_NUMBER, names
    from kafkalab.reference.known_runs import find_break, go_to

    for name, make in sorted(names().items()):
        lab = make.__module__.rpartition(".")[0].rpartition(".")[2]
        taken = [one for one in signature(make).parameters.values() if one.kind not in MORE]
        scenario = make() if lab.startswith("lab") and all(one.default is not one.empty for one in taken) else None
        if isinstance(scenario, Scenario):
            notebook = BY_NUMBER[int(lab[3:])].name
            journey = Journey(scenario)
            broken = find_break(journey)
            if broken is not None:
                go_to(journey, broken)
            page, call = f"labs/{notebook}.ipynb", f"from kafkalab import Sequence, {name}; Sequence({name}())"
            yield _describe("labs", name, scenario.title, page, call, journey, set())


def _describe(kind: str, name: str, title: str, page: str, call: str, journey: Journey, extra: set[str]) -> Known:
    evidence = evidence_of(journey.run, name)
    first: Finding | None = next((one for one in judge(evidence) if not one.harmless), None)
    features = {feature for feature in shape_of(evidence, first) if not feature.startswith(("bug ", "rule "))} | extra
    results = journey.report()["results"]
    features |= {f"anomaly {one['name']}" for one in results if forbidden([one])}
    code = code_of(journey.scenario)
    return Known(kind, name, title, page, call, code, journey.step, tuple(sorted(features)))


if __name__ == "__main__":
    FILE.write_text(text_of(Path()), encoding="utf-8")
