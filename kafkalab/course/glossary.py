"""The glossary: its terms, the page docs/glossary.md, and `glossary()`, a search box over all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from kafkalab.grading.landing import GLOSSARY, anchor_in_notebook
from kafkalab.markup import Markup, each, element, join

SOURCE = Path(__file__).with_suffix(".md")
NAME = r"(?P<name>[^|(]+?)(?: \((?P<other>[^)]+)\))?"
TERM = re.compile(rf"^\| {NAME} \| (?P<english>[^|]+) \| (?P<chinese>[^|]+) \|$", re.M)
HEAD = """# Glossary · 术语表

Every term in one sentence. 每个术语用一句话解释。 Written by `kafkalab build-labs` from kafkalab/course/glossary.md.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term: its name, another name of it or "", the heading it stands under, and a sentence in each language."""

    name: str
    other: str
    section: str
    english: str
    chinese: str

    @property
    def heading(self) -> str:
        """The term's heading on the page."""
        return re.sub(r"[`,]", "", self.name)

    @property
    def anchor(self) -> str:
        """The place on the page that a link names, as JupyterLab makes it from the heading."""
        return anchor_in_notebook(self.heading)

    @property
    def link(self) -> str:
        """The address of a link to the term from a lab."""
        return f"../{GLOSSARY.as_posix()}#{self.anchor}"


@cache
def terms() -> tuple[Term, ...]:
    """Return every term, in the order of the source."""
    _, *sections = re.split(r"^## ", SOURCE.read_text(encoding="utf-8"), flags=re.M)
    return tuple(
        Term(
            name=found["name"],
            other=found["other"] or "",
            section=section.partition("\n")[0],
            english=found["english"],
            chinese=found["chinese"],
        )
        for section in sections
        for found in TERM.finditer(section)
        if found["name"] != "term"
    )


def page() -> str:
    """Return docs/glossary.md: below the heading of its section each term has a heading, so that links lead to it."""
    parts = [HEAD]
    for section, found in groupby(terms(), lambda term: term.section):
        parts.append(f"## {section}\n")
        for term in found:
            other = f"({term.other}) " if term.other else ""
            parts.append(f'### {term.heading}\n\n{other}{term.english}\n\n<span lang="zh">{term.chinese}</span>\n')
    return "\n".join(parts)


class Glossary:
    """The terms that contain some text; a notebook shows them as a table with a search box that needs no kernel."""

    def __init__(self, text: str = "") -> None:
        wanted = text.strip().lower()
        self.found = tuple(t for t in terms() if wanted in f"{t.name} {t.other} {t.english} {t.chinese}".lower())

    def __str__(self) -> str:
        return "\n".join(f"{t.name}: {t.english}" for t in self.found) or "No term of the glossary has this text."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        search = (
            "const w=this.value.trim().toLowerCase();for(const r of this.parentElement.querySelectorAll('tbody tr'))"
            "r.hidden=!r.textContent.toLowerCase().includes(w)"
        )
        rows = each("tr", map(_row, self.found))
        return (
            f'<div><input type="search" placeholder="Search · 搜索" aria-label="Search the glossary" '
            f'oninput="{search}" style="font-size:1em;padding:.3em .6em;margin:.3em 0;width:20em;max-width:100%">'
            '<div style="max-height:24em;overflow:auto" tabindex="0" role="region" aria-label="Terms">'
            "<style>.klab-glossary td{text-align:left!important}</style>"
            f'<table class="klab-glossary"><tbody>{rows}</tbody></table></div></div>'
        )


def _row(term: Term) -> Markup:
    other = f" ({term.other})" if term.other else ""
    name, *sentences = (text.replace("`", "") for text in (term.name, term.english, term.chinese))
    return join([element("td", element("b", name), other), each("td", sentences)])


def glossary(text: str = "") -> Glossary:
    """Return the terms that contain `text`, all of them without one; a notebook shows a search box above them."""
    return Glossary(text)
