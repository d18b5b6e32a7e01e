"""The book's first page, which has the navigation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from kafkalab.course.lab import CourseLab
from kafkalab.course.labs import COURSE
from kafkalab.grading.builder import LABS, read
from kafkalab.markup import Markup, element
from kafkalab.site.book.links import START, Links

NAVIGATION = {
    "Look up": {
        "labs/README": "Questions",
        "docs/symptoms": "Symptoms",
        "docs/diagnose": "Diagnose logs",
        "docs/errors": "Errors",
        "docs/rules": "Rules",
        "docs/bugs": "Bugs",
        "docs/protocol": "What Kafka does",
        "docs/like-kafka": "What is like Kafka",
        "docs/profiles": "Older versions",
        "docs/changes": "New in Kafka",
        "docs/old-articles": "Old articles",
        "docs/outside-this-lab": "Outside this lab",
        "docs/positions_outside_kafka": "Positions outside Kafka",
        "docs/checks-and-tables": "Checks and tables",
        "docs/glossary": "Glossary · 术语表",
    },
    "Use": {
        "run": "Open a shared run",
        "docs/testing": "Test your application",
        "docs/control": "In any language",
        "docs/tap": "Watch a real Kafka",
        "docs/teaching": "Teach with it",
        "docs/grading": "Grade",
        "docs/limits": "Limits",
    },
    "About": {"README": "kafkalab"},
}
"""By caption, the documents in their order, and how the navigation calls them. "About" has all others, too."""
FROM_THE_START_PAGE = ("short-ways", "keys")
"""Cells of the start page's notebook that the first page has, too."""
HERE = Path(__file__).parent


def write_front(root: Path, folder: Path, picture: str, documents: Iterable[str]) -> None:
    """Write the first page. The navigation leads to the labs in the folder, and to the documents."""
    there = {path.stem for path in (folder / LABS).glob("*.ipynb")}
    cells = {cell["id"]: "".join(cell["source"]) for cell in read(root / START)["cells"]}
    links = Links(root, START, "")
    values = {
        "picture": picture,
        "labs": "\n".join(_card(lab) for lab in COURSE if lab.name in there),
        "more": "\n\n".join(links.for_sphinx(cells[name]) for name in FROM_THE_START_PAGE),
        "navigation": "\n".join(_navigation(there, documents)),
    }
    text = (HERE / "index.md").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"%{name}%", value)
    (folder / "index.md").write_text(text, encoding="utf-8")


def _card(lab: CourseLab) -> Markup:
    words = (element("b", lab.number), " ", element("strong", lab.title), element("span", lab.know))
    return element("li", element("a", *words, href=f"{LABS.as_posix()}/{lab.name}.html"))


def _navigation(labs: Set[str], documents: Iterable[str]) -> Iterator[str]:
    """Yield the lists of pages, each below its caption, for the left of every page."""
    course = {f"{LABS.as_posix()}/{lab.name}": f"Lab {lab.number}: {lab.title}" for lab in COURSE if lab.name in labs}
    collections = sorted(labs - {lab.name for lab in COURSE})
    listed = {
        "Labs": course,
        "Collections": {f"{LABS.as_posix()}/{name}": "" for name in collections},
        **NAVIGATION,
    }
    named = {name for pages in NAVIGATION.values() for name in pages}
    others = {one.removesuffix(".md"): "" for one in documents}
    listed["About"] = NAVIGATION["About"] | {name: "" for name in others if name not in named}
    for caption, pages in listed.items():
        lines = [f"{title} <{name}>" if title else name for name, title in pages.items()]
        yield "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *lines, "```"])
