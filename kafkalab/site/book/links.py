"""The links of notebooks and documents as addresses in the book: pages, headings, cells, terms, files, pictures."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from functools import cache
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

from kafkalab.course.glossary import Term, terms
from kafkalab.grading.landing import GLOSSARY

CODE = r"^```.*?^```|`[^`\n]*`"
LINK = re.compile(rf"({CODE})|(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", re.M | re.S)
STEP = re.compile(r"#([A-Z]\w*#\d+|chapter:[\w-]+)")
"""A link that moves the pictures of its page."""
EXHIBIT = "#show:"
SCHEME = re.compile(r"[a-z][a-z+.-]*:|//")
START = "labs/00_start.ipynb"
IMAGE = re.compile(r"!\[([^\]]*)\]\((?![a-z]+:)([^)\s]+)\)")
AS_THEY_ARE = {".gif", ".html", ".png", ".svg", ".txt", ".webp"}
AS_TEXT = {".py", ".js", ".ts", ".css", ".klab", ".csv", ".json", ".toml", ""}
"""A source is copied with ".txt" added to its name, so that every server shows it."""


class Links:
    """The links of one page of the project; `page` is its path from the folder `root`, `at` its folder in the book.

    `documents` collects the pages that it needs, `copies` the other files, with their places in the book.
    """

    def __init__(self, root: Path, page: str, at: str | None = None) -> None:
        self._root, self._page, self._folder = root, page, posixpath.dirname(page)
        self._at = self._folder if at is None else at
        self.documents: list[str] = []
        self.copies: dict[str, str] = {}

    def for_sphinx(self, markdown: str) -> str:
        """Return the Markdown with its links as HTML, which Sphinx leaves alone. A link to a folder becomes plain."""
        markdown = IMAGE.sub(lambda found: self._image(found[1], found[2]) or found[0], markdown)
        return LINK.sub(lambda found: found[1] or self._link(found[2], found[3]), markdown)

    def _link(self, words: str, to: str) -> str:
        file, _, place = to.partition("#")
        source = posixpath.normpath(posixpath.join(self._folder, file)) if file else self._page
        place = place or ("the-labs" if source == START else "")
        if SCHEME.match(to):
            return f"[{words}]({to})"
        if not (STEP.fullmatch(to) or to.startswith(EXHIBIT)):
            if not (address := self.to(source)):
                return words
            to = (address if file else "") + (f"#{place}" if place else "")
        return f'<a href="{escape(to)}"{_tooltip(source, place)}>{words}</a>'

    def _image(self, words: str, file: str) -> str:
        """Return the image as HTML; "" if the book does not have it, so that Sphinx says so."""
        source = self.to(posixpath.normpath(posixpath.join(self._folder, file)))
        return source and f'<img src="{escape(source)}" alt="{escape(words)}" loading="lazy">'

    def to(self, source: str) -> str:
        """Return where a file of the project is in the book, from this page; "" if the book does not have it."""
        path = self._root / source
        if source.startswith("..") or not path.is_file():
            return ""
        stem, suffix = posixpath.splitext(source)
        if source == START:
            return self._from_here("index.html")
        if suffix == ".md":
            self.documents.append(source)
        if suffix in (".md", ".ipynb"):
            return self._from_here(stem.replace("labs/solutions/", "labs/") + ".html")
        if suffix not in AS_THEY_ARE | AS_TEXT:
            return ""
        self.copies[source] = source + ("" if suffix in AS_THEY_ARE else ".txt")
        return self._from_here(self.copies[source])

    def _from_here(self, place: str) -> str:
        return posixpath.relpath(place, self._at)


def _tooltip(source: str, place: str) -> str:
    """Return the attributes of a link to a term: its sentence in both languages; "" for all other links."""
    term = _terms().get(place) if source == GLOSSARY.as_posix() else None
    if term is None:
        return ""
    english, chinese = (escape(text.replace("`", "")) for text in (term.english, term.chinese))
    return f' class="term" title="{english}" data-chinese="{chinese}"'


@cache
def _terms() -> dict[str, Term]:
    return {term.anchor: term for term in terms()}


def dead_links(site: Path, pages: Iterable[Path]) -> list[str]:
    """Return each link of the pages that leads to no file of the site, or to no id of a page, with the page's name."""
    ids = cache(_ids_of)
    found = ((page, to) for page in pages for to in _links_of(page) if _is_dead(page, to, ids))
    return sorted(f"{page.relative_to(site)}: {to}" for page, to in found)


def _links_of(page: Path) -> set[str]:
    return {unescape(to) for to in re.findall(r'(?:href|src)="([^"]*)"', page.read_text(encoding="utf-8"))}


def _is_dead(page: Path, to: str, ids: Callable[[Path], set[str]]) -> bool:
    if SCHEME.match(to) or STEP.fullmatch(to):
        return False
    rest, _, anchor = to.partition("#")
    file, _, query = rest.partition("?")
    target = (page.parent / unquote(file)).resolve() if file else page.resolve()
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return True
    if query.startswith("path="):
        return not (target.parents[1] / "files" / query[5:]).is_file()
    return bool(anchor) and target.suffix == ".html" and unquote(anchor) not in ids(target)


def _ids_of(page: Path) -> set[str]:
    return {unescape(one) for one in re.findall(r'\bid="([^"]*)"', page.read_text(encoding="utf-8"))}
