"""The project's pages as HTML, with links that lead somewhere: README, docs/, and what these link to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

import mistune

from kafkalab.reference.bug import anchor_of
from kafkalab.site.frame import framed, notebook_address

FIRST = ("README.md", "labs/README.md", "docs/*.md")
"""The pages to begin with; a page that one of them links to is written, too."""
AS_TEXT = {".py", ".js", ".css", ".klab", ".txt", ".csv", ".json", ""}
PICTURES = {".gif", ".png", ".svg"}
SCHEME = re.compile(r"[a-z][a-z+.-]*:|//")


def write_documents(root: Path, site: Path) -> list[Path]:
    """Write each page at its path in the project, ending in .html, and each file that one links to; return the pages.

    A source is copied with ".txt" added, so that every server shows it. A link to a folder becomes plain text.
    """
    waiting = [path for pattern in FIRST for path in sorted(root.glob(pattern))]
    done: dict[Path, Path] = {}
    while waiting:
        path = waiting.pop(0)
        if path in done:
            continue
        links = Links(root, path)
        text = _markdown(links)(path.read_text(encoding="utf-8"))
        name = path.relative_to(root).with_suffix(".html")
        title = re.search(r"<h1[^>]*>(.*?)</h1>", str(text), re.S)
        up = "../" * (len(name.parts) - 1)
        done[path] = _put(site / name, framed(_bare(title[1]) if title else path.stem, str(text), up))
        for source, place in links.copies:
            (site / place).parent.mkdir(parents=True, exist_ok=True)
            (site / place).write_bytes(source.read_bytes())
        waiting += links.pages
    return list(done.values())


class Links:
    """The links of one page: where each leads on the site, which pages it needs, and which files are copied for it."""

    def __init__(self, root: Path, page: Path) -> None:
        self._root, self._here = root, page.parent.relative_to(root).as_posix()
        self.pages: list[Path] = []
        self.copies: list[tuple[Path, str]] = []

    def to(self, address: str) -> str:
        """Return where the link leads on the site; "" if the site has no such place."""
        if SCHEME.match(address) or address.startswith("#"):
            return address
        file, _, anchor = address.partition("#")
        place = posixpath.normpath(posixpath.join(self._here, file))
        source = self._root / place
        anchor = f"#{anchor}" if anchor else ""
        if place.startswith("..") or not source.is_file():
            return ""
        if source.suffix == ".md":
            self.pages.append(source)
            return self._from_here(place[:-3] + ".html") + anchor
        if source.suffix == ".ipynb":
            return self._from_here(notebook_address(place.replace("/solutions/", "/"))) + anchor
        if source.suffix not in AS_TEXT | PICTURES:
            return ""
        target = place if source.suffix in PICTURES | {".txt"} else f"{place}.txt"
        self.copies.append((source, target))
        return self._from_here(target)

    def _from_here(self, place: str) -> str:
        return posixpath.relpath(place.split("?")[0], self._here) + place[len(place.split("?")[0]) :]


class _Html(mistune.HTMLRenderer):
    """Headings with the ids that our links use; links that lead somewhere on the site, or else plain text."""

    def __init__(self, links: Links) -> None:
        super().__init__(escape=False)
        self._links = links
        self._ids: dict[str, int] = {}

    def heading(self, text: str, level: int, **attrs: object) -> str:
        """Return the heading, with its id as code hosts make it from its words."""
        slug = anchor_of(_bare(text))
        again = self._ids[slug] = self._ids.get(slug, -1) + 1
        return f'<h{level} id="{escape(f"{slug}-{again}" if again else slug)}">{text}</h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """Return the link, or its words alone where the site has no such place."""
        place = self._links.to(url)
        return f'<a href="{escape(place)}">{text}</a>' if place else text

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Return the picture, with its words for those who cannot see it."""
        return f'<img src="{escape(self._links.to(url))}" alt="{escape(text)}">'


def _markdown(links: Links) -> mistune.Markdown:
    return mistune.create_markdown(renderer=_Html(links), plugins=["table", "strikethrough"])


def _bare(html: str) -> str:
    """Return the text of a piece of HTML."""
    return re.sub(r"<[^>]+>", "", html).replace("&quot;", '"').replace("&#39;", "'").replace("&amp;", "&")


def _put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def dead_links(site: Path, pages: Iterable[Path]) -> list[str]:
    """Return each link of the pages that leads to no file of the site, or to no id of a page, with the page's name."""
    found = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for address in re.findall(r'(?:href|src)="([^"]*)"', text):
            if SCHEME.match(address):
                continue
            rest, _, anchor = address.replace("&amp;", "&").partition("#")
            file, _, query = rest.partition("?")
            target = (page.parent / file).resolve() if file else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{page.relative_to(site)}: {address}")
            elif query.startswith("path="):
                if not (target.parents[1] / "files" / query[5:]).is_file():
                    found.append(f"{page.relative_to(site)}: {address}")
            elif anchor and f'id="{anchor}"' not in target.read_text(encoding="utf-8"):
                found.append(f"{page.relative_to(site)}: {address}")
    return found
