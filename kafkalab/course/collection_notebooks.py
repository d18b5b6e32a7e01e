"""The notebooks of the three collections, bugs, rules and errors: a chooser, and tables whose names choose.

`kafkalab build-labs` writes them into labs/solutions/; the output of the chooser's cell stays until `--run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from kafkalab.course.navigation import START
from kafkalab.grading.builder import SOLUTIONS, Cell, Notebook, as_text, read, write_changed
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import MEANING
from kafkalab.reference.exhibits import bug_exhibits, error_exhibits, groups, rule_exhibits
from kafkalab.reference.found_scenarios import slug
from kafkalab.reference.gallery import Exhibit
from kafkalab.reference.rule_matrix import EXPECTED

MOST = 1800
"""So many characters has a cell of a table at most."""
HOW = (
    "Run the next cell: click it and press <kbd>Shift</kbd> + <kbd>Enter</kbd>. Then choose in its list, or click a "
    "name in the tables below: {opens}"
)
BESIDE = (
    "you see two runs of the same programs side by side, and the cursor is at their first difference. The line above "
    "them says where to look; <kbd>→</kbd> goes on in both."
)
OLD_ARTICLES = "If you learned it from an old article"
INVENTORY = "What do you believe?"
INCIDENT_ROOM = "Incident room"
CLOSE = f"[All labs]({START}) · "


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """One notebook: its name, title and first text, what makes the picture, its entries, and where all is written."""

    name: str
    title: str
    about: str
    opens: str
    call: str
    column: str
    page: str

    def exhibits(self) -> list[Exhibit]:
        """Return the entries in their order."""
        return {"museum": bug_exhibits, "rule_gallery": rule_exhibits, "error_gallery": error_exhibits}[self.call]()

    def describe(self, key: str) -> str:
        """Return what the table says of an entry."""
        if self.call == "museum":
            bug = next(bug for bug in BUGS if bug.number == key)
            return f"{bug.title}. {bug.cure}"
        if self.call == "rule_gallery":
            rule = next(rule for rule in EXPECTED if slug(rule) == key)
            return f"{rule.name[:1].upper()}{rule.name[1:]}: {rule.protects} ({rule.source})"
        return next(meaning for error, meaning in MEANING.items() if error.name == key)


COLLECTIONS = (
    Collection(
        name="90_bugs_that_kafka_had",
        title="Bugs that Kafka had",
        about="Each of these bugs broke a promise of a released Kafka, or blocked a program for ever. A run shows each "
        "bug, with the cure and without.",
        opens=BESIDE,
        call="museum",
        column="bug",
        page="bugs.md",
    ),
    Collection(
        name="91_what_each_rule_protects",
        title="What each rule protects",
        about="Every check of a broker protects some program. Here each rule is switched off in a run that needs it, "
        "and you see what breaks.",
        opens=BESIDE,
        call="rule_gallery",
        column="rule",
        page="rules.md",
    ),
    Collection(
        name="92_errors",
        title="Errors, each met on purpose",
        about="What does this error mean, which process sends it, and what does your client do about it? A run shows "
        "each error.",
        opens="you see a run that meets the error, at the answer that has it. <kbd>←</kbd> walks back to its cause.",
        call="error_gallery",
        column="error",
        page="errors.md",
    ),
)


def refresh_collections(root: Path) -> list[Path]:
    """Write the notebooks of the collections; return the paths that changed. A course without a start page has none."""
    if not (root / SOLUTIONS / START).exists():
        return []
    return write_changed({root / SOLUTIONS / f"{one.name}.ipynb": as_text(notebook(one, root)) for one in COLLECTIONS})


def notebook(one: Collection, root: Path) -> Notebook:
    """Return the collection's notebook; its code cells keep what they have put out."""
    path = root / SOLUTIONS / f"{one.name}.ipynb"
    before = {cell["id"]: cell for cell in read(path)["cells"]} if path.exists() else {}
    cells = [
        _text("head", f"# {one.title}\n\n{one.about}\n\n{HOW.format(opens=one.opens)}\n\n{_others(one)}"),
        _code("picture", f"from kafkalab import {one.call}\n\nshown = {one.call}()\nshown", before, figure=True),
        *(_text(f"table-{n}", text) for n, text in enumerate(tables(one))),
        _text("in-words-why", "## The same in words\n\nYour choice as text, for a report or a screen reader:"),
        _code("in-words", "print(shown.chooser)", before),
        _text("foot", f"All on one page, also those that no run shows: [docs/{one.page}](../docs/{one.page}).\n\n"
              f"{_others(one)}"),
    ]  # fmt: skip
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def tables(one: Collection) -> Iterator[str]:
    """Yield a table for each group of the collection, in cells that are not too long."""
    head = f"| {one.column} | |\n|:--|:--|"
    for name, exhibits in groups(one.exhibits()):
        text = f"### {name[:1].upper()}{name[1:]}\n\n{head}"
        for exhibit in exhibits:
            row = f"| [{exhibit.key}](#show:{quote(exhibit.key)}) | {one.describe(exhibit.key)} |"
            if len(text) + len(row) > MOST:
                yield text
                text = head
            text += f"\n{row}"
        yield text


def look_up() -> str:
    """Return the start page's text that links the collections."""
    rows = [f"| [{one.title}]({one.name}.ipynb) | {len(one.exhibits())} runs | {one.about} |" for one in COLLECTIONS]
    rows.append(f"| [{OLD_ARTICLES}](93_old_articles.ipynb) | | Which statements of classic articles are still true. |")
    about = "Questions on the same subjects before and after the course."
    rows.append(f"| [{INVENTORY}](94_what_do_you_believe.ipynb) | | {about} |")
    rows += [
        f"| [{INCIDENT_ROOM}](95_incident_room.ipynb) | | For people on call: paste what Kafka's tools printed, and "
        "read what happened, how certain that is, and what ends it. |",
        "| [From a symptom to its cause](../docs/symptoms.md) | | For people on call: what you see, what to check, "
        "and what to do. |",
        "| [All errors on one page](../docs/errors.md) | | What each error means, and what to do in each client. |",
    ]
    return "\n".join(["## Look it up", "", "| | | |", "|:--|--:|:--|", *rows])


def _others(one: Collection) -> str:
    links = [f"[{other.title}]({other.name}.ipynb)" for other in COLLECTIONS if other is not one]
    return CLOSE + " · ".join(links)


def _text(name: str, text: str) -> Cell:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(name: str, source: str, before: dict[str, Cell], figure: bool = False) -> Cell:
    outputs = before[name]["outputs"] if name in before else []
    return {
        "cell_type": "code",
        "execution_count": before[name]["execution_count"] if name in before else None,
        "id": name,
        "metadata": {"tags": ["nbval-ignore-output"]} if figure else {},
        "outputs": outputs,
        "source": source.splitlines(keepends=True),
    }
