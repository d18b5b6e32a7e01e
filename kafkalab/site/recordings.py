"""A recording of each bug, rule and error of the reference: one file that any browser opens, without Python.

Each opens at the step that decides: where the promise breaks, where the run first differs from the one with the cure,
or where the client is answered with the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from kafkalab.course.lab00.scenario import lab00
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.reference import bug, rule_matrix
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import MEANING, entry_of
from kafkalab.reference.found_scenarios import found_scenario, slug
from kafkalab.reference.rule_matrix import EXPECTED
from kafkalab.sim.cluster import ran
from kafkalab.sim.codec import code_of
from kafkalab.sim.faults import Drop
from kafkalab.sim.scenario import Scenario
from kafkalab.site.frame import framed
from kafkalab.widgets.model.findings import forbidden
from kafkalab.widgets.model.futures import agreement
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.recorded_page import recorded_page

FOLDER = "recordings"
SHOWN_FIRST = Path("docs") / "recordings" / "lost_answer.html"
"""The recording that README's picture leads to. It is committed: `python -m kafkalab.site.recordings` writes it."""
LARGEST = 200_000
"""Bytes that a recording may have."""
HEADS = {
    "bugs": "Bugs that Kafka had, each run without its cure",
    "rules": "Rules of the protocol, each run without the rule",
    "errors": "Errors, each met on purpose",
}
Place = Callable[[Journey], int]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run to record: its kind, a key of `HEADS`; the file's name; its name and what it shows; where it opens."""

    kind: str
    file: str
    name: str
    about: str
    scenario: Scenario
    place: Place

    @property
    def address(self) -> str:
        """Return the file's address, from the folder of the recordings."""
        return f"{self.kind}/{self.file}.html"


def recordings(root: Path) -> Iterator[Recorded]:
    """Yield what is recorded of the project in the folder `root`."""
    for one in BUGS:
        good = bug.scenario_of(one, root)
        about = f"{one.number}: {one.title}. {one.broke} The cure: {one.cure}"
        bad = bug.without_the_cure(one, good)
        yield Recorded("bugs", Path(one.file).stem, f"{one.number}: {one.title}", about, bad, decided(good))
    for rule in REGISTRY:
        if scenario := _scenario_of(rule, root):
            bad = replace(scenario, rules_off=(*scenario.rules_off, rule.name))
            about = f"Without the rule “{rule.name}” ({rule.source}). {scenario.title}."
            yield Recorded("rules", slug(rule), rule.name, about, bad, decided(scenario))
    for error, meaning in MEANING.items():
        entry = entry_of(error, root)
        about = f"{error.name}. {meaning} {entry.scenario.title}."
        yield Recorded("errors", error.name.lower(), error.name, about, entry.scenario, sent(entry.answer))


def _scenario_of(rule: Rule, root: Path) -> Scenario | None:
    """Return the rule's scenario: made by hand, or else found by a search, or else None."""
    return rule_matrix.scenario_of(rule, root) if rule in EXPECTED else found_scenario(rule, root)


def decided(good: Scenario) -> Place:
    """Return what finds the step at which a promise is broken, or else the first that is not as in the run `good`."""

    def place(journey: Journey) -> int:
        broken = [int(f["step"]) for f in forbidden(journey.report()["results"])]
        return min(broken) if broken else agreement(ran(good).trace, journey.cluster.trace)

    return place


def sent(frame: str) -> Place:
    """Return what finds the step at which the frame is sent."""
    return lambda journey: int(journey.payload["frames"][frame]["sent"])


def page_of(recorded: Recorded) -> str:
    """Return the recording: the run, opened at the first stop from its place on. ValueError for one too large."""
    journey = Journey(recorded.scenario)
    place = recorded.place(journey)
    stops = journey.stops()
    journey.step = next((stop for stop in stops if stop >= place), stops[-1])
    text = recorded_page(journey, recorded.about, _links(recorded.scenario))
    if (size := len(text.encode())) > LARGEST:
        raise ValueError(f"the recording {recorded.address} has {size:,} bytes; the limit is {LARGEST:,}")
    return text


def _links(scenario: Scenario) -> str:
    """Return the links to the other recordings, and to the page in which faults can be pressed into this run."""
    code = quote(code_of(scenario))
    page = f'<a href="../../page/index.html#run={code}">Press faults into it, in the page with Python</a>'
    return f'<a href="../index.html">All recordings</a> · {page}'


def write_recordings(root: Path, site: Path) -> Path:
    """Write all recordings and their index into the site; return the path of the index."""
    folder = site / FOLDER
    every = list(recordings(root))
    for recorded in every:
        path = folder / recorded.address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page_of(recorded), encoding="utf-8")
    listed = folder / "index.html"
    listed.write_text(index(every), encoding="utf-8")
    shown = site / SHOWN_FIRST
    shown.parent.mkdir(parents=True, exist_ok=True)
    shown.write_text(shown_first(), encoding="utf-8")
    return listed


def shown_first() -> str:
    """Return the recording that README's picture leads to: lab 0's run with a lost answer."""
    journey = Journey(replace(lab00(), faults=(Drop("ProduceResponse#1"),)))
    journey.step = decided(lab00())(journey)
    return recorded_page(journey, "One soup is ordered, and the answer is lost: the producer sends it again.")


def index(every: list[Recorded]) -> str:
    """Return the page that lists the recordings, by kind."""
    body = []
    for kind, entries in groupby(every, lambda recorded: recorded.kind):
        rows = "\n".join(
            f'<li><a href="{one.address}">{escape(one.name)}</a> {escape(one.scenario.title)}</li>' for one in entries
        )
        body.append(f'<h2 id="{kind}">{HEADS[kind]}</h2>\n<ul>\n{rows}\n</ul>')
    sections = "\n".join(body)
    without = "; ".join(rule.name for rule in REGISTRY if slug(rule) not in [one.file for one in every])
    return framed(
        "Recordings",
        f"""<h1>Recordings</h1>
<p>Each is a run of a Kafka cluster in one file: no Python, no network. → and ← step through it, ? shows all keys.
It opens at the step that decides. To press faults yourself, follow its link to
<a href="../page/index.html">the page with Python</a>.</p>
{sections}
<p>No run shows what these rules protect: {escape(without)}. <a href="../docs/rules.html">Why</a>.</p>
""",
        "../",
    )


if __name__ == "__main__":
    SHOWN_FIRST.write_text(shown_first(), encoding="utf-8")
