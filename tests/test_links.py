"""Every path, anchor and name of ours that the documentation mentions exists.

Read are the pages at the root and of docs/, data/ and labs/, each DECISIONS.md, and the docstrings of kafkalab/.
What is followed:

* a Markdown link that is no address on the net: its file, and its anchor in that file;
* a path, in backticks or not, whose first folder is one of ours (`docs/rules.md`, `kafkalab/sim/`), or in backticks one
  of kafkalab's (`client/config/`); `*` stands for anything, and so do `NAME`, `FILE`, `ERROR` and `NN`;
* in backticks the bare name of a source (`presses.py`): a file of that name is somewhere in the project;
* in backticks a dotted name that begins with kafkalab, or with a part and a module of it (`protocol.rules`): it can be
  imported. Any other dotted name, such as a class of Kafka's, is not ours;
* the id of a conformance case: docs/cases.md has it.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kafkalab.grading.landing import CELL_ID
from tests.conformance.cases import AREAS

PAGES = ("*.md", "docs/*.md", "data/**/*.md", "labs/*.md", "*/DECISIONS.md", "kafkalab/*/DECISIONS.md")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TICKED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*-]+(?:/[\w.*-]+)*/?(?:#[\w-]+)?")
PLAIN = re.compile(r"(?<![\w/.`~-])(?:docs|kafkalab|tests|data|labs|binder)/[\w./*-]*[\w/*](?:#[\w-]+)?")
SOURCE = re.compile(r"[\w*]+\.(?:py|js|css|md|klab|ipynb)")
DOTTED = re.compile(r"[a-z]\w*(?:\.\w+)+")
CASE = re.compile(rf"\b(?:{'|'.join(AREAS)})-\d\d\b")
PLACEHOLDER = re.compile("NAME|FILE|ERROR|NN")


def docstrings(source: str) -> Iterator[str]:
    """Yield every string that stands as a statement: docstrings, and the strings below constants."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def anchors(page: Path) -> set[str]:
    """Return what a link into a page may name: explicit ids, and headings as GitHub or JupyterLab spell them, cells."""
    if page.suffix == ".ipynb":
        cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        ids = {f"{CELL_ID}{cell['id']}" for cell in cells}
    else:
        text, ids = page.read_text(encoding="utf-8"), set()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    return {*ids, *re.findall(r'<a id="([^"]+)">', text), *slugs, *(heading.replace(" ", "-") for heading in headings)}


def missing_path(named: str, *bases: Path) -> str:
    """Return why the path, with its anchor if it has one, is not below any of the folders; empty if it is."""
    path, _, anchor = named.partition("#")
    pattern = PLACEHOLDER.sub("*", path.rstrip("/"))
    found = [place for base in bases for place in (base.glob(pattern) if "*" in pattern else [base / pattern])]
    found = [place for place in found if place.exists()]
    if not found:
        return f"{named}: no such path"
    return f"{named}: no such anchor" if anchor and not any(anchor in anchors(place) for place in found) else ""


def missing_name(dotted: str) -> str:
    """Return why a dotted name below kafkalab cannot be imported; empty if it can."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if not hasattr(found, name):
                return f"{dotted}: {found} has no {name}"
            found = getattr(found, name)
        return ""
    return f"{dotted}: no such module"


@cache
def ours_in(root: Path) -> tuple[set[str], set[str], set[str]]:
    """Return the names in the project's folder, the parts of kafkalab, and the names of all sources."""
    above = {p.name for p in root.iterdir()}
    parts = {p.stem for p in (root / "kafkalab").iterdir() if not p.name.startswith(("_", "."))}
    folders = ("kafkalab", "tests", "labs", "docs", "data", "pictures/src")
    below = {p.name for folder in folders for p in (root / folder).rglob("*.*")}
    return above, parts, above | below


