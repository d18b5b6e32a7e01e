"""The glossary: its terms, the start page's cells, and `glossary()`, a search box over all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".md")
NAME = r"(?P<name>[^|(]+?)(?: \((?P<other>[^)]+)\))?"
TERM = re.compile(rf"^\| {NAME} \| (?P<english>[^|]+) \| (?P<chinese>[^|]+) \|$", re.M)
HEAD = "| term | in a sentence | 中文 |\n|:--|:--|:--|\n"
CELL_CHARACTERS = 1000
"""The most that one cell of the start page holds: it fits on a screen, so a link to it shows each of its terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term: its name, another name of it or "", the heading it stands under, and a sentence in each language."""

    name: str
    other: str
    section: str
    english: str
    chinese: str

    @property
    def anchor(self) -> str:
        """The place on the start page that a link names, as JupyterLab makes it from the heading in the table."""
        return re.sub(r"[`,]", "", self.name).replace(" ", "-")

    @property
    def row(self) -> str:
        """The term's row on the start page; its name is a heading there, so that links can lead to it."""
        other = f" ({self.other})" if self.other else ""
        return f"| <h5>{re.sub('`', '', self.name).replace(',', '')}</h5>{other} | {self.english} | {self.chinese} |\n"


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


def cells() -> list[str]:
    """Return the texts of the start page's cells: a table for each section, in more cells where one is too long."""
    made = ["## Glossary · 术语表\n\nEvery term in one sentence; the next cell searches them. 每个术语用一句话解释。"]
    section = ""
    for term in terms():
        if term.section != section or len(made[-1]) + len(term.row) > CELL_CHARACTERS:
            made.append((f"### {term.section}\n\n" if term.section != section else "") + HEAD)
            section = term.section
        made[-1] += term.row
    return [text.rstrip("\n") for text in made]


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
        rows = "".join(
            f"<tr><td><b>{escape(re.sub('`', '', t.name))}</b>{escape(f' ({t.other})' if t.other else '')}</td>"
            f"<td>{escape(re.sub('`', '', t.english))}</td><td>{escape(re.sub('`', '', t.chinese))}</td></tr>"
            for t in self.found
        )
        return (
            f'<div><input type="search" placeholder="Search · 搜索" aria-label="Search the glossary" '
            f'oninput="{search}" style="font-size:1em;padding:.3em .6em;margin:.3em 0;width:20em;max-width:100%">'
            '<div style="max-height:24em;overflow:auto" tabindex="0" role="region" aria-label="Terms">'
            "<style>.klab-glossary td{text-align:left!important}</style>"
            f'<table class="klab-glossary"><tbody>{rows}</tbody></table></div></div>'
        )


def glossary(text: str = "") -> Glossary:
    """Return the terms that contain `text`, all of them without one; a notebook shows a search box above them."""
    return Glossary(text)
