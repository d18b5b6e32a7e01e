"""The ways between the labs: previous and next at head and foot of each, and links from terms to the glossary.

`kafkalab build-labs` writes both into labs/solutions/, from which the learners' copies are made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kafkalab.course.glossary import Term, terms
from kafkalab.course.lab import CourseLab
from kafkalab.course.labs import COURSE
from kafkalab.course.measures import WAY, measure_lab
from kafkalab.grading.builder import Cell, as_text, read, sources, write_changed
from kafkalab.grading.landing import GLOSSARY

START = "00_start.ipynb"
GLOSSED = re.compile(rf"\[([^\]\[]+)\]\(\.\./{GLOSSARY.as_posix()}#[^)\s]*\)")
UNTOUCHED = re.compile(r"```.*?```|`[^`\n]*`|\[[^\]]*\]\([^)]*\)|^#[^\n]*$|<[^>]+>|https?://\S+", re.M | re.S)
"""The places that get no links: code, links, headings, HTML."""
ORDINARY = ("attempt", "controller", "finding", "policy", "position", "profile", "step", "stop", "verification")
"""Terms that are ordinary words, too: only where they are bold do they mean the term."""


def way(lab: CourseLab, there: Sequence[CourseLab], time: str = "") -> str:
    """Return the line with the labs before and after this one, its place among those there are, and its time."""
    place = there.index(lab)
    parts = [f"**{place + 1} of {len(there)}**{time and f': {time}'}", f"[All labs]({START})"]
    if place:
        parts.insert(0, f"[← {there[place - 1].title}]({there[place - 1].name}.ipynb)")
    if place + 1 < len(there):
        parts.append(f"[{there[place + 1].title} →]({there[place + 1].name}.ipynb)")
    return " · ".join(parts if place else [parts[1], parts[0], *parts[2:]])


def refresh_ways(root: Path) -> list[Path]:
    """Write the ways and the glossary's links into every lab with a solution; return the paths that changed."""
    notebooks = {path: read(path) for path in sources(root)}
    labs = [lab for lab in COURSE if any(path.stem == lab.name for path in notebooks)]
    for path, notebook in notebooks.items():
        lab = next((lab for lab in labs if lab.name == path.stem), None)
        texts = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
        if lab is None or not texts:
            continue
        for cell, time in ((texts[0], measure_lab(notebook).time), (texts[-1], "")):
            _write(cell, with_way("".join(cell["source"]), way(lab, labs, time)))
        for cell, text in zip(texts, link_terms(["".join(cell["source"]) for cell in texts]), strict=True):
            _write(cell, text)
    return write_changed({path: as_text(notebook) for path, notebook in notebooks.items()})


def _write(cell: Cell, text: str) -> None:
    cell["source"] = text.splitlines(keepends=True)


def with_way(text: str, line: str) -> str:
    """Return the text with the line in the place of the one it has, or as its last paragraph."""
    return WAY.sub(lambda _: line, text, 1) if WAY.search(text) else f"{text.rstrip()}\n\n{line}"


def link_terms(texts: Sequence[str], known: Sequence[Term] | None = None) -> list[str]:
    """Return the texts of a lab with a link into the glossary at the first use of each term, and no other such link."""
    made = [GLOSSED.sub(r"\1", text) for text in texts]
    for term in sorted(terms() if known is None else known, key=lambda t: -len(t.name)):
        for place, text in enumerate(made):
            if (linked := _link_term(text, term)) != text:
                made[place] = linked
                break
    return made


def _link_term(text: str, term: Term) -> str:
    """Return the text with a link at the first use of the term, by either of its names; the same text without one."""
    names = "|".join(re.escape(name) for name in (term.name, term.other) if name)
    bold = rf"(?<![\w`.*-])\*\*(?:{names})s?\*\*"
    use = re.compile(bold if term.name in ORDINARY else rf"{bold}|(?<![\w`.*/-])(?:{names})s?(?![\w`*/-]|\.\w)")
    kept = [(found.start(), found.end()) for found in UNTOUCHED.finditer(text)]
    for found in use.finditer(text):
        if not any(start < found.end() and found.start() < end for start, end in kept):
            return f"{text[: found.start()]}[{found[0]}]({term.link}){text[found.end() :]}"
    return text