def wrong(text: str, place: Path, root: Path) -> list[str]:
    """Return what the text, which is in the file `place` of the project `root`, mentions and does not exist."""
    package = root / "kafkalab"
    above, parts, names = ours_in(root)
    found = []
    for target in LINK.findall(text) if place.suffix == ".md" else ():
        if not re.match(r"\w+:", target):
            file, _, anchor = target.partition("#")
            bare = f"{(place.parent / file).resolve()}" if file else str(place)
            why = missing_path(bare.lstrip("/") + (f"#{anchor}" if anchor else ""), Path("/"))
            found += [f"({target}){why[why.rindex(':'):]}"] if why else []
    for ticked in TICKED.findall(text):
        name = re.split(r"[\s(]", ticked, maxsplit=1)[0].rstrip(":,")
        first = name.split("/")[0]
        if "/" in name and PATH.fullmatch(name) and (first in above or first in parts):
            found.append(missing_path(name, root, package))
        elif SOURCE.fullmatch(name) and name not in names and not PLACEHOLDER.search(name) and "*" not in name:
            found.append(f"{name}: no such file")
        elif DOTTED.fullmatch(name) and not SOURCE.fullmatch(name):
            ours = name if first.startswith("kafkalab.") else f"kafkalab.{name}"
            head = ours.split(".")
            if ours == name or (package / head[1] / f"{head[2]}.py").exists() or (package / head[1] / head[2]).is_dir():
                found.append(missing_name(ours))
    found += [missing_path(name, root) for name in PLAIN.findall(LINK.sub("", TICKED.sub("", text)))]
    cases = (root / "docs" / "cases.md").read_text(encoding="utf-8") if CASE.search(text) else ""
    found += [f"{case}: no such case" for case in CASE.findall(text) if case not in cases]
    return [f"{place.relative_to(root)}: {why}" for why in dict.fromkeys(found) if why]


def test_every_page_mentions_only_what_exists(root: Path) -> None:
    pages = sorted({path for pattern in PAGES for path in root.glob(pattern)})
    assert len(pages) > 10
    assert [why for page in pages for why in wrong(page.read_text(encoding="utf-8"), page, root)] == []


def test_every_docstring_mentions_only_what_exists(root: Path) -> None:
    sources = sorted((root / "kafkalab").rglob("*.py"))
    texts = {path: "\n".join(docstrings(path.read_text(encoding="utf-8"))) for path in sources}
    assert [why for path, text in texts.items() for why in wrong(text, path, root)] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("see [rules](rules.md)", ""),
        ("see [rules](rulez.md)", "(rulez.md): no such path"),
        ("see [EndTxn](protocol.md#end-txn)", ""),
        ("see [EndTxn](protocol.md#end-txm)", "(protocol.md#end-txm): no such anchor"),
        ("see [here](#nowhere) and [there](https://kafka.apache.org/x)", "(#nowhere): no such anchor"),
        ("`docs/protocol.md#end-txn`, `kafkalab/sim/`, `data/rules/NAME.klab`, `protocol/rules.py`", ""),
        ("`kafkalab/simm/`", "kafkalab/simm/: no such path"),
        ("`data/rulez/NAME.klab`", "data/rulez/NAME.klab: no such path"),
        ("`protocol/rulez.py`", "protocol/rulez.py: no such path"),
        ("`org/apache/kafka.java`, `sc://host/x`", ""),
        ("in docs/protocol.md#end-txm.", "docs/protocol.md#end-txm: no such anchor"),
        ("in tests/test_layerz.py:", "tests/test_layerz.py: no such path"),
        ("`presses.py`", ""),
        ("`prezzes.py`", "prezzes.py: no such file"),
        ("`kafkalab.protocol.rules.REGISTRY`, `protocol.rules.REGISTRY`, `TransactionManager.canRetry`", ""),
        ("`kafkalab.protocol.rules.REGISTER`", "REGISTER"),
        ("`protocol.rules.REGISTER`", "REGISTER"),
        ("`kafkalab.protocal`", "no protocal"),
        ("CL-37, TSM-03", ""),
        ("CL-99", "CL-99: no such case"),
    ],
)
def test_each_kind_of_mention_is_followed(text: str, why: str, root: Path) -> None:
    found = wrong(text, root / "docs" / "rules.md", root)
    assert len(found) == bool(why), found
    assert why in "".join(found)


def test_nothing_points_to_documents_outside_the_repository(root: Path) -> None:
    words = (r"\b[Ff]acts \d", r"\(fac" "ts: `", r"conformance-cases" r"\.md", r"kafka-facts" r"\.md")
    outside = re.compile("|".join(words))
    sources = [path for folder in ("kafkalab", "tests") for path in (root / folder).rglob("*.py")]
    assert [str(path) for path in sources if outside.search(path.read_text(encoding="utf-8"))] == []
