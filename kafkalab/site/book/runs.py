"""The runs of the reference in the book: each bug, rule and error opens its own below its entry."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kafkalab.course.lab00.scenario import lab00
from kafkalab.faults.frame import Drop
from kafkalab.grading.builder import FIGURE
from kafkalab.reference.bug import anchor_of
from kafkalab.reference.known_runs import KnownRun, open_known
from kafkalab.site.book.futures import futures_of
from kafkalab.site.book.notebooks import FOLDER, write_picture
from kafkalab.site.book.recorder import describe_picture
from kafkalab.widgets.views.recorded_page import recorded_page
from kafkalab.widgets.views.sequence import Sequence

SHOWN_FIRST = Path("docs", "recordings", "lost_answer.html")
"""The recording that README's picture leads to. It is committed: `python -m kafkalab.site.book.runs` writes it."""
ABOUT = "One soup is ordered, and the answer is lost: the producer sends it again."
README_PICTURE = re.compile(r"^\[!\[.*\]\(docs/kafkalab\.gif\)\]\(.*\)$", re.M)


def lost_answer() -> Sequence:
    """Return the book's first picture: an answer was lost, and at the next step the record is in the log twice."""
    view = Sequence(replace(lab00(), faults=(Drop("ProduceResponse#1"),)))
    twice = min(finding["step"] for result in view.journey.report()["results"] for finding in result["findings"])
    view.hidden = ["kitchen", "b1", "b3"]
    view.step = [stop for stop in view.journey.stops() if stop < twice][-1]
    return view


def element_of(view: Sequence, place: Path, up: str, foretold: bool = False) -> str:
    """Write what a picture is made of; return its element without a line's end, which Markdown would not survive.

    With `foretold`, presses in it are answered from what is stored beside it.
    """
    kept = describe_picture(view)
    for journey in (model for model in kept["models"].values() if foretold and "codes" in model):
        journey["futures"] = futures_of({**journey, "parts": {view.part}}, (), ())
    html = write_picture(place, up, kept, {FIGURE: view.svg(), "text/plain": view.text()})
    view.close()
    return html.replace("\n", "&#10;")


def with_runs(every: list[KnownRun], site: Path, first: str) -> Callable[[str, str], str]:
    """Return what adds the runs to the documents of the reference, and to README the `first` one, by path and text."""

    def add(name: str, text: str) -> str:
        if name == "README.md":
            return README_PICTURE.sub(lambda _: first, text)
        own = [one for one in every if name == f"docs/{one.kind}.md"]
        if own and own[0].kind == "rules":
            text = _with_a_section_for_each_rule(text, own)
        for one in own:
            element = element_of(Sequence(open_known(one)), site / FOLDER / one.kind / one.file, "../")
            run = f'<details class="run"><summary>Open the run</summary>\n{element}\n</details>\n'
            text = _at_the_end_of(one.heading, run, text)
        return text

    return add


def _at_the_end_of(heading: str, more: str, text: str) -> str:
    """Return the text with `more` below all that stands below the heading. ValueError if it has no such heading."""
    begin = re.search(rf"^##+ {re.escape(heading)}\n", text, re.M)
    if begin is None:
        raise ValueError(f"no heading says {heading!r}")
    following = re.compile(r"^##+ ", re.M).search(text, begin.end())
    end = following.start() if following else len(text)
    return f"{text[:end].rstrip()}\n\n{more}\n{text[end:]}"


def _with_a_section_for_each_rule(text: str, rules: list[KnownRun]) -> str:
    """Return the page of the rules, which has them in tables, with a heading for each that the tables lead to."""
    for one in rules:
        text = text.replace(f"| {one.heading} |", f"| [{one.heading}](#{anchor_of(one.heading)}) |")
    entries = "".join(f"### {one.heading}\n\nWithout this rule: {one.scenario.title}.\n\n" for one in rules)
    return f"{text}\n## Each run without its rule\n\n{entries}"


if __name__ == "__main__":
    SHOWN_FIRST.write_text(recorded_page(lost_answer().journey, ABOUT), encoding="utf-8")
