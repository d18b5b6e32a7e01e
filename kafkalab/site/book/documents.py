"""The project's Markdown as pages of the book: README, docs/, and each document that a page links to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from kafkalab.grading.landing import HEADING
from kafkalab.reference.bug import anchor_of
from kafkalab.site.book.links import Links

ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
FIRST = ("README.md", "labs/README.md", "docs/*.md")
"""The documents to begin with; one that another page links to is written, too."""


def write_documents(
    root: Path, folder: Path, site: Path, articles: Iterable[Links], more: Callable[[str, str], str]
) -> list[str]:
    """Write each document at its path below the folder; return their paths.

    `articles` are the links of other pages. What `more` makes of a document's path and text is written. The files that
    pages link to are copied into the site.
    """
    waiting = [path.relative_to(root).as_posix() for pattern in FIRST for path in sorted(root.glob(pattern))]
    found, done = list(articles), []
    waiting += [name for links in found for name in links.documents]
    while waiting:
        if (name := waiting.pop(0)) in done:
            continue
        links = Links(root, name)
        text = links.for_sphinx(more(name, _with_one_anchor((root / name).read_text(encoding="utf-8"))))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        found.append(links)
        done.append(name)
        waiting += links.documents
    for source, place in {pair for links in found for pair in links.copies.items()}:
        (site / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / source, site / place)
    return done


def _with_one_anchor(text: str) -> str:
    """Return a document without the anchors that its headings have by themselves."""
    slugs = {anchor_of(heading) for heading in HEADING.findall(text)}
    return ANCHOR.sub(lambda found: "" if found[1] in slugs else found[0], text)
